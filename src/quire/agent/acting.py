"""Running the calls of one reply: those that a person lets be run, and each only once that is noted."""

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from inspect import isawaitable

from quire.agent.calling import kept, refused_by_hooks, told_to_hooks, traced
from quire.agent.closing import (
    FORGOTTEN,
    handed_over,
    is_forgotten,
    not_run,
    uncertain,
    with_those_behind,
)
from quire.agent.in_order import InOrder, Keep
from quire.agent.making_room import room_for
from quire.agent.run import Tell
from quire.agent.speaker import Approver as Approver, Speaker
from quire.agent.tools import Outcome, Room, run_or_stop
from quire.errors import Conflict, TurnBusy, WrongType, cut
from quire.items import Item, ToolCall, ToolResult
from quire.session import Session


class Acting:
    """The calls of one question, and those among them that a person has to answer or approve."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.waiting: list[ToolCall] = []
        self.decided: dict[str, bool | str] = {}
        """What a person said of calls, by the ids of their items."""
        self.is_second = False
        """Whether another was first with the calls that were to be run: then all of them are left alone."""
        self._refused: dict[str, str] = {}
        self._handed: Speaker | None = None
        self._begun: set[str] = set()  # calls that somebody began before, and that are run again

    @property
    def waiting_ids(self) -> set[str]:
        """Those that wait for a person, by the ids of their items."""
        return {call.id for call in self.waiting}

    @property
    def unrun(self) -> dict[str, str]:
        """Why calls that nobody began before are not run, by the ids of their items."""
        return {call: why for call, why in self._refused.items() if call not in self._begun}

    async def judged(self, calls: Sequence[ToolCall], speaker: Speaker, most: int) -> list[ToolCall]:
        """The calls that are within so many, now that it is known which of them may be run.

        One that is refused is not one of so many. Nobody is asked of those beyond.
        """
        self._begun = {call.id for call, standing in self._session.steps.standing() if standing == "begun"}
        within: list[ToolCall] = []
        for call in calls:
            if most == 0 and self.decided.get(call.id, True) is True:
                continue
            verdict = await self._verdict(call, speaker)
            if isinstance(verdict, str):
                self._refused[call.id] = verdict
            else:
                most -= 1
            if verdict is None:
                self.waiting.append(call)
            within.append(call)
        return within

    async def act(
        self, calls: Sequence[ToolCall], speaker: Speaker, tell: Tell, recorded: list[Item]
    ) -> None:
        """Run calls that are judged, and record what they give; those that wait for a person stay so.

        What is on the record is added to `recorded`, also where this is broken off.
        """
        self.waiting = with_those_behind(calls, self.waiting_ids)
        ready = [call for call in calls if call.id not in self.waiting_ids]
        room = room_for(speaker, len(ready))
        async with self._own(ready):
            await InOrder(self._session, ready, tell, recorded).run(
                lambda call, keep: self._do(call, keep, speaker, self._refused.get(call.id), room),
                first=self._refused,
            )

    async def is_last(self, recorded: Sequence[Item]) -> bool:
        """Whether others have answered all that waited here, and what is `recorded` came after that.

        Of two who decide calls of one reply at the same moment, each finds the other's waiting. Who comes to
        the record last goes on for both.
        """
        await self._session.aio.refresh()
        view = self._session.view()
        pending = {call.id for call in view.pending()}
        waiting = [call for call in self.waiting if call.id in pending]
        last = next((item.id for item in reversed(view) if isinstance(item, ToolResult)), None)
        is_last = not waiting and last in {item.id for item in recorded}
        if waiting or is_last:
            self.waiting = waiting
        return is_last

    def is_refused(self, call: ToolCall) -> bool:
        """Whether a call that is judged is not to be run."""
        return call.id in self._refused

    def hand_to(self, speaker: Speaker) -> None:
        """Let another go on after the calls that are run next."""
        self._handed = speaker

    def next_speaker(self, speaker: Speaker) -> Speaker:
        """Who goes on: the one it was handed to, if it was."""
        handed, self._handed = self._handed, None
        return handed or speaker

    @asynccontextmanager
    async def _own(self, calls: Sequence[ToolCall]) -> AsyncGenerator[None, None]:
        """Let nobody else run or close calls meanwhile, also those that are refused."""
        is_own = False
        try:
            async with self._session.steps.running(*calls):
                is_own = True
                yield
        except (TurnBusy, Conflict):
            self.is_second = not is_own
            raise

    async def _verdict(self, call: ToolCall, speaker: Speaker) -> bool | str | None:
        """Whether a call may be run: yes, no with the reason, or nobody has said yet."""
        if is_forgotten(self._session, call):
            return FORGOTTEN  # what is left of it is not to be judged
        tool = speaker.tools.get(call.name)
        given = self.decided.get(call.id)
        if given is None:
            if tool is None:
                return True  # it is answered in words
            if tool.asks_person:
                return None
            if not tool.needs_approval(call.arguments):
                return True
            asked = None if speaker.approver is None else speaker.approver(call)
            given = checked_verdict(await asked if isawaitable(asked) else asked)
        return (given or "it was not approved") if given is not None else None

    async def _do(
        self, call: ToolCall, keep: Keep, speaker: Speaker, why_not: str | None, room: Room
    ) -> ToolResult:
        """Run one call, and have what it gave kept, also where it was done when it was told to stop."""
        tool = speaker.tools.get(call.name)
        words = await self._unrun(call, speaker) if why_not is None else [not_run(call, why_not)]
        if is_forgotten(self._session, call):  # also while somebody was asked of it
            words = [(uncertain if call.id in self._begun else not_run)(call, FORGOTTEN)]
        if words or tool is None:
            result = await keep(_as_it_is(words))
            if call.name in speaker.handoffs and not result.is_error:
                self._handed = speaker.handoffs[call.name].speaker
            return result
        with traced(self._session, call) as sources:
            outcome, cancelled = await run_or_stop(tool, call.arguments, session=self._session, room=room)
        result = await keep(self._told(call, outcome, sources))
        if cancelled is not None:
            raise cancelled
        return result

    async def _unrun(self, call: ToolCall, speaker: Speaker) -> list[Item]:
        """What is recorded for a call that no tool is run for, if it is none."""
        if call.name in speaker.handoffs:
            return handed_over(call, speaker.name, speaker.handoffs[call.name].speaker.name)
        if call.name not in speaker.tools:
            known = ", ".join(sorted(speaker.tools)) or "none at all"
            return [not_run(call, f"there is no tool {cut(call.name)!r}; there is {known}")]
        why_not = await refused_by_hooks(self._session, call)
        return [] if why_not is None else [not_run(call, why_not)]

    async def _told(self, call: ToolCall, outcome: Outcome, sources: Collection[str]) -> list[Item]:
        """What is recorded for a call that was run: its result, and the notes that came with it."""
        await told_to_hooks(self._session, call, outcome)
        return kept(call, outcome, sources)


async def _as_it_is(items: Sequence[Item]) -> Sequence[Item]:
    return items


def checked_verdict(given: bool | str | None) -> bool | str | None:
    """What an approver said of a call, if it was anything."""
    return None if given is None else checked_decision(given)


def checked_decision(given: bool | str) -> bool | str:
    """What somebody decided of a call. Nothing but a plain yes lets it be run."""
    if isinstance(given, bool | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        return given
    kind = type(given).__name__
    raise WrongType(f"a call is approved by True, and refused by False or a reason, not by a {kind}")
