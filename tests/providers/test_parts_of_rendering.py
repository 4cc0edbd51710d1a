"""What all wires share: names, digests, plans, tool definitions, media."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidValue, WrongType
from quire.items import Audio, File, Image, Item, Message, Opaque, ToolCall, ToolResult
from quire.providers import PROVIDERS, CachePlan, media_type, mended, read_tools
from quire.providers.binding import Asked, Prefix, same_model, unusable
from quire.providers.dialogue import Dialogue
from quire.providers.downgrades import CHANGES
from quire.providers.media import inline_data, split
from quire.providers.names import Names, alphabet
from quire.state import Transcript, memos

LETTERS = alphabet(20)
texts = st.text(max_size=40).filter(bool)


@pytest.mark.laws
@given(st.lists(texts))
def test_ids_are_of_the_alphabet_and_never_given_twice(originals: list[str]) -> None:
    names = Names(LETTERS, unique=True)
    given_out = [names.give(text) for text in originals]
    assert all(LETTERS.takes(name) for name in given_out)
    assert len(set(given_out)) == len(given_out)
    again = Names(LETTERS, unique=True)
    assert [again.give(text) for text in originals] == given_out


@pytest.mark.laws
@given(st.lists(texts))
def test_a_tool_keeps_one_name_and_no_two_tools_share_one(originals: list[str]) -> None:
    names = Names(LETTERS, unique=False)
    given_out = {text: names.give(text) for text in originals}
    assert len(set(given_out.values())) == len(given_out)
    assert all(names.give(text) == name for text, name in given_out.items())
    changed = {name: text for text, name in given_out.items() if name != text}
    assert names.originals() == changed


@pytest.mark.laws
@given(st.lists(texts), st.lists(texts))
def test_a_branch_of_names_goes_on_as_the_whole_would(before: list[str], after: list[str]) -> None:
    names = Names(LETTERS, unique=True)
    for text in before:
        names.give(text)
    branched = [name for branch in [names.branch()] for text in after for name in [branch.give(text)]]
    assert [names.give(text) for text in after] == branched


def test_a_name_that_is_fine_stays_as_it_is() -> None:
    assert Names(LETTERS, unique=True).give("call_1") == "call_1"


messages = st.lists(st.fixed_dictionaries({"role": st.sampled_from("ab"), "content": st.text(max_size=5)}))


@pytest.mark.laws
@given(messages, st.lists(st.integers(0, 30), max_size=8))
def test_a_digest_that_grew_is_the_digest_of_the_whole(sent: list[Any], stops: list[int]) -> None:
    growing = Prefix("tools")
    for stop in stops:
        assert growing.of(sent[:stop]) == Prefix("tools").of(sent[:stop])
        assert growing.branch().of(sent[: stop + 2]) == Prefix("tools").of(sent[: stop + 2])


def test_a_digest_is_of_what_came_before_and_of_the_order() -> None:
    assert Prefix().of([{"a": 1}, {"b": 2}]) != Prefix().of([{"b": 2}, {"a": 1}])
    assert Prefix().of([{"a": 1}]) != Prefix({"tools": 1}).of([{"a": 1}])
    assert Prefix().of([{"a": 1, "b": 2}]) == Prefix().of([{"b": 2, "a": 1}])


@pytest.mark.parametrize(
    ("state", "model", "change"),
    [
        (Opaque("anthropic", "m", "x"), "m", None),
        (Opaque("anthropic", "m-20260101", "x"), "m", None),
        (Opaque("anthropic", "m", "x", "same"), "m", None),
        (Opaque("anthropic", "m", "x", "other"), "m", "state_stale"),
        (Opaque("anthropic", "m", "x"), "n", "state_foreign"),
        (Opaque("anthropic", "m", "x"), None, "state_foreign"),
        (Opaque("gemini", "m", "x"), "m", "state_foreign"),
    ],
)
def test_state_goes_back_only_to_its_model_after_the_same_prefix(
    state: Opaque, model: str | None, change: str | None
) -> None:
    fault = unusable(state, "anthropic", Asked(model), lambda: "same")
    assert (fault and fault[0]) == change


def test_a_snapshot_is_the_same_model_and_another_size_is_not() -> None:
    assert same_model("gpt-5.6-2026-09-01", "gpt-5.6")
    assert same_model("anthropic/claude-sonnet-5", "claude-sonnet-5-20260101")
    assert same_model("models/gemini-3-pro", "gemini-3-pro")
    assert not same_model("gpt-4o-2024-05-13", "gpt-4o-2024-08-06")
    assert not same_model("gpt-5.6-mini", "gpt-5.6")


@pytest.mark.parametrize(
    "plan", [{"static": -1}, {"static": 3, "slow": 2}, {"slow": -1}, {"key": ""}, {"keep": "for ever"}]
)
def test_a_plan_that_makes_no_sense_is_refused(plan: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        CachePlan(**plan)


def test_tools_are_read_from_every_shape_in_the_order_of_their_names() -> None:
    chat = {"type": "function", "function": {"name": "b", "parameters": {"type": "object"}, "strict": True}}
    anthropic = {"name": "a", "description": "An a.", "input_schema": {"type": "object"}}
    native = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    tools = read_tools([chat, native, anthropic])
    assert [tool.name for tool in tools] == ["a", "b", "web_search"]
    assert (tools[0].description, tools[1].strict, tools[2].native) == ("An a.", True, native)


NO_TOOLS: list[tuple[list[Any], type[Exception]]] = [
    ([5], WrongType),
    ([{"name": "a"}, {"name": "a"}], InvalidValue),
    ([{"function": {}}], WrongType),
    ([{}], InvalidValue),
]


@pytest.mark.parametrize(("tools", "error"), NO_TOOLS)
def test_tools_that_are_none_are_refused(tools: list[Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        read_tools(tools)


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (Image(data=b"\x89PNG\r\n\x1a\n"), "image/png"),
        (Image(data=b"RIFF....WEBP"), "image/webp"),
        (Image(data=b"x", media_type="image/JPG; q=1"), "image/jpeg"),
        (Image(url="data:image/gif;base64,R0lG"), "image/gif"),
        (Image(url="https://example.com/a.png"), None),
        (Audio(data=b"RIFF....WAVE"), "audio/wav"),
        (Audio(data=b"??"), None),
        (File(data=b"%PDF-1"), "application/pdf"),
    ],
)
def test_a_part_says_what_it_is_or_its_bytes_do(part: Image | Audio | File, kind: str | None) -> None:
    assert media_type(part) == kind


def test_bytes_come_out_of_a_part_however_they_were_given() -> None:
    assert inline_data(Image(data=b"hi")) == inline_data(Image(url="data:image/png;base64,aGk="))
    assert inline_data(Image(url="https://example.com/a.png")) is None


def test_text_files_are_words_and_other_media_are_not() -> None:
    picture = Image(data=b"x")
    file = File(data=b"of a file", media_type="text/plain")
    assert split(("words", file, picture, "")) == ("words\nof a file", [picture])


@pytest.mark.laws
@given(st.text(st.characters(exclude_categories=())))
def test_a_mended_text_can_be_written(text: str) -> None:
    written = mended(text).encode()
    if all(not 0xD800 <= ord(letter) < 0xE000 for letter in text):
        assert written == text.encode()


def test_every_change_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "providers.md").read_text()
    named = {
        name
        for row in re.findall(r"^\| (`\w+`.*?) \|", page, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    assert named == CHANGES


NOT_RENDERED: list[dict[str, Any]] = [
    *({"items": items} for items in (5, None, "abc", [1], {"a": 1}, {1, 2})),
    *({"tools": tools} for tools in (5, "abc", {"name": "a"})),
    *({"plan": 5}, {"model": 5}),
]


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("arguments", NOT_RENDERED, ids=str)
def test_what_cannot_be_rendered_is_a_clear_error(wire: str, arguments: dict[str, Any]) -> None:
    given: dict[str, Any] = {"items": [Message("user", "Hello.")], **arguments}
    with pytest.raises(WrongType):
        PROVIDERS[wire].render(given.pop("items"), **given)


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_result_may_come_late_among_static_items(wire: str) -> None:
    items: list[Item] = [
        ToolCall("c1", "look_up", "{}"),
        Message("user", "Well?"),
        ToolResult("c1", "look_up", "found"),
    ]
    rendered = PROVIDERS[wire].render(items, plan=CachePlan(static=3))
    assert PROVIDERS[wire].check(rendered.payload) == []


@pytest.mark.parametrize("wire", PROVIDERS)
def test_after_a_late_result_rendering_goes_on_from_where_it_stopped(
    wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = Transcript([Message("user", "Go."), ToolCall("c1", "look", "{}"), Message("user", "Wait.")])
    transcript.extend([ToolResult("c1", "look", "found"), *[Message("user", "And?") for _ in range(5)]])
    taken: list[int] = []
    feed = Dialogue.feed

    def counting(self: Dialogue, items: Sequence[Item]) -> None:
        taken.append(len(items))
        feed(self, items)

    monkeypatch.setattr(Dialogue, "feed", counting)
    for _ in range(4):
        transcript.append(Message("user", "More."))
        view = transcript.view
        taken.clear()
        made = PROVIDERS[wire].render(view, plan=CachePlan(slow=len(view) - 1))
        assert "found" in str(made.payload)
    assert max(taken) <= 1, "what was written before was written again"


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_late_result_in_what_is_volatile_costs_no_draft(wire: str) -> None:
    transcript = Transcript([Message("user", "Go."), ToolCall("c1", "look", "{}"), Message("user", "Wait.")])
    PROVIDERS[wire].render(transcript.view, plan=CachePlan(slow=2))
    transcript.append(ToolResult("c1", "look", "found"))
    made = PROVIDERS[wire].render(transcript.view, plan=CachePlan(slow=3))
    anew = PROVIDERS[wire].render(list(transcript.view), plan=CachePlan(slow=3))
    assert made.payload == anew.payload and "found" in str(made.payload)
    assert any(type(kept).__name__ == "_Draft" for kept in memos(transcript.view).values())
