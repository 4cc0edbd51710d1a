"""Regret: what a summary lost and the next call needs is shown again, by an edit that says why."""

import pytest

from quire import Budget, Message, Session, Template, ToolCall, ToolResult
from quire.compactors import Summarize
from quire.items import Pin, Undo
from quire.models import Scripted
from quire.sections import History
from quire.stores import MemoryStore

TEMPLATE = Template(History(), budget=Budget(window=4_000), model="gpt-5.6")
LOST: dict[str, tuple[str, dict[str, str], str, list[str]]] = {
    "a tool read it": ("The lucky flower is the blue one from the market.", {}, "It is blue.", ["lost"]),
    "another search": ("Ana keeps the key under the stone.", {}, "Under the stone.", ["lost"]),
    "a stale path": ("It is in /srv/plants/hall.", {"file": "/srv/plants/hall"}, "no such file", []),
    "a stale date": ("We meet on 2026-03-01.", {"day": "2026-03-01"}, "nothing on that day", []),
    "a stale key": ("Order Q-1187 was merged.", {"order": "Q-1187"}, "no such order", []),
    "a stale mail": ("Write to ana@garden.example.", {"to": "ana@garden.example"}, "refused", []),
}
"""What the user said, the arguments of a call, its result, and what the result names as its sources."""

KEPT: dict[str, tuple[str, dict[str, str], str, list[str]]] = {
    "another key": ("Take order W-2210.", {"order": "W-9999"}, "no such order", []),
    "a longer key": ("Take order W-2210.", {"order": "W-22"}, "no such order", []),
    "what was read stands in the result": ("It is the blue one.", {}, "user: It is the blue one.", ["lost"]),
    "a search has several": ("It is the blue one.", {}, "It is blue.", ["lost", "other"]),
}
"""The same, where nothing is shown again."""


def opened(store: MemoryStore | None = None) -> Session:
    writer = Scripted(["They talked."], repeat=True)
    compactor = Summarize(floor=4, ceiling=8, size=16)  # too small for a proof: the value is lost
    return Session.open("ana/pens", store=store or MemoryStore(), compactor=compactor, model=writer)


def talk(session: Session, turns: int) -> None:
    for number in range(turns):
        session.user(f"And plant {number}?")
        session.build(TEMPLATE)
        session.assistant("It is well.")


def summarised(said: str, store: MemoryStore | None = None) -> Session:
    session = opened(store)
    session.append(Message("user", said, id="lost"))
    session.assistant("So it is.")
    talk(session, 5)
    assert session.view().fate("lost").state == "summarised"
    return session


def call(session: Session, arguments: dict[str, str], result: str, sources: list[str]) -> None:
    text = str(arguments).replace("'", '"')
    session.append(ToolCall("look", "look", text))
    extras = {"quire.of": sources} if sources else {}
    session.append(ToolResult("look", "look", result, id="result", is_error=not sources, extras=extras))


@pytest.mark.parametrize("said, arguments, result, sources", LOST.values(), ids=LOST)
def test_what_the_next_call_needs_is_shown_again_on_the_record(
    said: str, arguments: dict[str, str], result: str, sources: list[str]
) -> None:
    store = MemoryStore()
    session = summarised(said, store)
    call(session, arguments, result, sources)
    context = session.build(TEMPLATE)
    assert "lost" in {item.id for item in context.items}
    pin = next(item for item in session.view().recorded() if isinstance(item, Pin))
    (regret,) = next(one.regrets for one in session.compaction.past() if one.regrets)
    assert (regret.item, regret.result, pin.target) == ("lost", "result", "lost")
    assert regret.why == (
        "a call of look came back to it" if sources else "look failed for a value that stood there"
    )
    session.assistant("I see.")
    talk(session, 12)  # more summaries are written, and it stays
    assert session.view().fate("lost").state == "pinned" and len(session.view()) < 12
    again = opened(store)
    again.build(TEMPLATE)
    assert sum(isinstance(item, Pin) for item in again.view().recorded()) == 1


@pytest.mark.parametrize("said, arguments, result, sources", KEPT.values(), ids=KEPT)
def test_what_has_not_the_very_value_or_is_shown_anyway_is_no_regret(
    said: str, arguments: dict[str, str], result: str, sources: list[str]
) -> None:
    session = summarised(said)
    session.append(Message("user", "And another.", id="other"))
    call(session, arguments, result, sources)
    session.build(TEMPLATE)
    assert not any(isinstance(item, Pin) for item in session.view().recorded())


def test_an_undo_is_respected_and_one_without_an_id_takes_back_no_pin_of_the_machine() -> None:
    session = summarised("Take order W-2210.")
    call(session, {"order": "W-2210"}, "no such order", [])
    session.build(TEMPLATE)
    (pin,) = [item.id for item in session.view().recorded() if isinstance(item, Pin)]
    session.undo(pin)
    session.assistant("I see.")
    talk(session, 2)
    assert session.view().fate("lost").state == "summarised"
    other = summarised("Take order W-2210.")
    call(other, {"order": "W-2210"}, "no such order", [])
    other.build(TEMPLATE)
    (pin,) = [item.id for item in other.view().recorded() if isinstance(item, Pin)]
    assert pin not in (other.undo().target, other.undo().target)  # there are two summaries


def test_what_is_shown_again_takes_a_part_of_the_room_and_the_oldest_goes_first() -> None:
    session = opened()
    for number in range(6):
        session.append(Message("user", f"Note {number}. {'So it is. ' * 80}", id=f"note{number}"))
        session.assistant("Noted.")
    talk(session, 6)
    for number in range(6):
        session.append(ToolCall(f"c{number}", "look", "{}"))
        result = ToolResult(f"c{number}", "look", "seen", extras={"quire.of": [f"note{number}"]})
        session.append(result)
        session.build(TEMPLATE)
    fates = [session.view().fate(f"note{number}").state for number in range(6)]
    assert fates[-3:] == ["pinned"] * 3 and fates[0] == "summarised"
    assert any(isinstance(item, Undo) for item in session.view().recorded())
    assert sum(len(one.regrets) for one in session.compaction.past()) == 6
