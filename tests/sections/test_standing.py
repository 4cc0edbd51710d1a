"""What stands in a context beside the history: instructions, tools, additions, messages, the input."""

import asyncio
from typing import Any

import pytest

from quire.errors import InvalidLimit, InvalidValue, WrongType
from quire.items import Item, Message, ToolResult
from quire.sections import Additional, Ask, Custom, Inbox, Input, Instructions, ToolGuide
from quire.tokens import Definition
from tests.sections.asking import INBOX, asked, items_from

LOOK: Definition = {"name": "look", "description": "Look it up.\nSlowly."}
ADD: Definition = {"type": "function", "function": {"name": "add"}}
SEARCH: Definition = {"type": "web_search"}


def texts(items: list[Item]) -> list[str]:
    return [item.text for item in items if isinstance(item, Message)]


def test_instructions_are_made_once_and_are_the_same_from_run_to_run() -> None:
    section = Instructions("Be brief.")
    assert asked(section, Ask()) is asked(section, Ask(scope="other"))
    assert (section.stability, section.required, section.name) == ("static", True, "instructions")
    item = items_from(section, Ask())[0]
    assert isinstance(item, Message) and (item.role, item.text, item.created_at) == (
        "system",
        "Be brief.",
        0.0,
    )
    assert item.id.startswith("instructions/") and items_from(Instructions("Be brief."), Ask()) == [item]
    own = Message("developer", "Mine.")
    assert items_from(Instructions([own, {"role": "system", "content": "Theirs."}]), Ask())[0] is own
    with pytest.raises(InvalidValue, match="instructions are empty"):
        Instructions(" \n")
    with pytest.raises(WrongType, match="section 'rules' gives a list"):
        Instructions(3, "rules")  # type: ignore[arg-type]


def test_a_guide_lists_tools_by_name_with_the_first_line_of_what_they_do() -> None:
    guide = ToolGuide()
    assert items_from(guide, Ask()) == []
    first = asked(guide, Ask(tools=[LOOK, ADD, SEARCH]))
    assert texts(list(first)) == ["You may use these tools:\n- add\n- look: Look it up.\n- web_search"]  # type: ignore[arg-type]
    assert asked(guide, Ask(tools=[SEARCH, dict(ADD), LOOK])) is first
    assert asked(guide, Ask(tools=[LOOK])) is not first
    assert items_from(guide, Ask()) == []


def test_a_guide_in_words_of_ones_own() -> None:
    assert texts(items_from(ToolGuide("With care."), Ask(tools=[ADD]))) == ["With care."]
    assert items_from(ToolGuide("With care."), Ask()) == []
    told: list[int] = []

    async def tell(tools: Any) -> str:
        told.append(len(tools))
        return f"There are {len(tools)}."

    guide = ToolGuide(tell)
    for _ in range(3):
        assert texts(items_from(guide, Ask(tools=[ADD, LOOK]))) == ["There are 2."]
    assert told == [2]
    listed = ToolGuide(lambda tools: [{"role": "user", "content": str(len(tools))}])
    assert texts(items_from(listed, Ask(tools=[ADD]))) == ["1"]
    with pytest.raises(WrongType, match="what tells of tools is a function, not int"):
        ToolGuide(3)  # type: ignore[arg-type]
    with pytest.raises(WrongType, match="a tool definition is a mapping"):
        asked(ToolGuide(), Ask(tools=["look"]))  # type: ignore[list-item]


def test_additions_are_the_same_or_what_a_function_brings() -> None:
    static = Additional("Closed today.")
    assert static.stability == "static" and asked(static, Ask()) is asked(static, Ask())

    async def preferences(scope: str, conversation: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        await asyncio.sleep(0)
        parameters["currency"] = "EUR"
        return [{"role": "system", "content": {"text": f"{scope}: EUR", "type": "text"}}]

    section, ask = Additional(preferences, "preferences"), Ask(scope="ana", conversation="q3")
    items = asyncio.run(section.items(ask))
    assert texts(list(items)) == ["ana: EUR"] and ask.parameters == {"currency": "EUR"}
    assert items == asyncio.run(section.items(ask)) and section.stability == "volatile"
    with pytest.raises(WrongType, match="section 'additional' gives a list of items, not NoneType"):
        asked(Additional(lambda *_: None), Ask())  # type: ignore[arg-type]
    with pytest.raises(WrongType, match="section 'additional' gives a list of items, not int"):
        Additional(3)  # type: ignore[arg-type]


def test_a_function_of_ones_own_is_given_the_ask() -> None:
    section = Custom("time", lambda ask: [{"role": "user", "content": f"{ask.now:g}"}], required=False)
    assert texts(items_from(section, Ask(now=7))) == ["7"] and not section.required
    with pytest.raises(WrongType, match="asks is a function, not str"):
        Custom("time", "now")  # type: ignore[arg-type]


def test_the_inbox_is_by_priority_then_age_without_what_expired() -> None:
    assert texts(items_from(Inbox("us"), Ask(inbox=INBOX, now=5.0))) == ["first", "soon", "whenever"]
    assert texts(items_from(Inbox("us"), Ask(inbox=INBOX, now=4.9)))[0] == "late"
    assert texts(items_from(Inbox("us", limit=1), Ask(inbox=INBOX, now=60.0))) == ["first"]
    assert texts(items_from(Inbox("them"), Ask(inbox=INBOX))) == ["not ours"]
    assert len(items_from(Inbox(), Ask(inbox=INBOX, now=5.0))) == 4
    with pytest.raises(InvalidLimit, match="a limit of messages is 0"):
        Inbox("us", limit=0)
    with pytest.raises(InvalidValue, match="the id of an agent is empty"):
        Inbox("")


def test_the_input_where_the_template_has_it() -> None:
    message = Message("user", "And now?")
    assert items_from(Input(), Ask(input=message)) == [message] and Input().required
    assert items_from(Input(), Ask()) == []
    assert items_from(Input(), Ask(input=ToolResult("c", "ask_user", "yes"))) == []
