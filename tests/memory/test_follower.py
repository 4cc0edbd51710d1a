"""An index holds what its store does: after any writing, forking and forgetting, in any order."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from quire.errors import QuireError
from quire.items import JSON, Hide, Message, Note, Reasoning, Span, Summary, ToolCall, ToolResult, Undo
from quire.memory import Leaf, Memory
from quire.memory.follower import Follower
from quire.memory.index import Index
from quire.memory.knowledge import Knowledge
from quire.session import Session
from quire.stores import Entry, MemoryStore, Place, Store
from tests.memory.leaves import restarted
from tests.memory.talks import opened
from tests.session.opened import watch

WORDS = ["heliotrope", "marmalade", "quicksilver", "bergamot", "tamarind", "verdigris"]
Work = Callable[[Store], None]


def work_in(scope: str, name: str, verb: str, nth: int, words: list[str]) -> Work:
    def work(store: Store) -> None:
        if verb in ("document", "removed", "look"):
            memory = Memory.of(store, scope)
            if verb == "document":  # sections, so that adding it again inserts, moves and removes chunks
                text = "\n\n".join(f"# {word}\n\nOn {word}, at length." for word in words)
                memory.knowledge.add_text(text, source=f"{name}.md")
            elif verb == "removed":
                memory.knowledge.remove(f"{name}.md")
            else:
                memory.catch_up()
            return
        session = opened(f"{scope}/{name}", store)
        word = words[0] if words else "nothing"
        if verb == "said":
            session.user(f"the {word} is here")
        elif verb == "done":
            session.append(ToolCall("c1", "look_up", f'{{"what": "{word}"}}'))
            session.user("meanwhile")
            session.append(ToolResult("c1", "look_up", f"{word} found"))
        elif verb == "forked":
            session.fork(f"child of {word}").user(f"the child has {word}")
        elif verb == "forgotten" and len(session.view()):
            session.forget(session.view()[nth % len(session.view())].id)

    return work


WORKS = st.lists(
    st.builds(
        work_in,
        st.sampled_from(["ana", "bo"]),
        st.sampled_from(["one", "two"]),
        st.sampled_from(["said", "done", "forked", "forgotten", "document", "removed", "look"]),
        st.integers(0, 9),
        st.lists(st.sampled_from(WORDS), max_size=6),
    ),
    max_size=12,
)


def done(works: Sequence[Work], store: Store) -> Store:
    for work in works:
        with suppress(QuireError):
            work(store)
    return store


def held(memory: Memory) -> list[Leaf]:
    leaves = [*memory.recent(limit=10_000), *(hit.leaf for hit in memory.search("on length").hits)]
    found = {(leaf.source, leaf.transcript, leaf.order, leaf.key): leaf for leaf in leaves}
    return [found[at] for at in sorted(found)]


@pytest.mark.laws
@given(WORKS, st.booleans())
def test_scopes_are_apart_and_what_was_forgotten_never_comes_back(works: list[Work], is_asked: bool) -> None:
    store = MemoryStore()
    session = opened("ana/vault", store)
    secret = session.user("my password is xylophone")
    done(works, store)
    for scope in ("ana", "bo"):
        assert held(Memory.of(store, scope)) == held(Memory(store, scope)), "followed, and read at once"
    assert all(leaf.source != "vault" for leaf in held(Memory.of(store, "bo")))
    if is_asked:
        assert Memory.of(store, "ana").search("password xylophone").hits
    session.forget(secret.id)
    for memory in (Memory.of(store, "ana"), Memory(store, "ana")):
        hits = memory.search("password xylophone", limit=1_000).hits
        assert not [hit for hit in hits if "xylophone" in hit.leaf.text or secret.id in hit.leaf.ids]


def test_a_conversation_that_was_removed_or_began_again_is_read_again(tmp_path: Path) -> None:
    for store in (MemoryStore(), Store.open(tmp_path / "a.db"), Store.open(tmp_path / "a.jsonl")):
        memory, place = Memory(store, "ana"), Place("ana", "one")
        for word in WORDS[:2]:
            said = JSON.encode_item(Message("user", f"the {word} is here"))
            store.append(place, [Entry("main", said)], expected=0)
            assert [leaf.text for leaf in memory.recent()] == [f"the {word} is here"]
            store.remove(place)
        assert memory.recent() == []
        store.close()


@pytest.mark.parametrize("name", ["a.db", "a.jsonl"])
def test_what_another_process_wrote_forgot_and_removed_is_followed(tmp_path: Path, name: str) -> None:
    with Store.open(tmp_path / name) as store, Store.open(tmp_path / name) as other:
        memory = Memory(store, "ana")
        for word in WORDS[:3]:
            opened(f"ana/{word}", other).user(f"the {word} is here")
            assert memory.recent()[-1].text == f"the {word} is here"
        session = opened(f"ana/{WORDS[0]}", other)
        session.user("it is gone")
        session.forget(session.view()[0].id)
        other.remove(Place("ana", WORDS[1]))
        opened("bo/one", other).user("of another scope")
        assert {leaf.text for leaf in memory.recent()} == {f"the {WORDS[2]} is here", "it is gone"}


def test_only_what_changed_is_looked_at() -> None:
    store, looks = MemoryStore(), list[str]()
    sessions = [opened(f"ana/{word}", store) for word in WORDS]
    for session in sessions:
        session.user("hello there")
    memory = Memory(store, "ana")
    memory.catch_up()
    sessions[0].user("hello again")
    watch(store, lambda step, _: looks.append(step), ("read", "conversations"))
    memory.catch_up()
    assert len([look for look in looks if look.startswith("before")]) <= 2, "others are looked at"
    looks.clear()
    memory.catch_up()
    assert not looks, "the scope is looked at although nothing is new"


def test_a_result_joins_its_call_however_late_it_comes() -> None:
    store = MemoryStore()
    session, memory = opened("ana/one", store), Memory(store, "ana")
    session.append(ToolCall("c1", "read_pump", "{}"))
    for number in range(100):
        session.user(f"Entry {number}: noted.")
        memory.catch_up()
    session.append(ToolResult("c1", "read_pump", "the pump runs"))
    assert memory.recent(limit=200) == Memory(store, "ana").recent(limit=200)
    assert memory.search("pump runs").hits[0].leaf.order == 0


# What is withdrawn


def found(session: Session, question: str) -> list[str]:
    return [hit.leaf.text for hit in session.memory.search(question).hits]


def test_a_note_that_was_kept_again_or_dropped_is_not_found() -> None:
    session = opened()
    session.pool.keep(Note("The budget for the pump is 100 euro.", key="plan"))
    session.pool.keep(Note("The door code is 9911.", key="pin"))
    assert len(found(session, "pump budget")) == 1, "a note lends no words to the next"
    session.pool.keep(Note("The budget for the pump is 250 euro.", key="plan"))
    session.pool.drop("pin")
    assert found(session, "pump budget") == ["The budget for the pump is 250 euro."]
    assert [leaf.text for leaf in session.memory.working("one")] == ["The budget for the pump is 250 euro."]


def test_a_summary_that_a_later_one_covers_is_not_found() -> None:
    session = opened()
    items = [session.user(f"Turn {nth}.") for nth in range(8)]
    session.append(Summary("Falcon is due in May.", (Span(items[0].id, items[1].id),)))
    session.assistant("Fine.")
    assert found(session, "When is Falcon due?") == ["Falcon is due in May."]
    assert session.memory.search("Falcon").hits[0].leaf.speaker == "summary"
    session.append(Summary("Falcon is due in June.", (Span(items[0].id, items[3].id),)))
    session.append(Summary("Nothing of the bird.", (Span(items[4].id, items[5].id),)))
    assert found(session, "When is Falcon due?") == ["Falcon is due in June."]
    episodes = [(one.by_rule, one.ids) for one in session.memory.episodes("one")]
    assert (False, (session.view().log.item(10).id,)) in episodes and len(episodes) == 3
    (by_rule,) = [ids for is_by_rule, ids in episodes if is_by_rule]
    assert by_rule[:2] == (items[6].id, items[7].id), "of what no summary covers"
    session.append(*(Message("assistant", f"Talk {nth}.") for nth in range(9)))
    lines = [one.text for one in session.memory.episodes("one") if one.by_rule]
    assert any("Turn 7." in text for text in lines), "what the user said matters more"


def test_what_is_hidden_is_found_unless_it_is_hidden_from_recall() -> None:
    session = opened()
    first = session.user("The meeting with Olga is on Tuesday.")
    session.user("Never mind.")
    span = (Span(first.id, first.id),)
    session.append(Hide(span))
    assert found(session, "meeting Olga")[0] == first.text
    hide = Hide(span, extras={"recall": False})
    session.append(Undo(session.view().log.item(2).id), hide)
    assert first.text not in found(session, "meeting Olga")
    assert first.text not in [leaf.text for leaf in session.memory.recent("one")]
    session.append(Undo(hide.id))
    assert found(session, "meeting Olga")[0] == first.text


def test_a_summary_that_was_undone_is_not_found() -> None:
    session = opened()
    first = session.user("The meeting with Olga is on Tuesday.")
    summary = Summary("Olga was met.", (Span(first.id, first.id),))
    session.user("Never mind.")
    session.append(summary)
    assert "Olga was met." in found(session, "meeting Olga")
    undone = session.undo(summary.id)
    assert found(session, "meeting Olga")[0] == first.text
    assert "Olga was met." not in found(session, "meeting Olga")
    session.undo(undone.id)
    assert "Olga was met." in found(session, "meeting Olga")


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["said", "call", "result", "thought", "hide", "summary", "undo", "keep", "drop", "forget"]
        ),
        st.integers(0, 9),
        st.integers(0, 9),
        st.sampled_from(["", "", "read", "restart"]),
    ),
    max_size=40,
)


def step(session: Session, kind: str, one: int, other: int, ids: list[str], edits: list[str]) -> None:
    """Write something, or raise because the session refuses it."""
    spans = (Span(*(ids[at] for at in sorted((one, other)))),)
    if kind == "said":
        session.append(Message("user" if one < 5 else "assistant", f"word{other}", agent_id="ab"[one % 2]))
    elif kind == "thought":
        session.append(Reasoning(f"thought{one}"), ToolCall(f"c{other % 3}", "look_up", "{}"))
    elif kind == "call":
        session.append(ToolCall(f"c{one % 3}", "look_up", f'{{"what": "word{other}"}}'))
    elif kind == "result":
        session.append(ToolResult(f"c{one % 3}", "look_up", f"word{other} found"))
    elif kind == "keep":
        session.pool.keep(Note(f"word{one}", key=f"k{other}"))
    elif kind == "drop":
        session.pool.drop(f"k{other}")
    elif kind == "forget":
        session.forget(session.view()[other].id)
    elif kind == "undo":
        edits.append(session.undo(edits[-1 - one % len(edits)]).id)
    else:
        hide = Hide(spans, extras={"recall": False} if one % 2 else {})
        (edit,) = session.append(hide if kind == "hide" else Summary("told", spans))
        edits.append(edit.id)


@pytest.mark.laws
@given(STEPS)
def test_an_index_that_continues_from_a_snapshot_is_one_read_from_the_log(
    steps: list[tuple[str, int, int, str]],
) -> None:
    store = MemoryStore()
    session, knowledge = opened("ana/one", store), Knowledge(store, "ana")
    follower = Follower(store, "ana", Index(), knowledge)
    kept: dict[str, bytes] = {}
    ids, edits = [session.user(f"word{nth}").id for nth in range(10)], list[str]()
    for kind, one, other, then in steps:
        with suppress(QuireError, IndexError, ZeroDivisionError):
            step(session, kind, one, other, ids, edits)
        if then:
            follower.catch_up_to_save()
        if then == "restart":
            follower = Follower(store, "ana", restarted(follower.index, kept), knowledge)
    follower.catch_up()
    along, fresh = Memory(store, "ana", index=follower.index), Memory(store, "ana")
    assert along.recent(limit=999) == fresh.recent(limit=999)
    assert along.episodes("one") == fresh.episodes("one")
