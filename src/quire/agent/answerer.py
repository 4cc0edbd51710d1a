"""Who answers in a conversation: what is asked of it, and how that is begun, broken off and tidied up."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack

from quire.agent.acting import Acting, Approver
from quire.agent.answer_types import AnswerType, answer_type
from quire.agent.asking import Asking, Input, message_of
from quire.agent.closing import close_calls
from quire.agent.correcting import as_value
from quire.agent.limits import Limits, Tally
from quire.agent.loop import Loop
from quire.agent.recovering import check_decisions, heard, last_answer, left_behind
from quire.agent.reply import Delta, Reply
from quire.agent.run import Run, Tell, nobody
from quire.agent.speaker import Speaks, speaker_now, speaker_of
from quire.agent.tools import Tool
from quire.compactors import Compactor
from quire.context import Context, Template
from quire.errors import WrongType
from quire.items import Item, Message, ToolCall
from quire.models import AnyModel, Model
from quire.session import Session
from quire.stores import MemoryStore
from quire.tokens.numbers import named

Opening = Callable[[Loop, Acting], Awaitable[Sequence[ToolCall] | None]]
"""Puts on the record what a turn begins with; the calls to be run first, or none where all is done."""


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
        self.session, told = _session_and_words(session)
        self.model = Model(model) if isinstance(model, str) else model
        self.limits = limits or Limits()
        self.speaker = speaker_of(
            named(name, "the name of an agent"), self.model, template, told or instructions, tools, handoffs
        )
        self._approver = approver
        self._run = Run()
        if compactor is not None:
            self.session.use(compactor, self.model)

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

        A question that is still on its way is interrupted. Where a tool has asked the user something, this is
        the answer to it. For the rest see `Asking`.
        """
        message, kind = message_of(input), answer_type(asking.get("output"))
        await self._alone()
        return await self._run.finish(self._answered(_hearing(message), nobody, kind, asking))

    async def stream(self, input: Input, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """What `ask` does, told as it comes; who listens slowly is waited for, and who stops, stops it."""
        message, kind = message_of(input), answer_type(asking.get("output"))
        await self._alone()
        told = self._run.tell(lambda tell: self._answered(_hearing(message), tell, kind, asking))
        try:
            async for delta in told:
                yield delta
        finally:
            await told.aclose()

    async def resume(self, **asking: Unpack[Asking]) -> Reply:
        """Go on where a turn was left: by a crash, a limit or an error."""
        return await self.decide({}, **asking)

    async def decide(self, decisions: Mapping[str, bool | str], **asking: Unpack[Asking]) -> Reply:
        """Say of calls that wait for it whether they may be run, by their ids; then go on.

        `False` refuses, and a text refuses with the reason.
        """
        kind = answer_type(asking.get("output"))
        await self._alone()
        return await self._run.finish(self._answered(_deciding(decisions), nobody, kind, asking))

    async def preview(self, *, parameters: Mapping[str, Any] | None = None) -> Context:
        """What the model would see now; nothing is recorded or sent."""
        loop = self._loop(Acting(self.session, None), Limits(), nobody, parameters, None)
        return await loop.build(loop.speaker.template)

    async def interrupt(self) -> None:
        """Stop what is on its way, and wait until it is on the record."""
        await self._run.interrupt()

    async def _alone(self) -> None:
        """Make sure that nothing else is on its way, and that what comes next is the only one."""
        while not self._run.is_over:
            await self._run.interrupt()
        self._run = Run()

    async def _answered(self, opening: Opening, tell: Tell, kind: AnswerType | None, asking: Asking) -> Reply:
        run, limits = self._run, asking.get("limits") or self.limits
        acting = Acting(self.session, self._approver)
        loop = self._loop(acting, limits, tell, asking.get("parameters"), kind)
        time = asyncio.timeout(limits.seconds)
        try:
            async with time:
                calls = await opening(loop, acting)
                run.has_begun.set()
                if calls is None:
                    return loop.reply("done")
                return await as_value(loop, kind, await loop.run(calls))
        except BaseException as fault:
            if run.has_begun.is_set():  # else what waited before still does
                loop.items += await asyncio.shield(self._tidy(acting))
            if isinstance(fault, TimeoutError) and time.expired():
                return loop.reply("seconds")
            if isinstance(fault, asyncio.CancelledError) and run.is_interrupted:
                _go_on()
                return loop.reply("interrupted")
            raise

    def _loop(
        self,
        acting: Acting,
        limits: Limits,
        tell: Tell,
        parameters: Mapping[str, Any] | None,
        kind: AnswerType | None,
    ) -> Loop:
        speaker = speaker_now(self.session.view(), self.speaker)
        return Loop(
            self.session,
            speaker,
            acting,
            Tally(limits, self.session),
            tell,
            parameters=parameters,
            kind=kind,
        )

    async def _tidy(self, acting: Acting) -> tuple[Item, ...]:
        """Leave no call without a result, but those that a person is still to answer."""
        keep = {call.call_id for call in acting.waiting}
        return await close_calls(self.session, "the turn was broken off", keep)


def _hearing(message: Message) -> Opening:
    async def opening(loop: Loop, acting: Acting) -> Sequence[ToolCall]:
        return await heard(loop.session, loop.speaker, message)

    return opening


def _deciding(decisions: Mapping[str, bool | str]) -> Opening:
    async def opening(loop: Loop, acting: Acting) -> Sequence[ToolCall] | None:
        left = await left_behind(loop.session, loop.speaker)
        check_decisions(left, decisions)
        acting.decided.update(decisions)
        answer = None if left else last_answer(loop.session.view())
        if answer is not None:
            loop.items.append(answer)
            return None
        return left

    return opening


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
