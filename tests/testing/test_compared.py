"""`compare`: where a model calls something else after a compaction."""

import json

import pytest

from quire.compactors import Summarize, TruncateOldest
from quire.errors import InvalidValue
from quire.items import Item, Message, ToolCall, ToolResult
from quire.models import Scripted
from quire.providers import Rendered
from quire.testing import compare

FACT = "The password of the door is swordfish."


def conversation(turns: int = 12) -> list[Item]:
    """A fact, much talk about other things, then a call that needs the fact."""
    items: list[Item] = [Message("user", FACT), Message("assistant", "Noted.")]
    for number in range(turns):
        items += [
            Message("user", f"Question {number}. " + "word " * 80),
            Message("assistant", f"Answer {number}."),
        ]
    items += [Message("user", "Open the door."), ToolCall("c1", "open", '{"code": "swordfish"}')]
    return [*items, ToolResult("c1", "open", "done"), Message("assistant", "It is open.")]


def remembering(request: Rendered) -> str | ToolCall:
    """A model that opens the door with the code that it sees, and otherwise asks."""
    if request["messages"][-1]["content"] != "Open the door.":
        return "Well."
    seen = "swordfish" in json.dumps(request["messages"][:-1])
    return ToolCall("c1", "open", '{"code":"swordfish"}') if seen else "Which code?"


def test_a_lost_fact_is_a_difference_and_a_room_for_all_is_none() -> None:
    model, items = Scripted(remembering), conversation()
    with_all = compare(items, TruncateOldest(), model=model, budget=16_000)
    assert (with_all.requests, with_all.changed, with_all.differences) == (15, 0, ()) and not model.requests
    lost = compare(items, TruncateOldest(), model=model, budget=700)
    (one,) = lost.differences
    assert lost.compactions and one.number == 14 and one.before == items[-4].id
    assert str(one) == 'request 14: open({"code":"swordfish"}) → \'Which code?\''
    assert one.compacted is not None and one.compacted.tokens <= 700 < one.whole.tokens


def test_a_summary_is_written_and_what_it_says_counts() -> None:
    items = conversation()
    for text, calls in ((FACT, 0), ("They spoke of a door.", 1)):
        found = compare(
            items,
            Summarize(unit="tokens"),
            model=Scripted(remembering),
            budget=900,
            writer=Scripted([text], repeat=True),
        )
        assert found.compactions and len(found.differences) == calls


def test_a_request_that_cannot_fit_says_why_and_no_reply_is_an_error() -> None:
    items = [Message("user", "word " * 900), Message("assistant", "Yes.")]
    (one,) = compare(items, TruncateOldest(), model=Scripted(remembering), budget=200).differences
    assert one.compacted is None and "tokens" in one.fault
    with pytest.raises(InvalidValue, match="no reply"):
        compare(items[:1], TruncateOldest(), model=Scripted(remembering), budget=200)
