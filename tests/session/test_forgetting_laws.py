"""The law of forgetting: no byte of an item, or of what names it, is left; all else is unchanged.

Random conversations are written with a word of its own in each item. The oracle knows what each item was made
of: of a summary that a model wrote, the items whose words the model was told. The session has to find the
same, wherever forks, merges and recalls took them, and also when the process that forgets is killed at any of
its writes.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from quire import Session
from quire.errors import DuplicateId, EditRefused, QuireError
from quire.items import EDITS, Item, Mask, Message, Note, Span, Summary, ToolResult, Undo, new_id
from quire.models import Scripted
from quire.session import find_items
from quire.stores import Store
from tests.session.opened import KINDS, Died, called, dies_at, run, send
from tests.session.recalling import ASKED, PLAIN, QUOTING
from tests.stores.keeping import Kept, kept

pytestmark = pytest.mark.laws
EVERY = pytest.mark.parametrize("kind", KINDS)
FEW = settings(max_examples=max(5, settings().max_examples // 2))
SOURCES = "quire.of"
VERBS = (
    "say",
    "look",
    "tell",
    "summarize",
    "mask",
    "keep",
    "fork",
    "merge",
    "result",
    "gist",
    "draft",
    "recall",
)
STEPS = st.lists(
    st.tuples(st.sampled_from(VERBS), st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=14
)
Step = tuple[str, int, int]


@dataclass
class World:
    """Conversations of one scope, and what the oracle knows of their items."""

    store: Store
    sessions: list[Session] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)  # by id: what only this item says
    sources: dict[str, set[str]] = field(default_factory=dict)  # by id: what it was made of
    numbers: Iterator[int] = field(default_factory=count)

    def open(self, name: str) -> Session:
        self.sessions.append(Session.open(scope="ana", conversation=name, store=self.store))
        return self.sessions[-1]

    def word(self, *sources: str) -> tuple[str, str]:
        """An id and a word for a new item that was made of others."""
        item_id = new_id()
        self.words[item_id] = f"qz{next(self.numbers):04d}xk"
        self.sources[item_id] = set(sources)
        return item_id, self.words[item_id]

    def play(self, steps: list[Step]) -> None:
        self.open("one").user(*self._said(ASKED), id=next(reversed(self.words)))
        for verb, which, what in steps:
            one = self.sessions[which % len(self.sessions)]
            shown = [item for item in one.view() if type(item) not in EDITS or isinstance(item, Summary)]
            with suppress(EditRefused, DuplicateId):
                self._step(verb, one, shown, what)

    def _said(self, prefix: str = "it says") -> tuple[str]:
        return (f"{prefix} {self.word()[1]}",)

    def _step(self, verb: str, one: Session, shown: list[Item], what: int) -> None:
        item = shown[what % len(shown)] if shown else None
        match verb:
            case "say":
                item_id, word = self.word()
                one.append(Message("user" if what % 2 else "assistant", f"it says {word}", id=item_id))
            case "look":
                item_id, word = self.word()
                call = called(one, "look")
                one.append(ToolResult(call.call_id, "look", f"found {word}", id=item_id))
            case "tell" if item is not None:
                item_id, word = self.word(item.id)
                extras = {SOURCES: [item.id]}
                one.append(Message("assistant", f"of it {word}", id=item_id, extras=extras))
            case "summarize" if item is not None:
                self._summarize(one, shown, what)
            case "mask" if isinstance(item, ToolResult):
                item_id, word = self.word(item.id)
                one.append(Mask(item.id, f"stub {word}", id=item_id))
            case "keep":
                of = [item.id] if item is not None and what % 2 else []
                item_id, word = self.word(*of)
                extras = {SOURCES: of} if of else {}
                one.pool.keep(Note(f"note {word}", key=f"k{len(self.words)}", id=item_id, extras=extras))
            case "draft":
                with one.draft() as draft:
                    item_id, word = self.word()
                    draft.append(Message("assistant", f"drafted {word}", id=item_id))
                    send(draft.build(PLAIN))
            case "recall":
                other = self.open(f"recalls{len(self.sessions)}")
                other.user(ASKED)
                send(other.build(QUOTING))
            case _:
                self._branch(verb, one, what)

    def _branch(self, verb: str, one: Session, what: int) -> None:
        if verb == "fork":
            turns = None if what % 2 else 2
            self.sessions.append(one.fork(f"f{len(self.sessions)}", turns=turns))
            return
        other = self.sessions[what % len(self.sessions)]
        if verb not in ("merge", "result", "gist") or other.place == one.place:
            return
        if verb == "gist":
            item_id, word = self.word()
            prompts: list[str] = []

            def write(request: Any) -> str:
                prompts.append(str(request.payload))
                return f"gist {word}"

            made = one.merge(other, keep="summary", model=Scripted([write]))
            del self.words[item_id], self.sources[item_id]
            for summary in made:
                # Calls have no word.
                calls = {one for one in summary.extras[SOURCES] if one not in self.words}
                self.sources[summary.id] = calls | {
                    one for one, said in self.words.items() if said in prompts[0]
                }
                self.words[summary.id] = word
        else:
            one.merge(other, keep="all" if verb == "merge" else "result")

    def _summarize(self, one: Session, shown: list[Item], what: int) -> None:
        first, last = sorted((what % len(shown), (what * 3) % len(shown)))
        covered = shown[first : last + 1]
        folded = [span for item in covered if isinstance(item, Summary) for span in item.spans]
        spans = (Span(covered[0].id, covered[-1].id), *folded)
        recorded = one.view().recorded()
        places = {item.id: nth for nth, item in enumerate(recorded)}
        names = {
            recorded[nth].id for span in spans for nth in range(places[span.first], places[span.last] + 1)
        }
        item_id, word = self.word(*names)
        one.append(Summary(f"summary {word}", spans, id=item_id))

    def made_of(self, chosen: str) -> set[str]:
        """The item and all that names it, or names what names it."""
        found = {chosen}
        while more := {one for one, named in self.sources.items() if named & found} - found:
            found |= more
        return found

    def items(self) -> dict[tuple[str, str], list[Item]]:
        """What every transcript and pool holds, by conversation."""
        return {
            (one.place.conversation, name): list(items)
            for one in self.reopened()
            for name, items in (("main", one.view().recorded()), (".pool", [*one.pool]))
        }

    def reopened(self) -> Iterator[Session]:
        for one in self.sessions:
            yield Session.open(scope="ana", conversation=one.place.conversation, store=self.store)


Held = Mapping[tuple[str, str], list[Item]]


def check_gone(held: Kept, world: World, gone: set[str], before: Held) -> None:
    for item_id in gone:
        assert held.holding(world.words.get(item_id, "nothing")) == []
    after = world.items()
    for place, items in before.items():
        left = {item.id: item for item in after[place]}
        for item in items:
            if item.id in gone or item.id not in world.words:
                left.pop(item.id, None)
            else:
                assert left.pop(item.id) == item
        new = [item for item_id, item in left.items() if item_id not in gone]
        assert all(isinstance(item, Undo) for item in new), "what is new takes back an emptied summary"


@EVERY
@FEW
@given(steps=STEPS, choice=st.integers(0, 99), where=st.integers(0, 9))
@example(steps=[("look", 0, 0), ("recall", 0, 0), ("gist", 1, 0)], choice=1, where=0)
def test_nothing_is_left_of_an_item_and_of_what_names_it(
    kind: str, steps: list[Step], choice: int, where: int
) -> None:
    with kept(kind) as held:
        world = World(held.store)
        world.play(steps)
        one = world.sessions[where % len(world.sessions)]
        known = [*one.view().recorded(), *one.pool]
        chosen = known[choice % len(known)].id
        gone, before = world.made_of(chosen), world.items()
        one.forget(chosen)
        check_gone(held, world, gone, before)
        world.store = held.reopen()
        check_gone(held, world, gone, before)
        assert all(find_items(one, world.words.get(chosen, "nothing")) == [] for one in world.reopened())


@EVERY
@FEW
@given(steps=STEPS, choice=st.integers(0, 99), fatal=st.integers(1, 30), first=st.integers(0, 9))
def test_a_process_that_dies_at_any_write_leaves_it_to_the_next(
    kind: str, steps: list[Step], choice: int, fatal: int, first: int
) -> None:
    with kept(kind) as held:
        world = World(held.store)
        world.play(steps)
        one = world.sessions[0]
        known = [*one.view().recorded(), *one.pool]
        chosen = known[choice % len(known)].id
        gone, before = world.made_of(chosen), world.items()
        dies_at(held.store, fatal)
        with suppress(Died):
            one.forget(chosen)
        del one
        world.store = held.reopen()
        opened = list(world.reopened())
        turn = opened[first % len(opened)]
        turn.refresh()
        if fatal == 1:  # nothing was noted: it is as if nobody had asked
            assert world.items() == before
            Session.open("ana/one", store=world.store).forget(chosen)
        check_gone(held, world, gone, before)


@FEW
@given(steps=STEPS, more=STEPS, choice=st.integers(0, 99))
def test_what_is_written_later_and_names_it_is_a_tombstone(
    steps: list[Step], more: list[Step], choice: int
) -> None:
    with kept("memory") as held:
        world = World(held.store)
        world.play(steps)
        one = world.sessions[0]
        chosen = one.view().recorded()[choice % len(one.view().recorded())].id
        known = {item.id for items in world.items().values() for item in items}  # edits may be refused
        one.forget(chosen)
        late = [world.word(gone) for gone in world.made_of(chosen) & known]
        for item_id, word in late:
            extras = {SOURCES: sorted(world.sources[item_id])}
            run(one.aio.append(Message("assistant", f"of it {word}", id=item_id, extras=extras)))
            one.pool.keep(Note(f"of it {word}", key=word, extras=extras))
            with one.draft() as draft:
                draft.append(Message("assistant", f"of it {word}", extras=extras))
                assert word not in str(draft.view()[-1])
        with suppress(QuireError):
            world.play(more)
        assert not any(held.holding(word) for _, word in late)
