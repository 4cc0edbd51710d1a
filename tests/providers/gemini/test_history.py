"""Existing contents and requests to items, and back."""

from base64 import urlsafe_b64decode
from typing import Any

import pytest

from quire.errors import Damaged, QuireError, WrongType
from quire.items import (
    Audio,
    Content,
    File,
    Image,
    Item,
    Message,
    Note,
    Opaque,
    Reasoning,
    ToolCall,
    ToolResult,
)
from quire.providers.gemini.signing import PLACEHOLDER
from tests.providers.gemini.wire import (
    GEMINI,
    NEW,
    OLD,
    PNG,
    PNG64,
    Json,
    answer,
    call,
    model,
    rendered,
    user,
)


def said(item: Item) -> tuple[str, Content]:
    assert isinstance(item, Message)
    return item.role, item.content


def test_a_whole_request_as_json() -> None:
    request = {
        "model": NEW,
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
        "contents": [
            user("See:", {"inlineData": {"mimeType": "image/png", "data": PNG64}}),
            model(
                {"text": "hm", "thought": True},
                {"text": "Looking.", "thoughtSignature": "dGV4dA=="},
                call("c1", "look", {"q": 1}, thoughtSignature="c2ln"),
                call("c2", "look"),
            ),
            user(
                answer("c2", "look", {"error": "no"}),
                answer(
                    "c1",
                    "look",
                    {"output": "x"},
                    parts=[{"inlineData": {"mimeType": "audio/mp3", "data": "SUQz"}}],
                ),
            ),
            user({"fileData": {"fileUri": "gs://a.pdf", "mimeType": "application/pdf"}}),
        ],
    }
    items = GEMINI.read_history(request)
    assert [said(item) for item in items[:3]] == [
        ("system", "Be brief."),
        ("system", "Be kind."),
        ("user", ("See:", Image(data=PNG, media_type="image/png"))),
    ]
    thought, words, one, two, second, first, last = items[3:]
    assert isinstance(thought, Reasoning) and thought.state == Opaque("gemini", NEW)
    assert isinstance(words, Message) and words.state == Opaque("gemini", NEW, '{"signature":"dGV4dA=="}')
    assert isinstance(one, ToolCall) and one.state == Opaque("gemini", NEW, '{"signature":"c2ln"}')
    assert (one.call_id, one.name, one.arguments) == ("c1", "look", '{"q":1}')
    assert isinstance(two, ToolCall) and two.state is None
    assert isinstance(second, ToolResult) and (second.call_id, second.content, second.is_error) == (
        "c2",
        "no",
        True,
    )
    assert isinstance(first, ToolResult) and first.content == (
        "x",
        Audio(data=b"ID3", media_type="audio/mp3"),
    )
    assert said(last) == ("user", (File(url="gs://a.pdf", media_type="application/pdf"),))
    assert [item.id for item in items] == sorted(item.id for item in items)


def test_arguments_of_the_client() -> None:
    arguments = {
        "config": {"system_instruction": "Be brief.", "temperature": 0},
        "contents": [{"role": "model", "parts": [{"inline_data": {"mime_type": "image/png", "data": PNG}}]}],
    }
    system, picture = GEMINI.read_history(arguments)
    assert said(system) == ("system", "Be brief.")
    assert said(picture) == ("assistant", (Image(data=PNG, media_type="image/png"),))
    for short in ("Hello", ["Hello"], [{"text": "Hello"}], [{"parts": ["Hello"]}], {"contents": "Hello"}):
        assert [said(item) for item in GEMINI.read_history(short)] == [("user", "Hello")]
    for given in ([{"text": "a"}, "b"], {"text": "a"}, {"role": "user", "parts": [{"text": "a"}]}):
        assert said(GEMINI.read_history({"systemInstruction": given})[0]) == ("system", "a")


def test_calls_without_ids_are_paired_by_name_in_order() -> None:
    def bare(kind: str, name: str, **more: Any) -> Json:
        return {kind: {"name": name, **more}}

    items = GEMINI.read_history(
        [
            model(
                bare("functionCall", "a"),
                bare("functionCall", "b"),
                call("call_2", "a"),
                bare("functionCall", "a"),
            ),
            user(
                bare("functionResponse", "b", response={"output": "of b"}),
                bare("functionResponse", "a", response={"x": [1]}),
                answer("call_2", "a", {"output": {"y": 2}}),
                bare("functionResponse", "a"),
                "And now?",
            ),
        ]
    )
    calls = [item for item in items if isinstance(item, ToolCall)]
    results = {item.call_id: item.content for item in items if isinstance(item, ToolResult)}
    assert len({one.call_id for one in calls}) == 4
    assert [results[one.call_id] for one in calls] == ['{"x":[1]}', "of b", '{"y":2}', "{}"]
    assert said(items[-1]) == ("user", "And now?")


def test_an_answer_without_a_call_keeps_what_it_says() -> None:
    (item,) = GEMINI.read_history([user({"functionResponse": {"name": "look", "response": {"output": "x"}}})])
    assert isinstance(item, ToolResult) and (item.name, item.content) == ("look", "x")


