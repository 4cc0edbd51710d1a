"""The agent: it answers in one conversation, with a model, tools, and a template of what the model sees."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypedDict, Unpack, cast, get_args

from quire.agent.answer import AnswerType
from quire.agent.limits import Limits, Meter
from quire.agent.loop import Decisions, Loop, Question
from quire.agent.reply import Delta, Reply
from quire.agent.side_effects import mark_acted
from quire.agent.speaker import Approver, speaker_of, with_caller_tools
from quire.agent.tools import Tool
from quire.agent.turn import Emit, TurnTask, WhileBusy, begin_turn, no_reader, shield, steer_turn
from quire.compactors import Compactor
from quire.context import Context, Template
from quire.errors import InvalidValue, WrongType, cut
from quire.guesses import hint_attributes, hint_options
from quire.items import Content, Message, Part, ToolCall, ToolResult
from quire.models import AnyModel, model_of
from quire.session import Replied, Replying, Session, check_names, checked_type, hooks_of, log_of, wait_for
from quire.stores import MemoryStore
from quire.stores.threads import COMPUTING
from quire.tokens import Definition, named

Input = str | Message | Part | Sequence[Part]
"""A question: a text, parts of content, or a message of the user."""


class Asking(TypedDict, total=False):
    """The options of a question."""

    output: Any
    """A type, or a JSON schema: the answer is a value of it."""
    limits: Limits | None
    """Limits in place of the agent's."""
    parameters: Mapping[str, Any] | None
    """Values for the sections of the template."""
    tools: Sequence[Definition]
    """Definitions of tools that the caller runs: a call of one ends the turn with the stop "waiting"."""
    while_busy: WhileBusy
    """What a message does to a turn that is running: "interrupt" it, "queue", "refuse", or "steer" it."""


def message_of(input: Input, verb: str = "Agent.ask") -> Message:
    """The input as a user message; errors name the public method."""
    if not isinstance(input, Message):
        content = tuple(input) if isinstance(input, list) else input
        if content in ("", ()):
            raise InvalidValue(f"{verb}: the input must not be empty")
        try:
            return Message("user", cast(Content, content))
        except WrongType:
            kind = type(input).__name__
            raise WrongType(f"{verb}: the input must be a text, parts or a Message, not {kind}") from None
    if input.role != "user":
        raise InvalidValue(f"{verb}: the role of the message must be user, not {input.role}")
    return input


