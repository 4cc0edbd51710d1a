"""Groups of any sequence, selection by question, and the configuration in force."""

import pytest
from hypothesis import given

from quire.errors import InvalidValue, OutOfRange, UnknownId, WrongType
from quire.items import (
    ConfigChange,
    Handoff,
    Hide,
    Image,
    Item,
    Mask,
    Message,
    Note,
    Pin,
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
    groups,
    of_kind,
    pending_calls,
    select,
    structural,
    using_tool,
)
from tests.histories import CONTENT_OPS, OPS, Author, Op
from tests.oracle import PlainTranscript
from tests.state.chains import play

pytestmark = pytest.mark.usefixtures("lineage")

ITEMS: list[Item] = [
    Message("system", "be brief", id="s"),
    Message("user", "find it", id="u", agent_id="ann"),
    Reasoning("where?", id="r"),
    Message("assistant", "let me look", id="a"),
    ToolCall("c1", "search", id="t1"),
    ToolCall("c2", "read", id="t2"),
    ToolResult("c2", "read", "second first", id="x2"),
    ToolResult("c1", "search", "found", id="x1"),
    Message("assistant", " ", id="e"),
    Handoff("bob", id="h"),
    ToolCall("c3", "read", id="t3"),
]


def ids(items: list[Item]) -> str:
    return " ".join(item.id for item in items)


def test_a_call_its_results_its_reasoning_and_its_reply_are_one_group() -> None:
    found = groups(ITEMS)
    assert [ids(list(group.items)) for group in found] == ["s", "u", "r a t1 t2 x2 x1", "e", "h", "t3"]
    assert [group.pending for group in found] == [False, False, False, False, False, True]
    assert [call.id for call in pending_calls(ITEMS)] == ["t3"]


@given(OPS)
def test_a_transcript_groups_as_any_sequence_is_grouped(ops: list[Op]) -> None:
    transcript, author = Transcript(), Author()
    for op in ops:
        item = author.item(transcript, (op[0] % CONTENT_OPS, op[1], op[2], 0))
        assert item is not None
        transcript.append(item)
    assert transcript.view.groups() == groups(transcript.view)


def test_items_are_selected_by_what_they_are() -> None:
    assert ids(select(ITEMS, by_role("user", "system"))) == "s u"
    assert ids(select(ITEMS, of_kind(ToolCall, Reasoning))) == "r t1 t2 t3"
    assert ids(select(ITEMS, by_agent("ann"))) == "u"
    assert ids(select(ITEMS, using_tool("read"))) == "t2 x2 t3"
    assert ids(select(ITEMS, structural)) == "s h"
    assert ids(select(ITEMS, empty)) == "e"
    assert ids(select(ITEMS, ~structural & ~(by_role("assistant") | of_kind(ToolCall)))) == "u r x2 x1"
    assert not empty(Message("user", (" ", Image(url="https://example.com/a.png"))))


def test_the_last_configuration_counts_at_every_item() -> None:
    transcript = Transcript(
        [
            Message("system", "first", id="1", created_at=1.0),
            Message("user", "hello", id="2", created_at=2.0),
            ConfigChange("second", ("search",), id="3", created_at=3.0),
            ConfigChange(tools=(), id="4", created_at=4.0),
            Message("developer", ("third", "rule"), id="5", created_at=5.0),
        ]
    )
    view = transcript.view
    assert config_at(view) == ("third\nrule", ())
    assert [config_at(view, index) for index in range(4)] == [
        ("first", None),
        ("first", None),
        ("second", ("search",)),
        ("second", ()),
    ]
    assert config_at(view, "3") == ("second", ("search",))
    assert config_at(Transcript().view) == (None, None)


def test_an_edit_does_not_change_what_was_in_force() -> None:
    transcript = Transcript(
        [
            Message("system", "first", id="1", created_at=1.0),
            ConfigChange("second", ("search",), id="2", created_at=2.0),
            Message("user", "hello", id="3", created_at=3.0),
        ]
    )
    child = transcript.fork()
    transcript.append(Hide((Span("1", "2"),)))
    child.append(Summary("rules", (Span("1", "2"),)))
    for view in (transcript.view, child.view):
        assert config_at(view) == config_at(view, len(view) - 1) == ("second", ("search",))
        assert config_at(view, "1") == ("first", None)


@given(OPS)
def test_the_configuration_is_what_was_set_last(ops: list[Op]) -> None:
    transcript, plain = Transcript(), PlainTranscript()
    transcript = play(ops, transcript, plain, Author())
    assert config_at(transcript.view) == plain.config()


def test_an_edit_elsewhere_does_not_part_a_reply_from_its_call() -> None:
    words: list[Item] = [Message("user", "a", id="a"), Message("user", "b", id="b")]
    for edit in (Hide((Span("a", "a"),), id="e"), Mask("a", "[gone]", id="e"), Pin("a", id="e")):
        transcript = Transcript([*words, Message("assistant", "let me look", id="w"), edit])
        transcript.append(ToolCall("c", "t", id="call"))
        for found in (transcript.view.groups(), groups(transcript.recorded()), groups(transcript.view)):
            assert ["w", "call"] in [[item.id for item in group.items] for group in found]


def test_targets_that_are_not_there_are_errors() -> None:
    transcript = Transcript([Message("assistant", "hello", id="1"), Mask("1", "[gone]", id="2")])
    for target in (-1, 1, 99):
        with pytest.raises(OutOfRange):
            config_at(transcript.view, target)
    for unknown in ("nobody", "", "2"):
        with pytest.raises(UnknownId):
            config_at(transcript.view, unknown)
    for wrong in (True, 1.5):
        with pytest.raises(WrongType):
            config_at(transcript.view, wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_summary_without_spans_stands_where_it_was_recorded() -> None:
    transcript = Transcript(
        [Message("user", "hello", id="1"), Summary("the gist", id="2"), Note("x", id="3")]
    )
    assert ids(list(transcript.view)) == "1 2 3"
    assert transcript.view.fate("2").state == "shown"


def test_a_slice_that_goes_nowhere_is_a_clear_error() -> None:
    with pytest.raises(InvalidValue, match="at least one"):
        Transcript([Message("user", "x")]).view[::0]


@pytest.mark.parametrize("length", [100, 300])
def test_slices_of_a_forks_view_are_those_of_its_list(length: int) -> None:
    fork = Transcript([Message("user", f"{n}") for n in range(length)]).fork()
    fork.extend([Message("user", f"more {n}") for n in range(20)])
    shown = list(fork.view)
    for start in (0, 5, length - 1, length, length + 5, -3, None):
        for stop in (0, 7, length - 19, length, length + 10, -5, None):
            assert fork.view[start:stop] == shown[start:stop]
            assert fork.view[start:stop:-1] == shown[start:stop:-1]


@pytest.mark.parametrize("odd", [slice(1.5, 2), slice("a", None), slice(None, None, "x")], ids=str)
def test_a_slice_of_anything_but_whole_numbers_is_a_clear_error(odd: slice) -> None:
    with pytest.raises(WrongType):
        Transcript([Message("user", "x")]).view[odd]


def test_calls_wait_in_the_order_they_were_made_whoever_asks() -> None:
    calls = [("a", "one", "1"), ("b", "one", "2"), ("a", "two", "3")]
    transcript = Transcript([ToolCall(call_id, name, id=item_id) for call_id, name, item_id in calls])
    now, then = transcript.view.pending(), transcript.at(transcript.revision).pending()
    assert [call.id for call in now] == [call.id for call in then] == ["1", "2", "3"]
