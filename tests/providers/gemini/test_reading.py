"""Answers to items: whole and in pieces, with thoughts, calls, refusals and what they used."""

from typing import Any

import pytest

from quire.errors import Damaged, WrongType
from quire.items import File, Image, Message, Opaque, Reasoning, ToolCall
from quire.providers import Parsed
from quire.tokens import Usage
from tests.providers.gemini.wire import GEMINI, NEW, PNG, PNG64, Json, rendered


def response(*parts: Json, finish: str | None = "STOP", **more: Any) -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": NEW, **more}


def streamed(*events: Any) -> tuple[list[str], Parsed]:
    reader = GEMINI.stream(model=NEW)
    words = [reader.feed(event) for event in events]
    parsed = reader.close()
    assert reader.close() is parsed
    return words, parsed


def kinds(parsed: Parsed) -> list[str]:
    return [type(item).__name__ for item in parsed.items]


USED = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 60,
    "candidatesTokenCount": 20,
    "thoughtsTokenCount": 30,
    "toolUsePromptTokenCount": 5,
    "totalTokenCount": 155,
}


def test_words() -> None:
    parsed = GEMINI.parse(response({"text": "Hello"}, {"text": " there."}, usageMetadata=USED))
    (item,) = parsed.items
    assert isinstance(item, Message) and (item.role, item.content, item.state) == (
        "assistant",
        "Hello there.",
        None,
    )
    assert parsed.usage == Usage(input=105, output=50, cache_read=60, reasoning=30)
    assert (parsed.finish, parsed.model) == ("stop", NEW)


def test_parallel_calls_with_thoughts() -> None:
    sent = rendered([Message("user", "Go"), ToolCall("c0", "1st tool")], NEW)
    renamed = next(iter(sent.names))
    parsed = GEMINI.parse(
        response(
            {"text": "Let me ", "thought": True},
            {"text": "see.", "thought": True},
            {
                "functionCall": {"id": "c1", "name": "look", "args": {"q": "é", "n": 1}},
                "thoughtSignature": "c2ln",
            },
            {"functionCall": {"name": renamed}},
        ),
        sent=sent,
        model="gemini-3-pro-preview",
    )
    thought, one, two = parsed.items
    assert isinstance(thought, Reasoning) and isinstance(one, ToolCall) and isinstance(two, ToolCall)
    assert thought.text == "Let me see."
    assert thought.state == Opaque("gemini", "gemini-3-pro-preview", prefix=sent.prefix)
    assert (one.call_id, one.name, one.arguments) == ("c1", "look", '{"q":"é","n":1}')
    assert one.state == Opaque("gemini", "gemini-3-pro-preview", '{"signature":"c2ln"}', sent.prefix)
    assert (two.name, two.arguments, two.state) == ("1st tool", "{}", None)
    assert two.call_id.startswith("call_")
    assert parsed.finish == "calls"


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("MAX_TOKENS", "length"),
        ("SAFETY", "refused"),
        ("RECITATION", "refused"),
        ("MALFORMED_FUNCTION_CALL", "other"),
    ],
)
def test_why_it_stopped(reason: str, finish: str) -> None:
    assert GEMINI.parse(response({"text": "Half"}, finish=reason)).finish == finish


def test_a_prompt_that_was_refused() -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}}
    assert GEMINI.parse(blocked) == Parsed((), Usage(input=3), "refused", None)
    assert streamed(blocked)[1].finish == "refused"


def test_nothing_at_all() -> None:
    assert GEMINI.parse({}, model=NEW) == Parsed((), None, "other", NEW)
    assert GEMINI.parse(response(finish="MAX_TOKENS")).items == ()


@pytest.mark.parametrize("other", [{"errors": {"code": 429}}, {"choices": []}, {"content": []}])
def test_what_is_no_response_is_an_error(other: Json) -> None:
    with pytest.raises(Damaged) as caught:
        GEMINI.parse(other)
    assert caught.value.path == "$.candidates"


