"""A conversation that is opened from its checkpoint is the one that is read whole from its log."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from quire import Session
from quire.errors import QuireError
from quire.items import Note
from quire.session import find_items, log_of
from quire.state import config_at, newest
from quire.testing.histories import OPS, Author, Op
from quire.testing.plain import FourCharacters
from tests.counting import held_by
from tests.session.opened import (
    SECRET,
    TEMPLATE,
    Died,
    answer,
    dies_at,
    ids,
    send,
    session,
    talk,
    texts,
    watch,
    write_op,
)
from tests.stores.keeping import Kept, kept

KINDS = pytest.mark.parametrize("kind", ("sqlite", "sealed sqlite", "postgres"))
FEW = settings(max_examples=max(4, settings().max_examples // 5))
SOME = settings(max_examples=max(12, settings().max_examples // 5))
VERBS = ("keep", "drop", "begin", "result", "send", "record", "fork", "merge", "other", "forget", "undo")
STEPS = st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 9)), max_size=8)
Step = tuple[str, int]


@pytest.fixture(scope="module", autouse=True)
def short_pages() -> Iterator[None]:
    """Let a page have four items, write a checkpoint with every third entry, and open large logs again."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (
            "state.log",
            "state.transcript",
            "state.archive",
            "state.cut",
            "session.state",
            "session.checkpoint",
        ):
            patch.setattr(f"quire.{module}.PAGE", 4)
        for name in ("MIN_ENTRIES", "INTERVAL", "FIRST_INTERVAL"):
            patch.setattr(f"quire.session.log.{name}", 3)
        patch.setattr("quire.session.log._CLOSING_INTERVAL", 1)
        patch.setattr("quire.session.checkpoint._WINDOW", 4)
        patch.setattr("quire.session.log._LARGE_LOG", 0)
        patch.setattr("quire.session.log._BASE_WEIGHT", 0)
        yield


def play(world: list[Session], author: Author, ops: list[Op], steps: list[Step]) -> None:
    """A random conversation: items, edits, and what sessions do beside them."""
    for index, op in enumerate(ops):
        one = world[index % len(world)]
        write_op(one, author, op)
        if index < len(steps):
            with suppress(QuireError):
                step(world, one, *steps[index])


def step(world: list[Session], one: Session, verb: str, number: int) -> None:
    items = one.view().recorded()
    match verb:
        case "keep":
            one.pool.keep(Note(f"note {number}", key=f"k{number % 3}"))
        case "drop":
            one.pool.drop(f"k{number % 3}")
        case "begin":
            one.calls.begin(*one.view().pending()[:2])
        case "send":
            send(one.build(TEMPLATE, model="gpt-5.6"), temperature=number)
        case "record":
            send(one.build(TEMPLATE, model="gpt-5.6"))
            one.record(answer(f"answer {number}"))
        case "fork":
            at = one.version - number % 3 if number % 2 else None
            world.append(one.fork(f"fork{len(world)}", at=at))
        case "merge":
            world[0].merge(world[-1])
        case "other":
            one.user(f"aside {number}", to=f"other{number % 2}")
        case "forget":
            one.forget(*(item.id for item in items[number % 5 :][:1]))
        case _:
            one.undo()


def seen(one: Session) -> dict[str, Any]:
    """All that can be seen of a conversation."""
    counter = FourCharacters()
    views = [log_of(one).state.at(version) for version in range(one.version + 1)]
    return {
        "version": one.version,
        "recorded": {name: one.view(name).recorded() for name in one.transcripts},
        "at": [{name: list(view) for name, view in at.items()} for at in views],
        "pending": [{name: view.pending() for name, view in at.items()} for at in views],
        "tokens": {name: one.view(name).tokens(counter) for name in one.transcripts},
        "late": [{name: view.late_among(view) for name, view in at.items()} for at in views],
        "fates": [one.view().fate(item.id) for item in one.view().recorded()],
        "groups": [(view.groups(), view.pins(), config_at(view)) for view in views[-1].values()],
        "sums": [one.view().counted_before(index, counter) for index in range(len(one.view()) + 1)],
        "cut": outcome(lambda: list(newest(one.view(), tokens=60, counter=counter))),
        "pool": list(one.pool),
        "steps": one.calls.list_open(),
        "spending": one.spending,
        "receipts": [(one.version, one.digest, outcome(one.request)) for one in one.receipts],
        "shown": outcome(lambda: ids(one.build(TEMPLATE, model="gpt-5.6").items)),
        "found": find_items(one, "question"),
    }


def outcome(work: Callable[[], Any]) -> Any:
    """What some work gives, or the error that it raises."""
    try:
        return work()
    except QuireError as fault:
        return type(fault), str(fault)


