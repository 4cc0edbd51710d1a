"""What is forgotten while calls are run does not come back with their results."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire import Agent, Session, tool
from quire.agent.builtin import recall_tools
from quire.errors import Forgotten
from quire.items import Message, Note, ToolCall, ToolResult
from quire.models import Answering, Scripted
from quire.providers import Rendered
from quire.stores import Entry, MemoryStore, Place
from tests.session.recalling import ASKED, PLAIN, QUOTING, SECRET, results
from tests.session.test_forgetting import kept_bytes

HERE = Place("ana", "here")
RECALL = ToolCall("c1", "recall", f'{{"question": "{ASKED}"}}')
LOOK_UP = ToolCall("c1", "look_up")
NOTE_DOWN = ToolCall("c1", "note_down")
OTHER = ToolCall("c2", "other")
INNOCENT = "The harbour is closed on Sundays."


class Counted(MemoryStore):
    """Something happens once, just before so many appends to a place were made."""

    def __init__(self, left: int, happens: Callable[[], None]) -> None:
        super().__init__()
        self._left, self._happens = left, happens
        self.place: Place | None = None

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        if place == self.place:
            self._left -= 1
            if self._left == -1:
                self._happens()
        return super().append(place, entries, expected=expected)


class Beside(MemoryStore):
    """The same entries, as another process has them open."""

    def __init__(self, other: MemoryStore) -> None:
        super().__init__()
        self._rows, self._changed = other._rows, other._changed  # pyright: ignore[reportPrivateUsage]


def said_first(session: Session) -> str:
    first = session.view()[0]
    assert isinstance(first, Message)
    return first.text


@tool
async def look_up(session: Session) -> str:
    """Look up."""
    return f"The record says: {said_first(session)}"


@tool
async def note_down(session: Session) -> Note:
    """Note it down."""
    return Note(key="record", description="a record", content=f"The record says: {said_first(session)}")


@tool
async def other() -> str:
    """Do another thing, for longer."""
    for _ in range(20):
        await asyncio.sleep(0)
    return INNOCENT


class Watched(Scripted):
    """Says what is sent to it."""

    def __init__(self, replies: Sequence[Any], heard: Callable[[object], None]) -> None:
        super().__init__(replies)
        self._heard = heard

    def send(self, rendered: Rendered, **options: Any) -> Answering:
        self._heard(rendered.payload)
        return super().send(rendered, **options)


class Scene:
    """A secret, here or in another conversation, and a turn in which it is forgotten at some step."""

    def __init__(self, step: int, *, is_here: bool, by_another: bool) -> None:
        self.store = Counted(step, self.forget)
        self.home = Session.open("ana/here" if is_here else "ana/there", store=self.store)
        self.by_another = by_another
        self.secret = self.home.user(SECRET)
        self.was_forgotten = False

    def forget(self) -> None:
        self.was_forgotten = True
        store = Beside(self.store) if self.by_another else self.store
        Session.open(str(self.home.place), store=store).forget(self.secret.id)

    def play(self, calls: Sequence[ToolCall], template: Any = PLAIN) -> tuple[Session, list[str]]:
        """The turn, and what was asked of the model after it was forgotten."""
        here = Session.open("ana/here", store=self.store)
        sent: list[str] = []

        def heard(payload: object) -> None:
            if self.was_forgotten:
                sent.append(str(payload))

        tools = [*recall_tools(), look_up, note_down, other]
        agent = Agent(here, template, model=Watched([list(calls), "I have it."], heard), tools=tools)
        self.store.place = HERE
        try:
            asyncio.run(agent.ask(ASKED))
        except Forgotten:  # a context that was built before is not sent
            pass
        finally:
            self.store.place = None
        return here, sent


@pytest.mark.laws
@given(
    step=st.integers(0, 14),
    calls=st.sampled_from([RECALL, LOOK_UP, NOTE_DOWN]).flatmap(
        lambda call: st.sampled_from([[call], [call, OTHER], [OTHER, call]])
    ),
    is_here=st.booleans(),
    by_another=st.booleans(),
    template=st.sampled_from([PLAIN, QUOTING]),
)
def test_whenever_it_is_forgotten_it_does_not_come_back(
    step: int, calls: list[ToolCall], is_here: bool, by_another: bool, template: Any
) -> None:
    is_here = is_here or RECALL not in calls
    scene = Scene(step, is_here=is_here, by_another=by_another)
    here, sent = scene.play(calls, template)
    if not scene.was_forgotten:
        scene.forget()
        here.refresh()
    assert b"swordfish" not in kept_bytes(scene.store)
    assert not [payload for payload in sent if "swordfish" in payload]
    assert "swordfish" not in str(here.build(PLAIN).render("openai").payload)


@pytest.mark.parametrize("by_another", [False, True])
@pytest.mark.parametrize("step", range(12))
def test_results_that_tell_nothing_of_it_stay(step: int, by_another: bool) -> None:
    scene = Scene(step, is_here=True, by_another=by_another)
    here, _ = scene.play([OTHER, LOOK_UP])
    assert not results(here) or INNOCENT in results(here)


@pytest.mark.parametrize("step", range(12))
def test_also_those_beside_what_was_recalled_from_elsewhere(step: int) -> None:
    scene = Scene(step, is_here=False, by_another=True)
    here, _ = scene.play([OTHER, RECALL])
    assert not results(here) or INNOCENT in results(here)


def test_a_message_of_a_conversation_below_that_is_forgotten_before_its_answer_is_recorded() -> None:
    store = MemoryStore()
    here = Session.open("ana/here", store=store)
    here.user("Ask them.")

    @tool
    async def ask_them() -> str:
        """Ask them."""
        child = here.child("them")
        said = child.assistant(SECRET)
        assert isinstance(said, Message)
        child.forget(said.id)
        return f"They say: {SECRET}"

    agent = Agent(here, PLAIN, model=Scripted([[ToolCall("c1", "ask_them")], "Good."]), tools=[ask_them])
    asyncio.run(agent.ask("Go."))
    assert b"swordfish" not in kept_bytes(store)


def test_what_is_held_is_recorded_as_it_is_held_by_then() -> None:
    async def steps() -> Session:
        here = Session.open("ana/here", store=MemoryStore())
        secret = here.user(SECRET)
        first, second = here.call("a"), here.call("b")
        await here.steps.begin(first, second)
        result, note = ToolResult(second.call_id, "b", f"It is: {SECRET}"), Note(f"It is: {SECRET}")
        await here.steps.hold(result, note)
        here.forget(secret.id)  # whoever answers has both in memory still
        await here.steps.answer([first, second], ToolResult(first.call_id, "a", "done"), result, note)
        return here

    here = asyncio.run(steps())
    assert results(here) == ["done", "[forgotten]"]
    assert b"swordfish" not in kept_bytes(here._ledger.store)  # type: ignore[arg-type]  # pyright: ignore
