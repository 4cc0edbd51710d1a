"""What rendering promises on every wire: pairing, ids and names, media, repairs, and a note for each loss."""

import json
from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any, NamedTuple, cast

import pytest

from quire.errors import Downgraded, InvalidValue
from quire.items import (
    Audio,
    ConfigChange,
    File,
    Handoff,
    Image,
    Item,
    Message,
    Note,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
)
from quire.providers import HISTORY, PROVIDERS, CachePlan, Rendered
from quire.state import Transcript
from quire.testing.conversations import PNG

MODELS = {
    "openai": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-opus-4-8",
    "gemini": "gemini-2.5-pro",
}
ask = Message("user", "Go.")
look = ToolCall("c1", "look", '{"q": 1}')
found = ToolResult("c1", "look", "rain")
on_each_wire = pytest.mark.parametrize("wire", MODELS)


def sent(wire: str, *items: Item, model: str = "", **options: Any) -> Rendered:
    return PROVIDERS[wire].render(items, model=model or MODELS[wire], **options)


def text_of(wire: str, *items: Item, **options: Any) -> str:
    return json.dumps(sent(wire, *items, **options).payload, ensure_ascii=False)


def changes(rendered: Rendered) -> list[str]:
    return [downgrade.change for downgrade in rendered.downgrades]


