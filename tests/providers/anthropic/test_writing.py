"""Messages: turns, instructions, calls and results, to the letter."""

from typing import Any

import pytest

from quire.errors import Downgraded
from quire.items import ConfigChange, Handoff, Image, Item, Message, Note, Summary, ToolCall, ToolResult
from quire.providers import Anthropic, Rendered
from tests.providers.anthropic.histories import OLDER, STEERED

WIRE = Anthropic()
TOOL: dict[str, Any] = {
    "name": "look",
    "description": "Look.",
    "input_schema": {"type": "object", "properties": {}},
}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(*words: str) -> dict[str, Any]:
    return {"role": "user", "content": [text(word) for word in words]}


def assistant(*blocks: str | dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": [text(b) if isinstance(b, str) else b for b in blocks]}


def use(call_id: str, given: Any = None, name: str = "look") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {} if given is None else given}


def result(call_id: str, content: Any, failed: bool = False) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {**block, "is_error": True} if failed else block


def rendered(*items: Item, model: str | None = None) -> Rendered:
    made = WIRE.render(items, model=model, tools=[TOOL])
    assert WIRE.check(made.payload, model) == []
    return made


def messages(*items: Item, model: str | None = None) -> Any:
    return rendered(*items, model=model).payload["messages"]


def changes(*items: Item, model: str | None = None) -> list[str]:
    return [downgrade.change for downgrade in rendered(*items, model=model).downgrades]


HI, YES = Message("user", "Hi."), Message("assistant", "Yes.")


def test_leading_instructions_are_apart_and_the_rest_are_messages() -> None:
    made = rendered(
        Message("system", "Be kind."), ConfigChange("Be brief."), HI, YES, Message("user", "Bye.")
    )
    assert made.payload == {
        "system": [text("Be kind."), text("Be brief.")],
        "messages": [user("Hi."), assistant("Yes."), user("Bye.")],
        "tools": [TOOL],
    }
    assert made.downgrades == ()


def test_what_one_side_says_in_a_row_is_one_message() -> None:
    said = messages(HI, Message("user", ("a", "b")), YES, Message("assistant", "No."), Message("user", "Oh."))
    assert said == [user("Hi.", "a", "b"), assistant("Yes.", "No."), user("Oh.")]


def test_the_user_speaks_first_and_last() -> None:
    assert messages(YES) == [user("(The conversation begins.)"), assistant("Yes."), user("Continue.")]
    assert changes(YES) == ["turn_added", "turn_added"]
    assert messages() == [user("Continue.")]
    assert messages(Message("system", "Be kind.")) == [user("Continue.")]


def test_parallel_calls_are_answered_in_one_message_in_their_order() -> None:
    calls = [ToolCall("a", "look", '{"at": "x"}'), ToolCall("b", "look")]
    results = [ToolResult("b", "look", "B", is_error=True), ToolResult("a", "look", "A")]
    assert messages(HI, YES, *calls, *results) == [
        user("Hi."),
        assistant("Yes.", use("a", {"at": "x"}), use("b")),
        {"role": "user", "content": [result("a", "A"), result("b", "B", failed=True)]},
    ]


def test_a_call_without_a_result_has_one_made_up() -> None:
    said = messages(HI, ToolCall("a", "look"), Message("user", "Stop."))
    answered = result("a", "No result: the call was interrupted.", failed=True)
    assert said[2] == {"role": "user", "content": [answered, text("Stop.")]}
    assert changes(HI, ToolCall("a", "look"), Message("user", "Stop.")) == ["answer_added"]


def test_a_message_between_a_call_and_its_result_comes_after_the_result() -> None:
    said = messages(HI, ToolCall("a", "look"), Message("user", "Hurry."), ToolResult("a", "look", "A"), YES)
    assert said[1:3] == [assistant(use("a")), {"role": "user", "content": [result("a", "A"), text("Hurry.")]}]


def test_a_result_without_a_call_is_left_out() -> None:
    orphan = ToolResult("x", "look", "?")
    assert messages(HI, orphan, YES, HI) == [user("Hi."), assistant("Yes."), user("Hi.")]
    assert changes(HI, orphan) == ["result_left_out"]


def test_ids_and_names_are_in_the_alphabet_and_ids_are_given_once() -> None:
    first, second = ToolCall("c|1", "look at"), ToolCall("c|1", "look at")
    history: list[Item] = [
        HI,
        first,
        ToolResult("c|1", "look at", "A"),
        second,
        ToolResult("c|1", "look at", "B"),
    ]
    made = rendered(*history)
    uses = [block for m in made.payload["messages"] for block in m["content"] if block["type"] == "tool_use"]
    answers = [b for m in made.payload["messages"] for b in m["content"] if b["type"] == "tool_result"]
    assert [block["tool_use_id"] for block in answers] == [block["id"] for block in uses]
    assert uses[0]["id"] != uses[1]["id"] and uses[0]["name"] == uses[1]["name"]
    assert made.names == {uses[0]["name"]: "look at"}
    assert [each.change for each in made.downgrades] == ["name_renamed", "id_renamed", "id_renamed"]