def test_code_that_was_run_goes_back_in_place() -> None:
    ran = {"executableCode": {"code": "1", "language": "PYTHON"}, "thoughtSignature": "YQ=="}
    gave = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    parts: list[Json] = [{"text": "So:"}, ran, gave, {"text": "One.", "thoughtSignature": "Yg=="}]
    asked = Message("user", "Go")
    sent = rendered([asked], NEW)
    whole = GEMINI.parse(response(*parts), sent=sent, model=NEW).items
    reader = GEMINI.stream(sent=sent, model=NEW)
    for part in parts:
        reader.feed(response(part, finish="STOP" if part is parts[-1] else None))
    for items in (whole, reader.close().items):
        made = rendered([asked, *items, asked], NEW)
        assert made.payload["contents"][1] == {"role": "model", "parts": parts}
        assert made.downgrades == ()
        changed = rendered([Message("user", "Stop"), *items, asked], NEW)
        assert changed.payload["contents"][1]["parts"] == [{"text": "So:"}, {"text": "One."}]


def test_pictures_and_parts_of_the_providers_own_tools() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    parsed = GEMINI.parse(
        response(
            {"text": "Here:"}, {"inlineData": {"mimeType": "image/png", "data": PNG64}}, code, {"text": ""}
        )
    )
    said, ran = parsed.items
    assert isinstance(said, Message) and isinstance(ran, Reasoning) and ran.text == ""
    assert said.content == ("Here:", Image(data=PNG, media_type="image/png"))
    assert ran.state and ran.state.data == '{"part":{"executableCode":{"code":"1","language":"PYTHON"}}}'
    document = GEMINI.parse(
        response({"fileData": {"fileUri": "gs://a", "mimeType": "application/pdf"}})
    ).items[0]
    assert isinstance(document, Message)
    assert document.content == (File(url="gs://a", media_type="application/pdf"),)


def test_a_stream() -> None:
    words, parsed = streamed(
        response({"text": "hm ", "thought": True}, finish=None, usageMetadata={"promptTokenCount": 9}),
        response({"text": "hm", "thought": True}, finish=None),
        response({"text": "Hel"}, finish=None),
        response({"text": "lo"}, finish=None),
        response(
            {"functionCall": {"id": "c1", "name": "look", "args": {}}, "thoughtSignature": "YQ=="},
            finish=None,
        ),
        response(
            {"text": ""}, finish="STOP", usageMetadata={"promptTokenCount": 9, "candidatesTokenCount": 4}
        ),
    )
    assert words == ["", "", "Hel", "lo", "", ""]
    thought, said, call = parsed.items
    assert isinstance(thought, Reasoning) and thought.text == "hm hm"
    assert isinstance(said, Message) and (said.content, said.interrupted) == ("Hello", False)
    assert isinstance(call, ToolCall) and call.state is not None
    assert (parsed.finish, parsed.usage) == ("calls", Usage(input=9, output=4))


def test_a_signature_on_no_words_is_kept_beside_the_words_before_it() -> None:
    signed = {"text": "", "thoughtSignature": "YQ=="}
    _, parsed = streamed(response({"text": "Hello"}, finish=None), response(signed))
    (said,) = parsed.items
    assert isinstance(said, Message) and said.content == "Hello"
    assert said.state == Opaque("gemini", NEW, '{"pieces":[[[5,null],[0,"YQ=="]]]}')
    _, parsed = streamed(response({"functionCall": {"name": "look"}}, finish=None), response(signed))
    assert kinds(parsed) == ["ToolCall", "Reasoning"]


def test_words_after_a_signature_are_a_piece_of_their_own() -> None:
    signed = {"text": "One.", "thoughtSignature": "YQ=="}
    (said,) = GEMINI.parse(response(signed, {"text": "Two."}), model=NEW).items
    assert isinstance(said, Message) and said.content == "One.Two."
    assert said.state is not None and said.state.data == '{"pieces":[[[4,"YQ=="],[4,null]]]}'