def calls_and_results(wire: str, payload: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The ids of calls and of results, in the order of the payload."""
    calls: list[str] = []
    results: list[str] = []
    for message in payload[HISTORY[wire]]:
        for block in (message, *entries(message), *(message.get("tool_calls") or ())):
            calls += [block["id"]] if block.get("type") in ("function", "custom", "tool_use") else []
            calls += [block["call_id"]] if block.get("type") == "function_call" else []
            calls += [block["functionCall"]["id"]] if "functionCall" in block else []
            results += [block["call_id"]] if block.get("type") == "function_call_output" else []
            results += [block[name] for name in ("tool_call_id", "tool_use_id") if name in block]
            results += [block["functionResponse"]["id"]] if "functionResponse" in block else []
    return calls, results


def entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    held: Any = message.get("content") or message.get("parts")
    return held if isinstance(held, list) else []  # pyright: ignore[reportUnknownVariableType]


# --- one item, one rule ----------------------------------------------------------------------------------


class Row(NamedTuple):
    """Items, the changes that rendering them notes, and texts that the payload holds or lacks."""

    items: tuple[Item, ...]
    changes: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


said = Message("assistant", "Yes.")
ROWS = {
    "a call without a result gets one that says so": Row(
        (ask, Message("assistant", "I look."), ToolCall("c1", "look", "{}"), Message("user", "Never mind.")),
        ("result_added",),
        ("It is uncertain whether this was done: the call was interrupted. Look before you do it again.",),
    ),
    "a result without a call is left out": Row(
        (ask, ToolResult("c9", "look", "orphan")), ("result_left_out",), lacks=("orphan",)
    ),
    "notes and summaries are told from what the user says": Row(
        (Summary("They met."), Note("Likes tea", key="ana"), ask),
        holds=("<summary>\\nThey met.\\n</summary>", '<note key=\\"ana\\">\\nLikes tea\\n</note>'),
    ),
    "records for the program are not rendered": Row(
        (ask, Handoff("bills"), ConfigChange(tools=("look",))), ("not_rendered",) * 2, lacks=("bills",)
    ),
    "instructions of a change count as instructions": Row(
        (ConfigChange("Be brief."), ask), holds=("Be brief.",), lacks=("<late-instructions>",)
    ),
    "media in instructions are described": Row(
        (Message("system", ("Use it.", Image(url="https://example.com/a.png"))), ask),
        ("media_as_text",),
        ('<image url=\\"https://example.com/a.png\\"/>',),
    ),
    "a picture that is none becomes text": Row(
        (Message("user", ("Look:", Image(data=b"<html>403</html>", media_type="image/png"))),),
        ("media_as_text",),
        ('<image problem=\\"16 bytes said to be image/png, which are no picture\\"/>',),
    ),
    "a picture goes out under its type": Row(
        (Message("user", (Image(data=PNG, media_type="image/png"),)),), holds=("image/png",)
    ),
    "a text file is text with its name": Row(
        (Message("user", ("Sum:", File(data=b"a,b", name="q2.csv", media_type="text/csv"))),),
        holds=("a,b", "q2.csv"),
    ),
    "a text file that is not UTF-8 is read as Latin-1": Row(
        (Message("user", (File(data=b"caf\xe9", media_type="text/plain"),)),), holds=("caf\xe9",)
    ),
    "thoughts without state are left out and never said": Row(
        (ask, Reasoning("secretly unsure"), said, ask), ("reasoning_left_out",), lacks=("secretly",)
    ),
    "what a model said aloud is its transcript": Row(
        (ask, Message("assistant", (Audio(url="file-id:openai/audio_1", transcript="Aloud."),)), ask),
        ("media_as_text",),
        ("Aloud.",),
    ),
}


@pytest.mark.parametrize("row", ROWS)
@on_each_wire
def test_each_item_goes_out_by_its_rule(wire: str, row: str) -> None:
    items, noted, holds, lacks = ROWS[row]
    rendered = sent(wire, *items)
    text = json.dumps(rendered.payload, ensure_ascii=False)
    assert [change for change in changes(rendered) if change != "tools_added"] == [*noted]
    assert all(part in text for part in holds) and not any(part in text for part in lacks)


# --- calls and results -----------------------------------------------------------------------------------


@on_each_wire
def test_a_late_result_takes_the_place_of_the_neutral_one(wire: str) -> None:
    provider, transcript = PROVIDERS[wire], Transcript([ask, look, Message("user", "Still there?")])
    before = provider.render(transcript.view, model=MODELS[wire])
    transcript.append(found)
    after = provider.render(transcript.view, model=MODELS[wire])
    assert "interrupted" in json.dumps(before.payload)
    assert "interrupted" not in json.dumps(after.payload) and "rain" in json.dumps(after.payload)
    assert calls_and_results(wire, after.payload) == (["c1"], ["c1"])


@on_each_wire
def test_a_result_that_comes_after_the_model_went_on_is_text_where_it_arrived(wire: str) -> None:
    provider = PROVIDERS[wire]
    transcript = Transcript(
        [ask, look, Message("user", "Well?"), Message("assistant", "Hm."), Message("user", "So?")]
    )
    before = provider.render(transcript.view, model=MODELS[wire])
    transcript.append(found)
    after = provider.render(transcript.view, model=MODELS[wire])
    said, earlier = after.payload[HISTORY[wire]], before.payload[HISTORY[wire]]
    assert said[:-2] == earlier[: len(said) - 2]
    assert "rain" in json.dumps(said[-1]) and "text_moved" in changes(after)
    assert calls_and_results(wire, after.payload) == (["c1"], ["c1"])


@on_each_wire
def test_what_is_merged_from_a_child_stands_after_the_result_of_the_call_that_started_it(wire: str) -> None:
    merged = {"quire.merged": "m"}
    child = ToolCall("c1", "dig", "{}", extras=merged), ToolResult("c1", "dig", "sand", extras=merged)
    for items in ((ask, look, *child, found), (ask, look, child[0], found, child[1])):
        text = text_of(wire, *items, Message("user", "So?"))
        assert text.index("rain") < text.index("dig") < text.index("sand")


@on_each_wire
@pytest.mark.parametrize("given", ["fc:1|x y", "é", "x" * 90, "c1#2"])
def test_ids_get_the_alphabet_of_the_wire(wire: str, given: str) -> None:
    rendered = sent(wire, ask, ToolCall(given, "look", "{}"), ToolResult(given, "look", "rain"))
    (call,), (result,) = calls_and_results(wire, rendered.payload)
    assert call == result != given and len(call) <= 64
    assert changes(rendered).count("id_renamed") == 1
    assert PROVIDERS[wire].check(rendered.payload, MODELS[wire]) == []


@on_each_wire
def test_calls_under_one_id_get_ids_of_their_own(wire: str) -> None:
    rendered = sent(wire, ask, look, found, Message("user", "Again."), look, found)
    calls, results = calls_and_results(wire, rendered.payload)
    assert calls == results and len(set(calls)) == 2


@on_each_wire
@pytest.mark.parametrize("arguments", ["not json", "[1]", "null"])
def test_arguments_that_are_no_object_are_kept_in_one(wire: str, arguments: str) -> None:
    model = {"openai": "llama-3.3-70b", "openai-responses": "llama-3.3-70b"}.get(wire, "")
    rendered = sent(wire, ask, ToolCall("c1", "look", arguments), found, model=model)
    assert "arguments_repaired" in changes(rendered)
    assert json.dumps(arguments)[1:-1] in json.dumps(rendered.payload).replace("\\\\", "\\")


# --- turns -----------------------------------------------------------------------------------------------


@on_each_wire
@pytest.mark.parametrize("content", ["", ("",)])
def test_an_empty_message_is_left_out_with_a_note(wire: str, content: Any) -> None:
    rendered = sent(
        wire, ask, Message("assistant", content), Message("user", content), Message("user", "More.")
    )
    assert changes(rendered).count("empty_left_out") == 2
    assert PROVIDERS[wire].check(rendered.payload, MODELS[wire]) == []


# --- media -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", ["openai-responses", "anthropic"])
def test_a_recording_becomes_its_transcript_where_none_is_heard(wire: str) -> None:
    rendered = sent(wire, Message("user", (Audio(data=b"RIFF\0\0\0\0WAVE", transcript="They said."),)))
    assert "They said." in json.dumps(rendered.payload) and changes(rendered) == ["media_as_text"]


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
def test_a_picture_of_the_model_moves_to_a_message_of_the_user(wire: str) -> None:
    rendered = sent(wire, ask, Message("assistant", ("Here:", Image(data=PNG))), Message("user", "Nice."))
    assert "media_moved" in changes(rendered)
    messages = rendered.payload[HISTORY[wire]]
    holder = next(message for message in messages if "base64" in json.dumps(message))
    assert holder["role"] == "user" and '<media from=\\"assistant\\">' in json.dumps(rendered.payload)


@on_each_wire
def test_media_of_a_result_reach_the_model(wire: str) -> None:
    shot = ToolResult("c1", "look", ("Shot:", Image(data=PNG)))
    rendered = sent(wire, ask, look, shot)
    assert "iVBOR" in json.dumps(rendered.payload)
    is_moved = wire in ("openai", "gemini")
    assert ("media_moved" in changes(rendered)) == is_moved
    assert ('<media from=\\"look\\">' in json.dumps(rendered.payload)) == is_moved
    assert PROVIDERS[wire].check(rendered.payload, MODELS[wire]) == []


@on_each_wire
def test_a_failed_result_says_so(wire: str) -> None:
    text = text_of(wire, ask, look, ToolResult("c1", "look", "no such city", is_error=True))
    marks = {"anthropic": '"is_error": true', "gemini": '"error": "no such city"'}
    assert marks.get(wire, "Error: no such city") in text


@on_each_wire
def test_an_empty_result_is_not_sent_empty(wire: str) -> None:
    rendered = sent(wire, ask, look, ToolResult("c1", "look", ""))
    assert wire == "gemini" or "(no output)" in json.dumps(rendered.payload)
    assert PROVIDERS[wire].check(rendered.payload, MODELS[wire]) == []


# --- thoughts and strictness -----------------------------------------------------------------------------


@on_each_wire
def test_strict_raises_for_a_loss_and_not_for_a_harmless_change(wire: str) -> None:
    with pytest.raises(Downgraded, match="the call has no result"):
        sent(wire, ask, look, Message("user", "Never mind."), strict=True)
    harmless = sent(wire, ask, ToolCall("c:1", "look", "{}"), ToolResult("c:1", "look", "x"), strict=True)
    assert "id_renamed" in changes(harmless)


# --- the result of rendering -----------------------------------------------------------------------------


def spoil(value: Any) -> None:
    """Edit all of a payload in place."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        spoil([*fields.values()])
        fields["spoiled"] = True
    elif isinstance(value, list):
        entries = cast("list[Any]", value)  # type: ignore[redundant-cast]
        for entry in entries:
            spoil(entry)
        entries.append("spoiled")


LOOKS: dict[str, Callable[[list[Any]], Any]] = {
    "all": spoil,
    "first": lambda messages: spoil(messages[0]),
    "slice": lambda messages: spoil(messages[:2]),
    "reversed": lambda messages: spoil(list(reversed(messages))),
    "sum": lambda messages: spoil(messages + []),  # noqa: RUF005
    "added": lambda messages: spoil([{"role": "system"}] + messages),  # noqa: RUF005
    "summed": lambda messages: spoil(sum([messages], list[Any]())),
    "times": lambda messages: spoil(1 * messages),
    "unpacked": lambda messages: spoil([*messages]),
    "copy": lambda messages: spoil(copy(messages)),
    "pop": lambda messages: spoil(messages.pop(0)),
}


@on_each_wire
@pytest.mark.parametrize("edit", LOOKS.values(), ids=LOOKS)
def test_what_a_caller_edits_is_in_no_later_payload(wire: str, edit: Callable[[list[Any]], Any]) -> None:
    told, parts = (
        Message("system", "Be brief."),
        Message("user", ("See", Image(url="https://a.example/b.png"))),
    )
    said: list[Item] = [told, parts, look, found, Message("assistant", "Rain."), Message("user", "So?")]
    tools = [{"name": "look", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]
    transcript, provider = Transcript(said), PROVIDERS[wire]
    plan = CachePlan(static=1)

    def payload(items: Transcript) -> Any:
        return provider.render(items.view, model=MODELS[wire], tools=tools, plan=plan).payload

    edited, kept = payload(transcript), payload(transcript)
    whole = json.dumps(payload(Transcript(said)))
    edit(edited[HISTORY[wire]])
    if edit is spoil:
        spoil(edited)
    assert json.dumps(kept) == json.dumps(payload(transcript)) == whole != json.dumps(edited)
    more = [Message("assistant", "Again."), Message("user", "More.")]
    transcript.extend(more)
    assert json.dumps(payload(transcript)) == json.dumps(payload(Transcript([*said, *more])))


def test_values_that_a_caller_puts_into_a_payload_stay_the_callers() -> None:
    messages, own = sent("openai", ask).payload["messages"], {"role": "user", "content": "mine"}
    messages.append(own)
    assert messages[-1] is own and [*messages][-1] is own
    own["content"] = "changed"
    assert json.loads(json.dumps(messages))[-1]["content"] == "changed" == deepcopy(messages)[-1]["content"]


@on_each_wire
def test_the_prefix_tells_whether_what_was_sent_is_the_same(wire: str) -> None:
    assert sent(wire, ask).prefix == sent(wire, ask).prefix != sent(wire, Message("user", "Stop.")).prefix


def test_a_cache_plan_is_checked() -> None:
    refused: tuple[dict[str, Any], ...] = ({"static": -1}, {"static": 2, "slow": 1}, {"keep": "forever"})
    for wrong in refused:
        with pytest.raises(InvalidValue):
            CachePlan(**wrong)
    assert CachePlan(slow=9).boundary(3) == 3