@hint_attributes
class Agent:
    """Runs a model with its tools in one conversation, and records each step in its session.

    Without a session, the conversation is kept in memory. Without a template the model sees the instructions
    and the history, within its window.
    """

    @hint_options
    def __init__(
        self,
        session: Session | None = None,
        *,
        model: AnyModel | str,
        template: Template | None = None,
        tools: Iterable[Any] = (),
        name: str = "agent",
        instructions: str = "",
        compactor: Compactor | None = None,
        limits: Limits | None = None,
        approver: Approver | None = None,
        handoffs: "Sequence[Agent]" = (),
    ) -> None:
        if isinstance(session, str):
            raise WrongType(
                f"Agent({cut(session)!r}): the first argument must be a Session, as in "
                "Agent(Session.open(address, store=…)); instructions are given as Agent(instructions=…)"
            )
        session = Session.open(store=MemoryStore()) if session is None else session
        self.session = checked_type(session, Session, "Agent(...): the first argument must be a Session")
        self.model = model_of(model, "Agent(model=…)")
        checked_type(limits, Limits | None, "Agent(limits=…) must be a Limits(requests=10)")
        self.limits = limits or Limits()
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
        """Send a message of the user, and return the reply.

        A turn that still runs in the conversation is interrupted, unless `while_busy` says otherwise. If a
        tool has asked the user something, the message is the answer to it. See `Asking` for the options.
        """
        message = message_of(input)
        is_steering = while_busy_of(asking, "interrupt") == "steer"
        reply = await steer_turn(self.session, message) if is_steering else None
        return reply or await self._reply("Agent.ask", message, asking)

    def stream(self, input: Input, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """`ask` as a stream of deltas. It waits for a slow reader; closing it stops the turn."""
        while_busy_of(asking, "interrupt", is_streamed=True)
        return self._deltas("Agent.stream", message_of(input, "Agent.stream"), asking)

    async def resume(self, **asking: Unpack[Asking]) -> Reply:
        """Continue a turn that a crash, a limit or an error ended; `TurnBusy` while it still runs."""
        return await self._reply("Agent.resume", {}, asking)

    def resume_stream(self, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """`resume` as a stream of deltas."""
        return self._deltas("Agent.resume_stream", {}, asking)

    async def regenerate(self, **asking: Unpack[Asking]) -> Reply:
        """Hide the last answer, and answer again; a turn that still runs is interrupted.

        The calls of the turn and their results stay, so that no tool runs again because of it. `CallPending`
        while a call waits for a person. The old answer stays on the record, and `session.undo` shows it.
        """
        return await self._reply("Agent.regenerate", None, asking)

    def regenerate_stream(self, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """`regenerate` as a stream of deltas."""
        return self._deltas("Agent.regenerate_stream", None, asking)

    def waiting(self) -> tuple[ToolCall, ...]:
        """The calls that wait for a person or the caller, also those of other processes and earlier runs.

        `decide` approves or refuses them, and takes the results of tools that the caller runs; `ask` answers
        the question of a tool.
        """
        self.session.refresh()
        return self._new_loop("Agent.waiting", {}).waiting()

    async def decide(self, decisions: Decisions, **asking: Unpack[Asking]) -> Reply:
        """Approve, refuse or answer waiting calls, by `call_id` or `id`, and continue the turn.

        `True` runs a call; `False`, or a text with the reason, refuses it. A `ToolResult` answers a call that
        the caller runs; a result that is already recorded is ignored.
        """
        return await self._reply("Agent.decide", _checked_decisions(decisions, "Agent.decide"), asking)

    def decide_stream(self, decisions: Decisions, **asking: Unpack[Asking]) -> AsyncGenerator[Delta, None]:
        """`decide` as a stream of deltas."""
        checked = _checked_decisions(decisions, "Agent.decide_stream")
        return self._deltas("Agent.decide_stream", checked, asking)

    async def preview(self, *, parameters: Mapping[str, Any] | None = None) -> Context:
        """The context that the model would see now. Nothing is recorded or sent."""
        return await self._new_loop("Agent.preview", {"parameters": parameters}).preview()

    async def interrupt(self) -> None:
        """Stop the turn that runs in the conversation, and wait until it is recorded."""
        turn = log_of(self.session).running_turn
        if turn is not None:
            await turn.interrupt()

    def ask_sync(self, input: Input, **asking: Unpack[Asking]) -> Reply:
        """`ask` for code that cannot await, such as scripts and notebooks."""
        return wait_for(self.ask(input, **asking))

    def regenerate_sync(self, **asking: Unpack[Asking]) -> Reply:
        """`regenerate` for code that cannot await."""
        return wait_for(self.regenerate(**asking))

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

    async def _reply(self, verb: str, question: Question, asking: Asking) -> Reply:
        loop = await self._prepared_loop(verb, asking)
        turn = await begin_turn(self.session, _busy_mode(question, asking))
        return await turn.start(self._answer(turn, loop, question))

    async def _deltas(self, verb: str, question: Question, asking: Asking) -> AsyncGenerator[Delta, None]:
        loop = await self._prepared_loop(verb, asking)
        turn = await begin_turn(self.session, _busy_mode(question, asking))
        async with aclosing(turn.stream(lambda emit: self._answer(turn, loop, question, emit))) as deltas:
            async for delta in deltas:
                yield delta

    async def _answer(self, turn: TurnTask, loop: Loop, question: Question, emit: Emit = no_reader) -> Reply:
        """Run one turn between its hooks."""
        reply, fault = None, None
        await loop.store()  # claims the job, so that hooks are not called for a turn of another worker
        async with hooks_of(self.session).around(Replying(self.session.place, self.name)) as fire_after:
            try:
                reply = await _run_turn(turn, loop, question, emit)
                return reply
            except BaseException as error:
                fault = type(error).__name__
                raise
            finally:
                usage, stop = loop.meter.spent.usage, None if reply is None else reply.stop
                await fire_after(Replied(self.session.place, self.name, usage, stop, fault))

    async def _prepared_loop(self, verb: str, asking: Asking) -> Loop:
        """The loop of a question; with tools it is made in a thread, because their schemas may be long."""
        if asking.get("tools"):
            return await COMPUTING.do(self._new_loop, verb, asking)
        return self._new_loop(verb, asking)

    def _new_loop(self, verb: str, asking: Asking) -> Loop:
        check_names(asking, Asking, verb)
        parameters = asking.get("parameters")
        checked_type(parameters, Mapping | None, f"{verb}: parameters must be a mapping")
        limits, output = asking.get("limits"), asking.get("output")
        checked_type(limits, Limits | None, f"{verb}: limits must be a Limits(requests=10)")
        try:
            answer = None if output is None else AnswerType(output)
        except WrongType as fault:
            raise WrongType(f"{verb}: the output must be a type; {fault}") from None
        meter = Meter(limits or self.limits, self.session)
        tools = asking.get("tools")
        speaker = with_caller_tools(self.speaker, tools, verb) if tools else self.speaker
        return Loop(self.session, speaker, meter, parameters=parameters, answer=answer)


def while_busy_of(asking: Asking, default: WhileBusy, *, is_streamed: bool = False) -> WhileBusy:
    """The option `while_busy`, checked. A steering message is part of a turn, so it has no other options."""
    mode = asking.get("while_busy", default)
    if mode not in get_args(WhileBusy):
        raise InvalidValue(f"while_busy must be one of {', '.join(get_args(WhileBusy))}, not {mode!r:.80}")
    if mode == "steer" and is_streamed:
        raise InvalidValue("a message that steers a turn cannot be streamed: use `ask` or `send`")
    options = ", ".join(name for name, value in asking.items() if name != "while_busy" and value is not None)
    if mode == "steer" and options:
        raise InvalidValue(f"a message that steers a turn is answered as the turn is: leave out {options}")
    return mode


def _busy_mode(question: Question, asking: Asking) -> WhileBusy:
    """What a question does to a running turn. Decisions never interrupt one."""
    mode = while_busy_of(asking, "interrupt")
    if mode == "steer" and not isinstance(question, Message):
        raise InvalidValue("only a message may steer a turn")
    return "refuse" if isinstance(question, Mapping) else mode


async def _run_turn(turn: TurnTask, loop: Loop, question: Question, emit: Emit) -> Reply:
    """Record the question, run the loop, and leave a valid history whatever ends it."""
    loop.emit, loop.take_steering = emit, turn.take_steering
    with loop.meter:
        try:
            await loop.begin(question)  # if this fails, open calls stay as they were
        except BaseException:
            await shield(loop.store())
            raise
        turn.has_begun.set()
        timeout = asyncio.timeout(loop.meter.seconds_left)
        try:
            async with timeout:
                if turn.is_interrupted:  # before it had begun
                    raise asyncio.CancelledError
                reply = await loop.finish()
                await shield(loop.store())
                return reply
        except BaseException as fault:
            await loop.close()
            await shield(loop.store())
            if isinstance(fault, TimeoutError) and timeout.expired():
                return loop.reply("seconds")
            if isinstance(fault, asyncio.CancelledError) and turn.is_interrupted:
                return loop.reply("interrupted")
            if any(isinstance(item, ToolCall) for item in loop.items):
                mark_acted(fault)
            raise


def _checked_decisions(decisions: Any, verb: str) -> Decisions:
    if not isinstance(decisions, Mapping):
        kind = type(decisions).__name__
        raise WrongType(f"{verb}: decisions must map call ids to True, False or a reason, not be {kind}")
    for decision in decisions.values():  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(decision, bool | str | ToolResult):
            kind = type(cast(object, decision)).__name__
            raise WrongType(f"{verb}: a decision must be True, False or a reason, not {kind}")
    return cast(Decisions, decisions)
