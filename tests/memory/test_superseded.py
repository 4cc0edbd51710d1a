"""What is past is not recalled as if it held: notes kept anew or dropped, folded summaries, hidden turns."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from quire.compactors import Summarize, TruncateOldest
from quire.context import Template
from quire.errors import EditRefused
from quire.items import Hide, Message, Note, Span, Summary, Undo
from quire.memory import Memory
from quire.models import Scripted
from quire.sections import History, Instructions
from quire.session import Session
from quire.stores import MemoryStore
from quire.tokens import Budget


def found(session: Session, question: str) -> list[str]:
    return [hit.leaf.text for hit in session.memory.search(question).hits]


def opened() -> Session:
    return Session.open("ana/one", store=MemoryStore())


def test_a_note_kept_again_under_its_key_is_found_as_it_is_now() -> None:
    session = opened()
    session.pool.keep(Note("The budget for the pump is 100 euro.", key="plan"))
    assert len(found(session, "pump budget")) == 1
    session.pool.keep(Note("The budget for the pump is 250 euro.", key="plan"))
    assert found(session, "pump budget") == ["The budget for the pump is 250 euro."]
    assert [leaf.text for leaf in session.memory.working("one")] == ["The budget for the pump is 250 euro."]


def test_a_dropped_note_is_not_found() -> None:
    session = opened()
    session.pool.keep(Note("The door code is 9911.", key="pin"))
    session.pool.drop("pin")
    session.pool.keep(Note("The gate code is 2020.", key="gate"))
    assert found(session, "door code") == ["The gate code is 2020."]


def test_a_note_lends_no_words_to_the_next() -> None:
    session = opened()
    session.pool.keep(Note("The door is green.", key="door"))
    session.pool.keep(Note("The pump costs 250 euro.", key="pump"))
    assert found(session, "door") == ["The door is green."]


def test_a_summary_that_a_later_one_holds_is_past_and_lends_to_nobody() -> None:
    session = opened()
    items = [session.user(f"Turn {nth}.") for nth in range(8)]
    session.append(Summary("Falcon is due in May.", (Span(items[0].id, items[1].id),)))
    session.assistant("Fine.")
    assert found(session, "When is Falcon due?") == ["Falcon is due in May."]
    assert session.memory.search("Falcon").hits[0].leaf.speaker == "summary"
    session.append(Summary("Falcon is due in June.", (Span(items[0].id, items[3].id),)))
    assert found(session, "When is Falcon due?") == ["Falcon is due in June."]
    session.append(Summary("Nothing of the bird.", (Span(items[4].id, items[5].id),)))
    assert found(session, "When is Falcon due?") == ["Falcon is due in June."]


def test_an_episode_is_told_of_what_a_summary_leaves_out() -> None:
    session = opened()
    items = [session.user(f"Turn {nth}.") for nth in range(8)]
    session.append(Summary("The first four turns.", (Span(items[0].id, items[3].id),)))
    told = [(one.by_rule, one.ids) for one in session.memory.episodes("one")]
    assert (True, tuple(item.id for item in items[4:])) in told and len(told) == 2


def test_what_is_hidden_from_recall_too_stays_away_until_that_is_undone() -> None:
    session = opened()
    first = session.user("The meeting with Olga is on Tuesday.")
    session.assistant("Noted.")
    session.user("Never mind.")
    assert found(session, "meeting Olga")[0] == first.text
    hide = Hide((Span(first.id, first.id),), extras={"recall": False})
    session.append(hide)
    assert first.text not in found(session, "meeting Olga")
    assert first.text not in [leaf.text for leaf in session.memory.recent("one")]
    session.append(Undo(hide.id))
    assert found(session, "meeting Olga")[0] == first.text


def compacted(compactor: TruncateOldest | Summarize, texts: list[str]) -> Session:
    session = Session.open("ana/one", store=MemoryStore(), compactor=compactor, model=Scripted(texts))
    template = Template(Instructions("Help."), History(), budget=Budget(window=4_000))

    async def talk() -> None:
        for nth in range(12):
            session.user(f"Do step {nth} with the marmalade." if nth == 0 else f"Do step {nth}.")
            session.assistant(f"Step {nth} is done.")
            await session.aio.build(template)
            await session.aio.compaction.run()
        await session.aio.close()

    asyncio.run(talk())
    return session


def test_what_a_compactor_left_out_is_found() -> None:
    session = compacted(TruncateOldest(floor=60, ceiling=120), [])
    assert not any("marmalade" in item.text for item in session.view() if isinstance(item, Message))
    assert found(session, "marmalade")[0] == "Do step 0 with the marmalade."


def test_of_summaries_of_summaries_the_last_is_found() -> None:
    session = compacted(Summarize(floor=4, ceiling=8), [f"Falcon, told {nth}." for nth in range(12)])
    told = [text for text in found(session, "Falcon") if text.startswith("Falcon")]
    shown = [item.text for item in session.view() if isinstance(item, Summary)]
    assert told == shown and len(told) == 1


@pytest.mark.laws
@given(st.lists(st.tuples(st.sampled_from("shud"), st.integers(0, 9), st.integers(0, 9), st.booleans())))
def test_who_reads_along_and_who_reads_at_the_end_know_the_same(
    steps: list[tuple[str, int, int, bool]],
) -> None:
    store = MemoryStore()
    session = Session.open("ana/one", store=store)
    items = [session.user(f"word{nth}") for nth in range(11)]
    edits: list[str] = []
    along = Memory(store, "ana")
    for kind, one, other, is_looked in steps:
        span = Span(items[min(one, other)].id, items[max(one, other)].id)
        away = Hide((span,), extras={"recall": False} if is_looked else {})
        edit = away if kind == "h" else Summary("told", (span,)) if kind == "s" else None
        if edit is not None:
            with suppress(EditRefused):
                session.append(edit)
                edits.append(edit.id)
        elif kind == "u" and edits:
            session.append(Undo(edits.pop()))
        else:
            session.pool.keep(Note(f"word{one}", key=f"k{other}"))
        if is_looked:
            along.catch_up()
    assert along.recent("one", 99) == Memory(store, "ana").recent("one", 99)
    assert along.episodes("one") == Memory(store, "ana").episodes("one")
