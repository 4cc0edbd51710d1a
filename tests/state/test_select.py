"""Selection by predicate, and the configuration in force."""

import pytest

from quire.errors import InvalidValue, OutOfRange, UnknownId, WrongType
from quire.items import (
    ConfigChange,
    Handoff,
    Hide,
    Image,
    Item,
    Mask,
    Message,
    Reasoning,
    Span,
    Summary,
    ToolCall,
    ToolResult,
)
from quire.state import (
    Transcript,
    by_agent,
    by_role,
    config_at,
    empty,
    of_kind,
    select,
    structural,
    using_tool,
)

ITEMS: list[Item] = [
    Message("system", "be brief", id="s"),
    Message("user", "find it", id="u", agent_id="ann"),
    Reasoning("where?", id="r"),
    ToolCall("c1", "search", id="t1"),
    ToolCall("c2", "read", id="t2"),
    ToolResult("c2", "read", "found", id="x2"),
    Message("assistant", " ", id="e"),
    Handoff("bob", id="h"),
]


def ids(items: list[Item]) -> str:
    return " ".join(item.id for item in items)


def test_items_are_selected_by_what_they_are() -> None:
    assert ids(select(ITEMS, by_role("user", "system"))) == "s u"
    assert ids(select(ITEMS, of_kind(ToolCall, Reasoning))) == "r t1 t2"
    assert ids(select(ITEMS, by_agent("ann"))) == "u"
    assert ids(select(ITEMS, using_tool("read"))) == "t2 x2"
    assert ids(select(ITEMS, structural)) == "s h"
    assert ids(select(ITEMS, empty)) == "e"
    assert ids(select(ITEMS, ~structural & ~(by_role("assistant") | of_kind(ToolCall)))) == "u r x2"
    assert not empty(Message("user", (" ", Image(url="https://example.com/a.png"))))


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(InvalidValue, match="bogus"):
        by_role("bogus")
    with pytest.raises(WrongType):
        of_kind(str)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(WrongType):
        select(ITEMS, "user")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(WrongType):
        select(["user"], empty)  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


def configured() -> Transcript:
    return Transcript(
        [
            Message("system", "first", id="1"),
            Message("user", "hello", id="2"),
            ConfigChange("second", ("search",), id="3"),
            ConfigChange(tools=(), id="4"),
            Message("developer", ("third", "rule"), id="5"),
            Message("user", "and?", id="6"),
        ]
    )


def test_the_last_configuration_counts_at_every_item() -> None:
    view = configured().view
    assert config_at(view) == ("third\nrule", ())
    expected = [("first", None), ("first", None), ("second", ("search",)), ("second", ())]
    assert [config_at(view, index) for index in range(4)] == expected
    assert config_at(view, "3") == ("second", ("search",))
    assert config_at(Transcript().view) == (None, None)


@pytest.mark.parametrize("edit", [Hide((Span("1", "5"),)), Summary("rules", (Span("1", "5"),))])
def test_an_edit_does_not_change_what_was_in_force(edit: Item) -> None:
    transcript = configured()
    transcript.append(edit)
    view = transcript.view
    assert config_at(view) == config_at(view, len(view) - 1) == ("third\nrule", ())
    assert config_at(view, "1") == ("first", None)
    if isinstance(edit, Summary):
        assert config_at(view, 0) == (None, None), "it stands before the first item that it covers"


def test_targets_that_are_not_there_are_errors() -> None:
    transcript = Transcript([Message("assistant", "hello", id="1"), Mask("1", "[gone]", id="2")])
    for target in (-1, 1, 99):
        with pytest.raises(OutOfRange):
            config_at(transcript.view, target)
    for unknown in ("nobody", "", "2"):
        with pytest.raises(UnknownId):
            config_at(transcript.view, unknown)
