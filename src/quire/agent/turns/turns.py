"""Turns in a queue, for agents whose next step is decided by code and not by a model."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, cast

from quire.agent.tools import Tool, tools_of
from quire.agent.turns.events import Beginning, Paused, Queued, Queueing, Resumed, TurnHooks
from quire.agent.turns.playing import Player
from quire.agent.turns.running import Pair, Running
from quire.agent.turns.saving import mapping_at
from quire.agent.turns.shelf import InSession, Keeps, Shelf, each_of
from quire.agent.turns.turn import Turn
from quire.errors import Damaged, InvalidValue, TurnBusy, WrongType, cut
from quire.items import new_id
from quire.session import Called, Calling, Hook, Session

logger = logging.getLogger("quire.agent")


class Turns:
    """Turns of some tools, run one after the other in the order they were put.

    What they give is kept before it is handed on: notes with a key in the pool, others in the transcript or
    the window; a turn that a tool gives is put at the end. Without a session there is a `Shelf`.
    """

    def __init__(
        self,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        kept_in: Session | Keeps | None = None,
        *,
        hooks: TurnHooks | Iterable[Hook | str] = (),
        waiting: Iterable[Turn] = (),
    ) -> None:
        self.tools = tools_of(tools).tools
        self.kept_in: Keeps = _keeping(kept_in)
        self.hooks = hooks if isinstance(hooks, TurnHooks) else TurnHooks(hooks)
        self.uncertain: list[Turn] = []
        """Turns that were under way when they were saved: nobody knows what they did."""
        self._waiting = deque(self._checked(turn) for turn in waiting)
        self._current: Turn | None = None
        self._at_work: object | None = None
        self._closing: asyncio.Task[None] | None = None
        self._going: asyncio.Event | None = None  # there only while paused

    def __repr__(self) -> str:
        return f"<Turns: {len(self._waiting)} waiting, of {len(self.tools)} tools>"

    @property
    def waiting(self) -> tuple[Turn, ...]:
        """The turns that are still to come."""
        return tuple(self._waiting)

    @property
    def current(self) -> Turn | None:
        """The turn that is under way."""
        return self._current if self._current is not None and self._current.is_running else None

    @property
    def is_running(self) -> bool:
        """Whether somebody loops over `run`."""
        return self._at_work is not None

    @property
    def is_paused(self) -> bool:
        """Whether the next turn waits for `resume`."""
        return self._going is not None

    async def put(self, turn: Turn) -> None:
        """Put a turn at the end."""
        checked = self._checked(turn)
        await self.hooks.hear(Queueing(checked))
        self._waiting.append(checked)
        await self.hooks.hear(Queued(checked))

    def run(self) -> Running[Turn]:
        """Run turns until none is left: each turn with each value it gives, as soon as that is kept.

        An error of a turn ends it; the turns after it stay, and the next `run` goes on with them. So does one
        after the loop was left.
        """
        key = object()
        return Running(self._run(key), partial(self._leave, key))

    def pause(self) -> None:
        """Let the next turn wait; the one that is under way goes on."""
        self._going = self._going or asyncio.Event()

    def resume(self) -> None:
        """End a pause."""
        going, self._going = self._going, None
        if going is not None:
            going.set()

    def branch(self, name: str | None = None) -> "Turns":
        """Turns of the same tools that go their own way, with copies of those that wait.

        Of a session it is a fork, under this name.
        """
        kept_in = self.kept_in.branch(name or f"branch-{new_id()}")
        copies = [turn.copy() for turn in self._waiting]
        return Turns(self.tools.values(), kept_in, hooks=self.hooks.all, waiting=copies)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; tools by name, and the notes of a shelf. A session keeps its own."""
        return {
            "waiting": [turn.to_dict() for turn in self._waiting],
            "current": None if self.current is None else self.current.to_dict(),
            "uncertain": [turn.to_dict() for turn in self.uncertain],
            "is_paused": self.is_paused,
            "kept": self.kept_in.to_dict() if isinstance(self.kept_in, Shelf) else None,
        }

    @classmethod
    def from_dict(
        cls,
        data: object,
        tools: Iterable[Tool | Callable[..., Any]],
        kept_in: Session | Keeps | None = None,
        *,
        hooks: TurnHooks | Iterable[Hook | str] = (),
    ) -> "Turns":
        """The turns that were written as these values, of the tools they had; hooks are given again too.

        One that was under way comes first again if its tool is idempotent; otherwise it is `uncertain`, and
        yours to put again.
        """
        fields = mapping_at(data, "$")
        if kept_in is None and fields.get("kept") is None:
            raise InvalidValue("these turns were kept in a session: say in which")
        kept_in = Shelf.from_dict(fields["kept"]) if kept_in is None else kept_in
        turns = cls(tools, kept_in, hooks=hooks, waiting=_turns_in(fields, "waiting"))
        turns.uncertain = _turns_in(fields, "uncertain")
        if fields.get("current") is not None:
            turns._take_back(Turn.from_dict(fields["current"]))
        if fields.get("is_paused"):
            turns.pause()
        return turns

    def _take_back(self, turn: Turn) -> None:
        if self.tools[self._checked(turn).tool_name].is_idempotent:
            self._waiting.appendleft(turn)
        else:
            self.uncertain.append(turn)

    def _checked(self, turn: Turn) -> Turn:
        if not isinstance(turn, Turn):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a turn is taken here, not {type(turn).__name__}")
        tool = self.tools.get(turn.tool_name)
        if tool is None or turn.given_tool not in (None, tool):
            known = ", ".join(self.tools) or "none at all"
            raise InvalidValue(f"{cut(turn.tool_name)!r} is none of the tools here; there is {known}")
        if tool.asks_person:
            raise InvalidValue(f"a person answers {cut(tool.name)!r}, and it is not run: it has no turns")
        if turn.is_running:
            raise TurnBusy(f"the turn of {cut(turn.tool_name)!r} is under way")
        return turn

    async def _run(self, key: object) -> AsyncGenerator[Pair, None]:
        if self._closing is not None:
            await asyncio.wait((self._closing,))  # of a loop that was left before
        if self._at_work is not None:
            raise TurnBusy("these turns are being run already")
        self._at_work = key
        try:
            while self._waiting:
                await self._wait_while_paused()
                turn = await self._next()
                async with aclosing(self._values(turn)) as values:
                    async for value in values:
                        yield turn, value
        finally:
            if self._at_work is key:
                self._at_work = None

    async def _wait_while_paused(self) -> None:
        while (going := self._going) is not None:
            await self.hooks.hear(Paused())
            await going.wait()
            await self.hooks.hear(Resumed())

    async def _next(self) -> Turn:
        """The next turn, taken out of the queue once nobody refuses it."""
        turn = self._checked(self._waiting[0])
        await self.hooks.hear(Beginning(turn))
        session = self.kept_in.session
        if session is not None:
            await session.hooks.fire(Calling(session.place, turn.tool_name, turn.arguments))
        self._waiting.popleft()
        return turn

    async def _values(self, turn: Turn) -> AsyncGenerator[Any, None]:
        session = self.kept_in.session
        pool = self.kept_in.pool if session is None else None  # of a session it is copied only when asked for
        player = Player(self.hooks, self._take, session=session, pool=pool)
        self._current = turn
        try:
            async with aclosing(player.play(turn, self.tools[turn.tool_name])) as values:
                async for value in values:
                    yield value
        finally:
            self._current = None
            if session is not None:
                called = Called(session.place, turn.tool_name, turn.arguments, turn.output, turn.fault)
                await session.hooks.fire(called)

    async def _take(self, value: Any) -> None:
        await self.kept_in.keep(value)
        for one in each_of(value):
            if isinstance(one, Turn):
                await self.put(one)

    def _leave(self, key: object, pairs: AsyncGenerator[Pair, None]) -> None:
        """Somebody left the loop half way: the turn that is under way is stopped."""
        if self._at_work is not key:
            return
        self._at_work = None
        with suppress(RuntimeError):  # without a loop nothing can be under way
            self._closing = asyncio.get_running_loop().create_task(_closed(pairs))


async def _closed(pairs: AsyncGenerator[Pair, None]) -> None:
    try:
        await pairs.aclose()
    except Exception as fault:  # nobody is there to hear of it
        logger.warning("a turn that was left ended in %s", type(fault).__name__)


def _keeping(kept_in: Session | Keeps | None) -> Keeps:
    if kept_in is None:
        return Shelf()
    return InSession(kept_in) if isinstance(kept_in, Session) else kept_in


def _turns_in(fields: Mapping[str, Any], name: str) -> list[Turn]:
    listed = fields.get(name)
    if not isinstance(listed, list):
        raise Damaged("expected a list of turns", f"$.{name}")
    return [Turn.from_dict(one) for one in cast(list[object], listed)]
