"""What is forgotten while calls are run does not come back with their results."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire import Agent, Session, tool
from quire.agent.builtin import recall_tools
from quire.errors import Forgotten
from quire.items import ToolCall
from quire.models import Answering, Scripted
from quire.providers import Rendered
from quire.stores import Entry, MemoryStore, Place
from tests.session.opened import kept_bytes
from tests.session.recalling import ASKED, PLAIN, QUOTING, SECRET, results

HERE = Place("ana", "here")
RECALL = ToolCall("c1", "recall", f'{{"question": "{ASKED}"}}')
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

    def __init__(self, step: int, *, is_here: bool) -> None:
        self.store = Counted(step, self.forget)
        self.home = Session.open("ana/here" if is_here else "ana/there", store=self.store)
        self.secret = self.home.user(SECRET)
        self.was_forgotten = False

    def forget(self) -> None:
        self.was_forgotten = True
        self.home.forget(self.secret.id)

    def play(self, calls: Sequence[ToolCall], template: Any = PLAIN) -> tuple[Session, list[str]]:
        """The turn, and what was asked of the model after it was forgotten."""
        here = Session.open("ana/here", store=self.store)
        sent: list[str] = []

        def heard(payload: object) -> None:
            if self.was_forgotten:
                sent.append(str(payload))

        model = Watched([list(calls), "I have it."], heard)
        agent = Agent(here, template, model=model, tools=[*recall_tools(), other])
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
    calls=st.sampled_from([[RECALL], [RECALL, OTHER], [OTHER, RECALL]]),
    is_here=st.booleans(),
    template=st.sampled_from([PLAIN, QUOTING]),
)
def test_whenever_it_is_forgotten_it_does_not_come_back(
    step: int, calls: list[ToolCall], is_here: bool, template: Any
) -> None:
    scene = Scene(step, is_here=is_here)
    here, sent = scene.play(calls, template)
    if not scene.was_forgotten:
        scene.forget()
        here.refresh()
    assert b"swordfish" not in kept_bytes(scene.store)
    assert not [payload for payload in sent if "swordfish" in payload]
    assert "swordfish" not in str(here.build(PLAIN).render("openai").payload)


@pytest.mark.parametrize("step", range(12))
def test_results_beside_what_was_recalled_stay(step: int) -> None:
    scene = Scene(step, is_here=False)
    here, _ = scene.play([OTHER, RECALL])
    assert not results(here) or INNOCENT in results(here)
