"""Who answers in a conversation: what is asked of it, and how that is begun, broken off and tidied up."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any, Unpack

from quire.agent.acted import having_acted
from quire.agent.acting import Acting
from quire.agent.answer_types import AnswerType, answer_type
from quire.agent.asking import Asking, Input, message_of
from quire.agent.closing import close_calls
from quire.agent.correcting import as_value
from quire.agent.limits import Limits, Tally, limits_or
from quire.agent.loop import Loop
from quire.agent.narrowing import as_found
from quire.agent.opening import Decisions, Opening, deciding, hearing
from quire.agent.reply import Delta, Reply
from quire.agent.run import Listener, Run, Tell, nobody, turn_of
from quire.agent.speaker import Approver, Floor, Speaks, speaker_of
from quire.agent.tools import Tool
from quire.agent.unbroken import ended
from quire.compactors import Compactor
from quire.context import Context, Template
from quire.errors import Conflict, WrongType
from quire.items import ToolCall
from quire.models import AnyModel, model_of
from quire.session import Session
from quire.stores import MemoryStore
from quire.tokens import named

logger = logging.getLogger("quire.agent")


class Answerer:
    """Answers what is asked of it, one question at a time, and leaves a history that is whole."""

    def __init__(
        self,
        session: Session | str,
        template: Template | None = None,
        *,
        model: AnyModel | str,
        tools: Iterable[Any] = (),
        name: str = "agent",
        instructions: str = "",
        compactor: Compactor | None = None,
        limits: Limits | None = None,
        approver: Approver | None = None,
        handoffs: Sequence[Speaks] = (),
    ) -> None:
        given, told = _session_and_words(session)
        self.model = model_of(model, "an agent")
        self.limits = limits_or(Limits(), limits)
        self.speaker = speaker_of(
            named(name, "the name of an agent"),
            self.model,
            template,
            told or instructions,
            tools,
            handoffs,
            approver,
        )
        self._compactor = compactor
        self._begin_in(given)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.session.place}, {self.model.name}>"

    @property
    def name(self) -> str:
        """Its name."""
        return self.speaker.name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Its tools."""
        return tuple(self.speaker.tools.values())

    async def ask(self, input: Input, **asking: Unpack[Asking]) -> Reply:
        """The answer to what the user says.

        A question that is still on its way in the conversation is interrupted, whoever was asked it. Where a
        tool has asked the user something, this is the answer to it. For the rest see `Asking`.
        """
        return await self._finish(hearing(message_of(input)), asking)

    def stream(self, input: Input, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """What `ask` does, told as it comes; who listens slowly is waited for, and who stops, stops it."""
        return self._tell(hearing(message_of(input)), asking)

    async def resume(self, **asking: Unpack[Asking]) -> Reply:
        """Go on where a turn was left: by a crash, a limit or an error. `TurnBusy` while it is on its way."""
        return await self.decide({}, **asking)

    def resume_stream(self, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """What `resume` does, told as it comes."""
        return self.decide_stream({}, **asking)

    async def decide(self, decisions: Decisions, **asking: Unpack[Asking]) -> Reply:
        """Say of calls that wait for it whether they may be run, by their ids; then go on.

        `False` refuses, and a text refuses with the reason.
        """
        return await self._finish(deciding(decisions), asking, interrupts=False)

    def decide_stream(self, decisions: Decisions, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """What `decide` does, told as it comes."""
        return self._tell(deciding(decisions), asking, interrupts=False)

    async def preview(self, *, parameters: Mapping[str, Any] | None = None) -> Context:
        """What the model would see now; nothing is recorded or sent."""
        loop = self._loop(Acting(self.session), Limits(), nobody, parameters, None)
        return await loop.build(as_found(loop.speaker).template)

    async def interrupt(self) -> None:
        """Stop what is on its way in the conversation, and wait until it is on the record."""
        at_work = self.session.steps.at_work
        if at_work is not None:
            await at_work.interrupt()

    def _begin_in(self, session: Session) -> None:
        """Answer in a conversation."""
        self.session = session
        self._floor = Floor()
        if self._compactor is not None:
            session.compaction.use(self._compactor, self.model)

    async def _finish(self, opening: Opening, asking: Asking, *, interrupts: bool = True) -> Reply:
        kind, limits = answer_type(asking.get("output")), limits_or(self.limits, asking.get("limits"))
        run = await turn_of(self.session, interrupts=interrupts)
        return await run.finish(self._answered(run, opening, nobody, kind, limits, asking))

    def _tell(
        self, opening: Opening, asking: Asking, *, interrupts: bool = True
    ) -> AsyncGenerator[Delta, None]:
        listener = Listener()
        return listener.holds(self._told(opening, asking, interrupts, listener))

    async def _told(
        self, opening: Opening, asking: Asking, interrupts: bool, listener: Listener
    ) -> AsyncGenerator[Delta, None]:
        kind, limits = answer_type(asking.get("output")), limits_or(self.limits, asking.get("limits"))
        run = await turn_of(self.session, interrupts=interrupts, listener=listener)
        told = run.tell(lambda tell: self._answered(run, opening, tell, kind, limits, asking))
        try:
            async for delta in told:
                yield delta
        finally:
            await told.aclose()

    async def _answered(
        self,
        run: Run,
        opening: Opening,
        tell: Tell,
        kind: AnswerType | None,
        limits: Limits,
        asking: Asking,
    ) -> Reply:
        acting = Acting(self.session)
        loop = self._loop(acting, limits, tell, asking.get("parameters"), kind)
        with loop.tally:
            calls = await self._opened(opening, loop, acting)  # where it fails, what waited before still does
            run.has_begun.set()
            # What the user said is on the record by now, however long that took; it counts all the same.
            time = asyncio.timeout(loop.tally.seconds_left)
            try:
                async with time:
                    run.go_on()
                    reply = await loop.again() if calls is None else await loop.run(calls)
                    return await as_value(loop, kind, reply)
            except BaseException as fault:
                await self._tidy(loop, acting, calls or ())
                if isinstance(fault, TimeoutError) and time.expired():
                    return loop.reply("seconds")
                if isinstance(fault, asyncio.CancelledError) and run.is_interrupted:
                    _go_on()
                    return loop.reply("interrupted")
                if any(isinstance(item, ToolCall) for item in loop.items):
                    having_acted(fault)
                raise

    async def _opened(self, opening: Opening, loop: Loop, acting: Acting) -> Sequence[ToolCall] | None:
        """Put on the record what a turn begins with; who made the calls of it may have handed over since."""
        calls = await opening(loop, acting)
        speaker = self._floor.speaker(self.session.view(), self.speaker)
        if not calls:
            loop.speaker = speaker
        elif speaker is not loop.speaker:
            acting.hand_to(speaker)
        return calls

    def _loop(
        self,
        acting: Acting,
        limits: Limits,
        tell: Tell,
        parameters: Mapping[str, Any] | None,
        kind: AnswerType | None,
    ) -> Loop:
        return Loop(
            self.session,
            self._floor.caller(self.session.view(), self.speaker),
            acting,
            Tally(limits, self.session),
            tell,
            parameters=parameters,
            kind=kind,
        )

    async def _tidy(self, loop: Loop, acting: Acting, first: Sequence[ToolCall]) -> None:
        """Leave no call of the turn without a result, but those that a person is still to answer.

        Whoever breaks off meanwhile what is broken off already waits, and changes nothing about how it ended.
        """
        if acting.is_second:
            return
        calls = [*first, *(item for item in loop.items if isinstance(item, ToolCall))]
        closing = asyncio.ensure_future(
            close_calls(self.session, calls, "the turn was broken off", acting.waiting_ids, acting.unrun)
        )
        await ended(closing)
        try:
            loop.items += closing.result()
        except Conflict:  # others write all the time: who asks next finds what is left
            logger.warning("calls of a turn that was broken off in %s are left", self.session.place)


def _go_on() -> None:
    """Take back a cancellation that was an interruption: the task ends well."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


def _session_and_words(given: Session | str) -> tuple[Session, str]:
    if isinstance(given, str):
        return Session.open(store=MemoryStore()), given
    if not isinstance(given, Session):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"an agent has a session or instructions, not {type(given).__name__}")
    return given, ""
