"""The agent: it answers in one conversation, with a model, tools, and a template of what the model sees."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict, Unpack, cast
from weakref import ref

from quire.agent.answer import AnswerType
from quire.agent.calls import mark_acted
from quire.agent.handoff import Approver, Speaks, calling_speaker, current_speaker, speaker_of
from quire.agent.limits import Limits, Tally, limits_or
from quire.agent.loop import Loop
from quire.agent.reply import Delta, Reply
from quire.agent.resume import (
    check_decisions,
    close_calls,
    decisions_by_item,
    last_answer,
    open_calls,
    record_message,
)
from quire.agent.run import Emit, Run, begin_turn, no_reader, wait_ended
from quire.agent.tools import Tool
from quire.agent.window import narrowed
from quire.compactors import Compactor
from quire.context import Context, Template
from quire.errors import Conflict, InvalidValue, WrongType, cut
from quire.items import Content, Message, Part, ToolCall
from quire.models import AnyModel, model_of
from quire.session import Session, wait_for
from quire.stores import MemoryStore
from quire.tokens import named

logger = logging.getLogger("quire.agent")

Input = str | Message | Part | Sequence[Part]
"""A question: a text, parts of content, or a message of the user."""

Decisions = Mapping[str, bool | str]
"""Verdicts on calls that wait, by their ids: True runs a call, False or a reason refuses it."""


class Asking(TypedDict, total=False):
    """The options of a question.

    `output` is a type: the answer is a value of it. `limits` replace those of the agent. `parameters` are for
    the sections of the template.
    """

    output: Any
    limits: Limits | None
    parameters: Mapping[str, Any] | None


def message_of(input: Input, verb: str = "Agent.ask") -> Message:
    """A question as a message of the user; errors name the public verb."""
    if not isinstance(input, Message):
        content = tuple(input) if isinstance(input, list) else input
        if content in ("", ()):
            raise InvalidValue(f"{verb}: the input is empty")
        try:
            return Message("user", cast(Content, content))
        except WrongType:
            kind = type(input).__name__
            raise WrongType(f"{verb}: the input is a text, parts or a Message, not {kind}") from None
    if input.role != "user":
        raise InvalidValue(f"{verb}: the role of the message is user, not {input.role}")
    if not input.content:
        raise InvalidValue(f"{verb}: the input is empty")
    return input


class _Options(NamedTuple):
    """The options of a question, checked."""

    answer: AnswerType | None
    limits: Limits
    parameters: Mapping[str, Any] | None


Opening = Callable[[Loop], Awaitable[Sequence[ToolCall] | Message]]
"""Records how a turn begins; the calls to run first, or the answer if the turn had ended already."""


class Agent:
    """Answers in one conversation. All that is said and done is kept in its session.

    The first argument is a session, or the instructions of an agent whose conversation is kept in memory.
    Without a template the model sees the instructions and the history, within its window.
    """

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
        if isinstance(session, str):
            instructions = session or instructions
            session = Session.open(store=MemoryStore())
        if not isinstance(session, Session):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(session).__name__
            raise WrongType(f"Agent: the first argument is a Session or instructions, not {kind}")
        self.session = session
        self.model = model_of(model, "an agent")
        self.limits = limits_or(Limits(), limits, "Agent")
        self.speaker = speaker_of(
            named(name, "the name of an agent"), self.model, template, instructions, tools, handoffs, approver
        )
        if compactor is not None:
            session.compaction.use(compactor, self.model)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.session.place}, {self.model.name}>"

    @property
    def name(self) -> str:
        """The name of the agent."""
        return self.speaker.name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools of the agent."""
        return tuple(self.speaker.tools.values())

    # Verbs

    async def ask(self, input: Input, **asking: Unpack[Asking]) -> Reply:
        """The reply to a message of the user.

        A turn that still runs in the conversation is interrupted. If a tool has asked the user something, the
        message is the answer to it. See `Asking` for the options.
        """
        opening = _asking(message_of(input))
        return await self._finish(opening, self._options("Agent.ask", asking), interrupts=True)

    def stream(self, input: Input, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """`ask` as a stream of deltas. It waits for a slow reader; closing it stops the turn."""
        opening = _asking(message_of(input, "Agent.stream"))
        return self._stream(opening, self._options("Agent.stream", asking), interrupts=True)

    async def resume(self, **asking: Unpack[Asking]) -> Reply:
        """Go on with a turn that a crash, a limit or an error ended; `TurnBusy` while it still runs."""
        return await self._finish(_resuming({}), self._options("Agent.resume", asking), interrupts=False)

    def resume_stream(self, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """`resume` as a stream of deltas."""
        options = self._options("Agent.resume_stream", asking)
        return self._stream(_resuming({}), options, interrupts=False)

    async def decide(self, decisions: Decisions, **asking: Unpack[Asking]) -> Reply:
        """Approve or refuse calls that wait for it, by their ids, and go on."""
        opening = _resuming(_checked_decisions(decisions, "Agent.decide"))
        return await self._finish(opening, self._options("Agent.decide", asking), interrupts=False)

    def decide_stream(self, decisions: Decisions, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """`decide` as a stream of deltas."""
        opening = _resuming(_checked_decisions(decisions, "Agent.decide_stream"))
        return self._stream(opening, self._options("Agent.decide_stream", asking), interrupts=False)

    async def preview(self, *, parameters: Mapping[str, Any] | None = None) -> Context:
        """The context that the model would see now. Nothing is recorded or sent."""
        options = self._options("Agent.preview", {"parameters": parameters})
        loop = self._loop(options)
        return await loop.build(narrowed(loop.speaker.template, loop.speaker.model))

    async def interrupt(self) -> None:
        """Stop the turn that runs in the conversation, and wait until it is recorded."""
        at_work = self.session.steps.at_work
        if at_work is not None:
            await at_work.interrupt()

    def ask_sync(self, input: Input, **asking: Unpack[Asking]) -> Reply:
        """`ask` for code that cannot await, such as scripts and notebooks."""
        return wait_for(self.ask(input, **asking))

    def resume_sync(self, **asking: Unpack[Asking]) -> Reply:
        """`resume` for code that cannot await."""
        return wait_for(self.resume(**asking))

    def decide_sync(self, decisions: Decisions, **asking: Unpack[Asking]) -> Reply:
        """`decide` for code that cannot await."""
        return wait_for(self.decide(decisions, **asking))

    def preview_sync(self, *, parameters: Mapping[str, Any] | None = None) -> Context:
        """`preview` for code that cannot await."""
        return wait_for(self.preview(parameters=parameters))

    # Turns

    def _options(self, verb: str, asking: Asking) -> _Options:
        for name in asking:
            if name not in Asking.__annotations__:
                known = ", ".join(Asking.__annotations__)
                raise InvalidValue(f"{verb} has no option {cut(name)!r}; its options are {known}")
        parameters = asking.get("parameters")
        if parameters is not None and not isinstance(parameters, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"{verb}: parameters are a mapping, not {type(parameters).__name__}")
        limits, output = limits_or(self.limits, asking.get("limits"), verb), asking.get("output")
        try:
            return _Options(None if output is None else AnswerType(output), limits, parameters)
        except WrongType as fault:
            raise WrongType(f"{verb}: the output is a type; {fault}") from None

    async def _finish(self, opening: Opening, options: _Options, *, interrupts: bool) -> Reply:
        run = await begin_turn(self.session, interrupts=interrupts)
        return await run.start(self._turn(run, opening, options, no_reader))

    def _stream(
        self, opening: Opening, options: _Options, *, interrupts: bool
    ) -> AsyncGenerator[Delta, None]:
        async def deltas() -> AsyncGenerator[Delta, None]:
            run = await begin_turn(self.session, interrupts=interrupts, is_left=lambda: reader() is None)
            stream = run.stream(lambda emit: self._turn(run, opening, options, emit))
            try:
                async for delta in stream:
                    yield delta
            finally:
                await stream.aclose()

        generator = deltas()
        reader = ref(generator)  # a generator that is dropped is closed some time later
        return generator

    def _loop(self, options: _Options, emit: Emit = no_reader) -> Loop:
        own = self.speaker
        return Loop(
            self.session,
            calling_speaker(self.session.view(), own) if own.handoffs else own,
            Tally(options.limits, self.session),
            emit,
            parameters=options.parameters,
            answer=options.answer,
        )

    async def _turn(self, run: Run, opening: Opening, options: _Options, emit: Emit) -> Reply:
        """One turn: its opening, the loop, and whatever ends it."""
        loop = self._loop(options, emit)
        with loop.tally:
            begun = await opening(loop)  # if this fails, open calls stay as they were
            calls = () if isinstance(begun, Message) else begun
            if self.speaker.handoffs:
                # Open calls are run by the agent that made them; then the current one goes on.
                speaker = current_speaker(self.session.view(), self.speaker)
                loop.calls.handed_to = speaker if calls else None
                loop.speaker = loop.speaker if calls else speaker
            run.has_begun.set()
            time = asyncio.timeout(loop.tally.seconds_left)
            try:
                async with time:
                    run.check_interrupted()
                    return await (loop.repeat(begun) if isinstance(begun, Message) else loop.run(begun))
            except BaseException as fault:
                await self._close_calls(loop, calls)
                if isinstance(fault, TimeoutError) and time.expired():
                    return loop.reply("seconds")
                if isinstance(fault, asyncio.CancelledError) and run.is_interrupted:
                    return loop.reply("interrupted")
                if any(isinstance(item, ToolCall) for item in loop.items):
                    mark_acted(fault)
                raise

    async def _close_calls(self, loop: Loop, first: Sequence[ToolCall]) -> None:
        """Close the open calls of a turn that ends early, except those that wait for a person."""
        calls = [*first, *(item for item in loop.items if isinstance(item, ToolCall))]
        keep = {call.id for call in loop.calls.waiting}
        why = "the turn was broken off"
        closing = asyncio.ensure_future(close_calls(self.session, calls, why, keep, loop.calls.refused))
        await wait_ended(closing)  # a second cancellation changes nothing
        try:
            loop.items += closing.result()
        except Conflict:  # others keep writing: the next turn closes the calls
            logger.warning("calls of a turn that was broken off in %s are left open", self.session.place)


def _asking(message: Message) -> Opening:
    async def opening(loop: Loop) -> Sequence[ToolCall]:
        return await record_message(loop.session, loop.speaker, message)

    return opening


def _resuming(decisions: Decisions) -> Opening:
    async def opening(loop: Loop) -> Sequence[ToolCall] | Message:
        if decisions:
            await loop.session.aio.refresh()
            check_decisions(loop.session, loop.speaker, decisions)
        left = await open_calls(loop.session, loop.speaker)
        loop.calls.decided.update(decisions_by_item(left, decisions, loop.speaker))
        return left or last_answer(loop.session.view()) or left

    return opening


def _checked_decisions(decisions: Any, verb: str) -> Decisions:
    if not isinstance(decisions, Mapping):
        kind = type(decisions).__name__
        raise WrongType(f"{verb}: decisions are a mapping of call ids to True, False or a reason, not {kind}")
    for decision in decisions.values():  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(decision, bool | str):
            kind = type(cast(object, decision)).__name__
            raise WrongType(f"{verb}: True approves a call, False or a reason refuses it, not {kind}")
    return cast(Decisions, decisions)