@pytest.mark.laws
@KINDS
@FEW
@given(ops=OPS, steps=STEPS, more=OPS)
def test_a_conversation_opened_from_a_checkpoint_is_the_whole(
    kind: str, ops: list[Op], steps: list[Step], more: list[Op]
) -> None:
    with kept(kind) as held:
        author, names, half = Author(), ["q3"], len(ops) // 2
        for part, beside in ((ops[:half], steps[:4]), (ops[half:], steps[4:]), (more, [])):
            store = held.reopen()  # each part goes on from where a process was opened anew
            world = [Session.open(scope="ana", conversation=name, store=store) for name in names]
            play(world, author, part, beside)
            names = [one.place.conversation for one in world]
        check_opened_as_whole(held, names)


def _no_checkpoint(*_: object) -> None:
    """What a store without checkpoints opens."""


def check_opened_as_whole(held: Kept, names: list[str]) -> None:
    store = held.reopen()
    for name in names:
        opened = seen(Session.open(scope="ana", conversation=name, store=store))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(store), "open_checkpoint", _no_checkpoint)
            assert opened == seen(Session.open(scope="ana", conversation=name, store=held.open()))


@pytest.mark.laws
@SOME
@given(ops=OPS, steps=STEPS, fatal=st.integers(1, 60))
def test_after_a_kill_at_any_write_the_next_opening_is_right(
    ops: list[Op], steps: list[Step], fatal: int
) -> None:
    with kept("sqlite") as held:
        world = [session(held.store)]
        dies_at(held.store, fatal)
        with suppress(Died):
            play(world, Author(), ops, steps)
        check_opened_as_whole(held, ["q3"])


@KINDS
def test_a_long_conversation_is_opened_from_its_checkpoint(kind: str) -> None:
    with kept(kind) as held:
        talk(session(held.store), 40)
        store, read = held.reopen(), list[str]()
        watch(store, lambda step, _: read.append(step), ("read", "read_at", "read_parts"))
        one = session(store)
        assert len(one.view()) == 80 and texts(one.view()[-1:]) == ["x answer 39"]
        assert one.view().pending() == [] and read == []
        assert texts(one.view()[3:4]) == ["x answer 1"]


def test_closing_a_session_writes_a_checkpoint() -> None:
    with kept("sqlite") as held:
        one = session(held.store)
        talk(one, 3)
        one.user("one more")
        one.close()
        opening = held.store.open_checkpoint(one.place)
        assert opening is not None and opening.version == one.version


def test_a_long_conversation_that_stays_open_holds_what_is_shown() -> None:
    with kept("sqlite") as held:
        one, weights = session(held.store), list[int]()
        for _ in range(40):
            talk(one, 5)
            weights.append(log_of(one).weight)
        assert max(weights) < 200_000 < 400 * 900 and len(one.view()) == 400
        assert texts(one.view()[:2]) == ["x question 0", "x answer 0"]
        assert texts(one.view()) == texts(session(held.reopen()).view())


def test_what_was_read_of_a_long_conversation_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire.state.archive.MAX_ITEMS", 8)
    with kept("sqlite") as held:
        talk(session(held.store), 200)
        one, weights = session(held.reopen()), list[int]()
        for half in (0, 200):
            read = [word for at in range(half, half + 200, 5) for word in texts(one.view(at=at + 5)[at:])]
            assert read[::2] == [f"x question {(half + n) // 2}" for n in range(0, 200, 2)]
            weights.append(held_by(one.view())[0])
        assert weights[1] < weights[0] + 200


@KINDS
def test_nothing_of_a_forgotten_item_is_in_a_checkpoint(kind: str) -> None:
    with kept(kind) as held:
        one = session(held.store)
        talk(one, 5)
        secret = one.user(SECRET)
        talk(one, 5)
        place = one.place
        assert held.store.open_checkpoint(place) is not None
        one.forget(secret.id)
        opening = held.store.open_checkpoint(place)
        held_bodies = (
            () if opening is None else (opening.needed_bodies, *(one.body for one in opening.entries))
        )
        assert all(b"swordfish" not in body for body in held_bodies)
        again = session(held.reopen())
        assert texts([again.view().get(secret.id)]) == ["[forgotten]"]


@pytest.mark.parametrize("harm", ("part", "head", "format"))
def test_a_checkpoint_that_cannot_be_used_is_not(harm: str) -> None:
    with kept("sqlite") as held:
        one = session(held.store)
        talk(one, 20)
        opening = held.store.open_checkpoint(one.place)
        assert opening is not None
        head = opening.head[:9] if harm == "head" else opening.head
        with pytest.MonkeyPatch.context() as patch:
            if harm == "format":
                patch.setattr("quire.session.checkpoint._FORMAT", 99)
            parts = dict.fromkeys(range(1, 2000, 256), b"harm") if harm == "part" else {}
            held.store.write_checkpoint(one.place, opening.version, head, opening.needs, parts)
            shown = texts(one.view())
            assert texts(session(held.reopen()).view()) == shown