def test_the_placeholder_is_nobodys_signature() -> None:
    for placeholder in (PLACEHOLDER, PLACEHOLDER.encode(), urlsafe_b64decode(PLACEHOLDER)):
        signed: Json = {"thoughtSignature": placeholder}
        drawn = {"inlineData": {"mimeType": "image/png", "data": PNG64}, **signed}
        parts = [{"text": "Here.", **signed}, drawn, call("c", "f", **signed)]
        spoken, called = GEMINI.read_history({"model": NEW, "contents": [model(*parts)]})
        assert isinstance(spoken, Message) and spoken.state is None
        assert isinstance(called, ToolCall) and called.state is None


def test_parts_of_the_providers_own_tools_are_kept_in_place_and_go_back_as_they_came() -> None:
    code = {"executableCode": {"code": "1", "language": "PYTHON"}}
    contents = [user("Go"), model("One.", code, "Two."), user("On")]
    _, before, ran, after, _ = items = GEMINI.read_history(contents, model=NEW)
    assert isinstance(ran, Reasoning) and (ran.text, ran.state and ran.state.model) == ("", NEW)
    assert (said(before), said(after)) == (("assistant", "One."), ("assistant", "Two."))
    assert rendered(items, NEW).payload["contents"] == contents
    other = rendered(items, OLD)
    assert other.payload["contents"] == [user("Go"), model("One.", "Two."), user("On")]
    assert [downgrade.change for downgrade in other.downgrades] == ["state_foreign"]
    [note] = GEMINI.read_history([user(code)])
    assert isinstance(note, Note) and note.content == code


class Dumped:
    """What a client gives."""

    def __init__(self, dumped: Json) -> None:
        self.dumped = dumped

    def model_dump(self, **_: Any) -> Json:
        return self.dumped


def test_one_content_is_a_history() -> None:
    one = user("Hello")
    for given in (one, Dumped(one), {"contents": one}, {"contents": Dumped(one)}, {"text": "Hello"}):
        assert [said(item) for item in GEMINI.read_history(given)] == [("user", "Hello")]
    assert GEMINI.read_history([{"role": "model"}]) == []


def test_state_is_of_the_model_that_is_named() -> None:
    signed = model(call("c", "f", thoughtSignature="YQ=="))
    for given in ([signed], {"model": OLD, "contents": [signed]}, signed):
        [item] = GEMINI.read_history(given, model=NEW)
        assert isinstance(item, ToolCall) and item.state and item.state.model == NEW


BROKEN: list[tuple[Any, str]] = [
    ([{"role": "judge", "parts": []}], "$[0].role"),
    ([1], "$[0]"),
    ([{"parts": 1}], "$[0].parts"),
    ([{"parts": [1]}], "$[0].parts[0]"),
    ([user({"inlineData": {"mimeType": "image/png", "data": "?"}})], "$[0].parts[0].inlineData.data"),
    ([model({"functionCall": {"args": {}}})], "$[0].parts[0].functionCall"),
    ([model({"functionCall": {"name": "f", "args": [1]}})], "$[0].parts[0].functionCall.args"),
    ([user(answer("c", "f", {}, parts=[{}]))], "$[0].parts[0].functionResponse.parts[0]"),
    ({"contents": 1}, "$.contents"),
    ({"contents": None}, "$.contents"),
    ({"foo": 1}, "$.contents"),
    ([{"foo": 1}], "$[0].parts"),
    ([user("a"), {"role": "user", "content": "x"}], "$[1].parts"),
    ({"contents": {"role": "user", "content": "x"}}, "$.contents.parts"),
    ({"role": "user", "parts": "x"}, "$.parts"),
    ({"config": {"temperature": 0}}, "$.contents"),
    ({"config": 1}, "$.config"),
    ({"config": {"system_instruction": [{}]}}, "$.config.systemInstruction[0]"),
]


@pytest.mark.parametrize(("broken", "path"), BROKEN)
def test_what_cannot_be_read_is_an_error_with_its_place(broken: Any, path: str) -> None:
    with pytest.raises(Damaged) as caught:
        GEMINI.read_history(broken)
    assert caught.value.path == path


def test_what_is_no_history_is_the_wrong_type() -> None:
    with pytest.raises(WrongType):
        GEMINI.read_history(1)
    assert issubclass(WrongType, QuireError)


@pytest.mark.parametrize("name", [OLD, NEW])
def test_what_was_rendered_is_read_and_rendered_again(name: str) -> None:
    items: list[Item] = [
        Message("system", "Be brief."),
        Message("user", ("See:", Image(data=PNG), Audio(data=b"ID3"), File(url="gs://a.pdf"))),
        Reasoning("hm", Opaque("gemini", name, '{"signature":"YQ=="}')),
        Message("assistant", "Looking."),
        ToolCall("c1", "look", '{"q":1}', Opaque("gemini", name, '{"signature":"YQ=="}')),
        ToolCall("c2", "look"),
        ToolResult("c1", "look", "x"),
        ToolResult("c2", "look", "no", is_error=True),
        Message("user", "Well?"),
        Message("user", "And?"),
    ]
    made = rendered(items, name)
    assert made.downgrades == ()
    again = rendered(GEMINI.read_history({**made.payload, "model": name}), name)
    assert again.payload == made.payload