@pytest.mark.parametrize(
    ("arguments", "given", "mended"),
    [
        ('{"a":[1,2.50,"é"]}', {"a": [1, 2.5, "é"]}, False),
        ("", {}, False),
        (" ", {}, False),
        ("[1]", {"arguments": "[1]"}, True),
        ('{"a":', {"arguments": '{"a":'}, True),
        ("null", {"arguments": "null"}, True),
    ],
)
def test_input_is_an_object(arguments: str, given: Any, mended: bool) -> None:
    history = (HI, ToolCall("a", "look", arguments), ToolResult("a", "look", "A"))
    assert messages(*history)[1] == assistant(use("a", given))
    assert changes(*history) == (["arguments_mended"] if mended else [])


def test_texts_with_nothing_to_see_are_left_out() -> None:
    blank = Message("user", " \n")
    assert messages(blank, HI, Message("assistant", ""), Message("user", ("", "So?"))) == [user("Hi.", "So?")]
    assert changes(blank, HI, Message("assistant", "")) == ["empty_left_out", "empty_left_out"]
    answered = messages(HI, ToolCall("a", "look"), ToolResult("a", "look", "\n"))
    assert answered[2]["content"] == [result("a", "(no output)")]
    parts = messages(HI, ToolCall("a", "look"), ToolResult("a", "look", (" ", "x", "y")))
    assert parts[2]["content"] == [result("a", [text("x"), text("y")])]
    assert "system" not in rendered(Message("system", " "), HI).payload


def test_notes_summaries_and_records_of_the_program() -> None:
    history = (
        Summary("They met."),
        Note("rain", key="weather"),
        Handoff("b"),
        ConfigChange(tools=("look",)),
        HI,
    )
    tagged = user("<summary>\nThey met.\n</summary>", "<note>\nweather\nrain\n</note>", "Hi.")
    assert messages(*history) == [tagged]
    assert changes(*history) == ["unspoken", "unspoken"]


SYSTEM = {"role": "system", "content": [text("Be brief.")]}
ORDER = Message("system", "Be brief.")


def test_instructions_after_the_user_have_a_role_of_their_own() -> None:
    assert messages(HI, ORDER, model=STEERED) == [user("Hi."), SYSTEM]
    assert messages(HI, ORDER, YES, HI, model=STEERED)[:3] == [
        user("Hi."),
        SYSTEM,
        assistant("Yes."),
    ]
    assert changes(HI, ORDER, YES, HI, model=STEERED) == []


def test_instructions_after_results_too() -> None:
    said = messages(HI, ToolCall("a", "look"), ToolResult("a", "look", "A"), ORDER, model=STEERED)
    assert said[2:] == [{"role": "user", "content": [result("a", "A")]}, SYSTEM]


def test_instructions_in_a_row_are_one_message() -> None:
    both = {"role": "system", "content": [text("Be brief."), text("Be kind.")]}
    assert messages(HI, ORDER, ConfigChange("Be kind."), model=STEERED) == [user("Hi."), both]


def test_instructions_before_more_of_the_user_apply_from_its_end_on() -> None:
    history = (HI, YES, ORDER, Message("user", "Well?"))
    assert messages(*history, model=STEERED)[2:] == [user("Well?"), SYSTEM]
    assert changes(*history, model=STEERED) == ["instructions_moved"]
    between = (HI, ORDER, Message("user", "Well?"), YES, HI)
    assert messages(*between, model=STEERED)[:3] == [user("Hi.", "Well?"), SYSTEM, assistant("Yes.")]


def test_instructions_where_the_user_says_nothing_are_tagged() -> None:
    tagged = user("<instructions>\nBe brief.\n</instructions>")
    assert messages(HI, YES, ORDER, model=STEERED)[2:] == [tagged]
    assert messages(HI, YES, ORDER, YES, HI, model=STEERED)[2:4] == [tagged, assistant("Yes.")]
    assert changes(HI, YES, ORDER, YES, HI, model=STEERED) == ["instructions_as_text"]


def test_instructions_are_tagged_where_they_stand_for_other_models() -> None:
    tagged = "<instructions>\nBe brief.\n</instructions>"
    assert messages(HI, ORDER, Message("user", "Well?"), model=OLDER) == [user("Hi.", tagged, "Well?")]
    assert changes(HI, ORDER, model=OLDER) == ["instructions_as_text"]
    assert messages(HI, ORDER)[0] == user("Hi.", tagged)


def test_media_among_instructions_are_put_in_words() -> None:
    order = Message("system", ("Like this:", Image(url="https://example.com/a.png")))
    made = rendered(order, HI)
    assert made.payload["system"] == [text("Like this:\n[image at https://example.com/a.png]")]
    assert [each.change for each in made.downgrades] == ["media_as_text"]


def test_strict_refuses_a_loss() -> None:
    with pytest.raises(Downgraded):
        WIRE.render([HI, YES, Message("system", "Be brief."), YES], model=STEERED, strict=True)
    WIRE.render([HI, YES, Message("system", "Be brief."), HI], model=STEERED, strict=True)
