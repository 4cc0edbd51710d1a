"""Room for what tools give: each output has a share of the window, and what is too much is moved out.

The whole of it is in the pool either way, under the handle that is shown in its place.
"""

from functools import partial

from quire.agent.speaker import Speaker
from quire.agent.tools import Room, ends
from quire.compactors import Offload, Room as HistoryRoom
from quire.items import ToolResult
from quire.session import Session
from quire.state import View, protected_positions
from quire.tokens import Counter, counter_for

_ONE = 4
"""Of what a request may take, one output has one part in so many."""

_TOGETHER = 2
"""And all outputs of one reply."""

_SMALLEST = 64
"""Tokens that an output has, however many there are: what says where it is kept takes as much."""

_MOST_BYTES = 4
"""Of a character; no counter finds more tokens in a text than it has bytes."""


def room_for(speaker: Speaker, calls: int) -> Room:
    """The room for the output of each of some calls of one reply."""
    available = speaker.template.budget.available
    tokens = min(available // _ONE, available // (_TOGETHER * max(calls, 1)))
    return partial(_characters, _counter(speaker), max(tokens, _SMALLEST))


async def make_room(session: Session, speaker: Speaker, over: int) -> bool:
    """Move results out that must be shown, until so many tokens are free; whether any could be."""
    view, counter = session.view(), _counter(speaker)
    stays = _staying(view, counter)
    newest = sum(isinstance(item, ToolResult) for item in view)
    left = HistoryRoom(max(stays - over - over // 8, 0), counter)
    moving = Offload(larger_than=_SMALLEST, keep=newest, ceiling=0)
    return bool(await session.aio.compaction.run(by=moving, room=left))


def _characters(counter: Counter, tokens: int, text: str, most: int) -> int:
    """How many characters of a text are so many tokens at most, as it is cut: its beginning and its end."""
    most = min(most, len(text))
    while most > tokens // _MOST_BYTES:
        counted = counter.count(ToolResult("call", "tool", "".join(ends(text, most))))
        if counted <= tokens:
            break
        most = most * tokens * 9 // (counted * 10)
    return most


def _staying(view: View, counter: Counter) -> int:
    """The tokens of what a history cannot be cut below."""
    runs = ((position, view.run_at(position)) for position in set(protected_positions(view)))
    shown = (run.stand_in or view.log.item(position) for position, run in runs if run is not None)
    return counter.total(sum(map(counter.count, shown)))


def _counter(speaker: Speaker) -> Counter:
    return counter_for(speaker.template.model or speaker.model.name)