def test_a_stream_that_was_cut_off() -> None:
    partial = {"functionCall": {"name": "look", "id": "c2", "willContinue": True}}
    _, parsed = streamed(
        response({"text": "Hel"}, finish=None),
        response({"functionCall": {"id": "c1", "name": "look", "args": {"q": 1}}}, finish=None),
        response(partial, finish=None),
    )
    said, call = parsed.items
    assert isinstance(said, Message) and said.interrupted
    assert isinstance(call, ToolCall) and call.call_id == "c1"
    assert parsed.finish == "other"
    assert streamed()[1] == Parsed((), None, "other", NEW)


def test_arguments_in_pieces() -> None:
    def piece(*pieces: Json, more: bool = True, **start: Any) -> Json:
        return response(
            {"functionCall": {**start, "partialArgs": list(pieces), "willContinue": more}}, finish=None
        )

    _, parsed = streamed(
        piece(name="look", id="c1"),
        piece({"jsonPath": "$.q", "stringValue": "New ", "willContinue": True}),
        piece({"jsonPath": "$.q", "stringValue": "York"}, {"jsonPath": "$.n[1]['a.b']", "numberValue": 2}),
        piece({"jsonPath": "$.n[0].x", "boolValue": False}, {"jsonPath": "$.z", "nullValue": "NULL_VALUE"}),
        response({"functionCall": {}}),
    )
    (call,) = parsed.items
    assert isinstance(call, ToolCall) and (call.call_id, call.name) == ("c1", "look")
    assert call.arguments == '{"q":"New York","n":[{"x":false},{"a.b":2}],"z":null}'
    for path in ("q", "$q", "$.n[0].x[1]", "$.q[99999]"):
        with pytest.raises(Damaged):
            reader = GEMINI.stream()
            reader.feed(piece({"jsonPath": "$.n[0].x", "stringValue": "s"}, name="look"))
            reader.feed(piece({"jsonPath": path, "stringValue": "s"}))


class FromClient:
    """An object as clients give it: dumped by the names of the wire."""

    def model_dump(self, **asked: Any) -> Json:
        assert asked == {"mode": "json", "by_alias": True, "exclude_none": True}
        return response({"text": "Hello"})


def test_objects_of_the_client_and_names_with_underscores() -> None:
    assert kinds(GEMINI.parse(FromClient())) == ["Message"]
    call: Json = {"function_call": {"name": "look", "args": {}}, "thought_signature": b"sign"}
    candidate: Json = {"content": {"parts": [call]}, "finish_reason": "STOP"}
    parsed = GEMINI.parse({"candidates": [candidate], "usage_metadata": {"prompt_token_count": 2}}, model=NEW)
    (item,) = parsed.items
    assert isinstance(item, ToolCall) and item.state is not None
    assert item.state.data == '{"signature":"c2lnbg=="}'
    assert (parsed.finish, parsed.usage) == ("calls", Usage(input=2))


BROKEN: list[Json] = [
    {"candidates": "x"},
    {"candidates": ["x"]},
    response({"text": 1}),
    response({"inlineData": {"mimeType": "image/png", "data": "?"}}),
    response({"inlineData": {"mimeType": "image/png"}}),
    response({"fileData": {"fileUri": ""}}),
]


@pytest.mark.parametrize("broken", BROKEN)
def test_what_cannot_be_read_is_an_error_with_its_place(broken: Json) -> None:
    with pytest.raises(Damaged) as caught:
        GEMINI.parse(broken)
    assert caught.value.path.startswith("$.candidates")


def test_what_is_no_response_is_the_wrong_type() -> None:
    with pytest.raises(WrongType):
        GEMINI.parse("Hello")


@pytest.mark.parametrize(
    "reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE"]
)
def test_a_call_that_the_model_got_wrong_is_an_error(reason: str) -> None:
    event = response(finish=reason)
    event["candidates"][0]["finishMessage"] = "Malformed function call: f("
    for parsed in (GEMINI.parse(event), streamed(event)[1]):
        assert (parsed.items, parsed.finish) == ((), "other")
        assert parsed.error == f"{reason}: Malformed function call: f("


def test_arguments_that_are_text_already_are_that_text() -> None:
    (call,) = GEMINI.parse(response({"functionCall": {"name": "f", "args": '{"a": 1}'}})).items
    assert isinstance(call, ToolCall) and call.arguments == '{"a": 1}'
