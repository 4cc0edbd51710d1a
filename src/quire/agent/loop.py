"""The loop of a turn: build the context, ask the model, record its response, run its calls, and again.

Every step is recorded before the next begins. An error, a limit, another message or a cancellation leaves a
history that every provider accepts.

A process may end between a call and its result. The record says whether the call was begun. One that was not
can still run; one that was runs again only if its tool is idempotent, and is marked as uncertain otherwise.
A call that no turn of an agent made, such as one of an imported history, may have run elsewhere: it waits for
a decision.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeVar

from quire.agent.answer import AnswerType
from quire.agent.calls import (
    FORGOTTEN,
    Batch,
    CallRecord,
    as_callers,
    is_callers,
    needs_person,
    uncertain,
    with_untrusted,
    write_result,
)
from quire.agent.limits import Meter
from quire.agent.reply import Recorded, Reply, Stop, Thoughts, Words
from quire.agent.speaker import Speaker, speaker_in
from quire.agent.turn import Emit, no_reader, shield, wait_ended
from quire.agent.window import (
    forget_narrowed,
    keep_narrowed,
    make_room,
    narrow,
    narrowed,
    release_pins,
)
from quire.context import Context, Template, untrusted_in
from quire.errors import (
    Conflict,
    Forgotten,
    InvalidValue,
    ModelFailed,
    OverBudget,
    TurnBusy,
    UnknownId,
    WindowExceeded,
    cut,
)
from quire.items import Item, Message, ToolCall, ToolResult
from quire.models import AnswerShape, Terms, shape_of
from quire.providers import Finish, Parsed, Rendered
from quire.session import (
    Cancelled,
    Outdated,
    Request,
    Requesting,
    Session,
    heard_request,
    hooks_of,
    not_run,
    turn_of,
)
from quire.stores.store import is_tombstone
from quire.stores.streams import OF

T = TypeVar("T")

logger = logging.getLogger("quire.agent")

Decisions = Mapping[str, bool | str | ToolResult]
"""Verdicts on calls that wait, by their ids: True runs a call, False or a reason refuses it.

A call that the caller runs is answered by its result.
"""

Question = Message | Decisions | None
"""How a turn begins: with a message, with decisions, or by retracting the last answer."""

_STOPS: Mapping[Finish, Stop] = {"length": "length", "refused": "refused"}
"""Why a turn ends, by why the model stopped; otherwise it is done."""

_ENDED = "the process ended while it ran"
_FOREIGN = "no agent of this conversation has run it"
_SUPERSEDED = "the user said something else first"

_MOST_SENT = 6
"""How often a request is sent if the model refuses it as too long."""

_ANSWER_TRIES = 3
"""How often an answer of a type is asked for."""


class Loop:
    """One turn, from its input to the reply. `items` are what it has recorded so far."""

    def __init__(
        self,
        session: Session,
        own: Speaker,
        meter: Meter,
        *,
        parameters: Mapping[str, Any] | None = None,
        answer: AnswerType | None = None,
    ) -> None:
        self.emit: Emit = no_reader
        self.take_steering: Callable[[], Sequence[Message]] = tuple
        self.meter = meter
        self.items: list[Item] = []
        self._session = session
        self._turn = turn_of(session)
        self._own = own
        self._speaker = own
        self._parameters = parameters
        self._answer = answer
        self._waiting: list[ToolCall] = []
        self._left: list[ToolCall] = []  # calls of an earlier turn that may still run
        self._foreign: set[str] = set()  # those of them that no turn of an agent made, by the ids of items
        self._decided: Mapping[str, bool | str] = {}  # by the ids of the items of these calls
        self._final: Message | None = None  # the answer, if the turn that is resumed had ended
        self._sent = 0  # tokens of the last request, by our count

    # The turn

    async def begin(self, question: Question) -> None:
        """Record the user's message, retract the last answer, or prepare to go on with decisions.

        `TurnBusy` if another process runs a call of the conversation.
        """
        self._turn.enter()
        if not self._turn.is_of_job:  # of a job, the first write finds out whether others went on
            await self._session.aio.refresh()
        self._find_speaker()
        if isinstance(question, Message):
            self._left = await self._retried(lambda: self._record_message(question))
        elif question is None:
            await self._session.aio.retract()
        else:
            self._left = await self._retried(lambda: self._runnable_calls(question))
            self._final = None if self._left else self._last_answer()
        self._find_speaker()

    async def finish(self) -> Reply:
        """Run the calls that were left, and ask the model until there is a reply."""
        if self._final is None:
            return await self._typed(await self._converse(self._left))
        self.items.append(self._final)
        await self.emit(Words(self._final.text))
        return await self._typed(self.reply("done"))

    async def close(self) -> None:
        """Close the open calls of a turn that ends early, except those that wait for a person."""
        calls = [*self._left, *(item for item in self.items if isinstance(item, ToolCall))]
        closing = asyncio.ensure_future(self._close_calls(calls, "the turn was broken off"))
        await wait_ended(closing)  # a second cancellation changes nothing
        try:
            closing.result()
        except Conflict:  # others keep writing: the next turn closes the calls
            logger.warning(
                "calls of a turn that was broken off in %s are left open", self._session.place.digest
            )

    async def store(self) -> None:
        """Store what is staged, unless that is due at the end of a job, and no hook is told before."""
        if not self._turn.is_of_job or hooks_of(self._session).all:
            await self._turn.flush()

    def reply(self, stop: Stop, waiting: Sequence[ToolCall] = ()) -> Reply:
        """The reply as it is now."""
        spent = self.meter.spent
        return Reply(tuple(self.items), stop, spent.usage, spent.cost, self._speaker.name, tuple(waiting))

    async def _converse(self, calls: Sequence[ToolCall] = ()) -> Reply:
        """Ask the model until it is done, a person is asked, or a limit is reached."""
        while True:
            if calls:
                stop = await self._execute(calls)
                if stop is not None:
                    return self.reply(stop, self._waiting)
            reached = self.meter.reached()
            if reached is not None:
                return self.reply(reached)
            try:
                parsed = await self._ask_model()
            except Cancelled:
                return self.reply("cancelled")
            calls = [item for item in parsed.items if isinstance(item, ToolCall)]
            is_over = not calls and parsed.finish != "paused"
            if is_over and (self.meter.reached() is not None or not await self._steer()):
                return self.reply(_STOPS.get(parsed.finish, "done"))

    async def _execute(self, calls: Sequence[ToolCall]) -> Stop | None:
        """Run calls; the reason to stop, if there is one."""
        batch = Batch(self._session, self._turn, self._speaker, self.emit, self.items)
        self._waiting = batch.waiting
        within = await batch.judge(calls, self._decided, self.meter.calls_left, self._foreign)
        self.meter.calls += len(within) - len(batch.refused)
        try:
            await batch.execute(within)
        except Cancelled:  # before any of them began
            await self._close_calls(within, "the job was cancelled")
            return "cancelled"
        is_beyond = len(within) < len(calls)
        if is_beyond:
            await self._close_calls(calls, "the limit of calls is reached")
        if await batch.still_wait():
            return "waiting"
        self._find_speaker()
        return "calls" if is_beyond else None

    def waiting(self) -> tuple[ToolCall, ...]:
        """The open calls that the caller or a person has to answer or approve."""
        self._find_speaker()
        tools, waiting = self._speaker.tools, list[ToolCall]()
        for call, progress in self._session.calls.standing():
            is_asked = progress == "foreign" and self._has_tool(call)
            is_asked |= progress == "waiting" and needs_person(tools.get(call.name), call)
            is_asked |= progress == "approved" and self._needs_answer(call)
            if is_asked and not is_tombstone(call):
                waiting.append(call)
        return tuple(waiting)

    def _find_speaker(self) -> None:
        if self._own.handoffs:
            self._speaker = speaker_in(self._session.view(), self._own)

    async def _typed(self, reply: Reply) -> Reply:
        """The reply with its value. An answer that is not of the type is asked for again, with its faults."""
        if self._answer is None:
            return reply
        for tries_left in reversed(range(_ANSWER_TRIES)):
            if reply.stop != "done":
                break
            try:
                return reply._replace(output=self._answer.read(reply.text))
            except InvalidValue as fault:
                if not tries_left:
                    name = self._speaker.model.name
                    words = f"{name} gave no {self._answer.name} in {_ANSWER_TRIES} tries"
                    raise ModelFailed(words) from fault
                words = f"That is not what was asked for: {fault}. Give it again, as JSON and nothing else."
                # Of the answer, and no word of the user: what led to the answer counts as before.
                of = [item.id for item in reply.items if isinstance(item, Message)]
                await self._session.aio.append(Message("user", words, extras={"correction": True, OF: of}))
                reply = await self._converse()
        return reply

    # Calls that an earlier turn left

    async def _record_message(self, message: Message) -> list[ToolCall]:
        """Record the user's message, and return the calls that wait for approval, or were given it.

        If a tool has asked the user something, the message is its result. Otherwise open calls are closed,
        except those that were approved.
        """
        left = await self._runnable_calls({})
        question = next((call for call in left if self._asks_user(call)), None)
        begun = {call.id for call, progress in self._session.calls.standing() if progress == "begun"}
        waiting: list[ToolCall] = []
        closed: dict[str, Item] = {}
        for call in left:
            if call is question:
                closed[call.id] = ToolResult(call.call_id, call.name, message.content, id=message.id)
            elif call.id in begun:
                closed[call.id] = uncertain(call, _ENDED)
            elif call.id in self._decided or (question is not None and self._may_wait(call)):
                waiting.append(call)
            elif call.id in self._foreign:
                closed[call.id] = uncertain(call, _FOREIGN)
            else:
                closed[call.id] = not_run(call, _SUPERSEDED)
        said = [message] if question is None else []
        calls = [call for call in left if call.id in closed]
        recorded = await self._turn.answer(calls, *closed.values(), *said, if_unclaimed=True, stages=True)
        self.items += [item for item in recorded if not isinstance(item, Message)]
        return waiting

    async def _runnable_calls(self, decisions: Decisions) -> list[ToolCall]:
        """The open calls that may still run, once decisions are checked and the other calls are closed.

        A result among the decisions closes its call.
        """
        left, closed, decided = list[ToolCall](), list[tuple[ToolCall, ToolResult]](), dict[str, bool | str]()
        standing = self._session.calls.standing()
        self._foreign = {call.id for call, progress in standing if progress == "foreign"}
        for call, progress in standing:
            if progress == "running":
                place = self._session.place
                raise TurnBusy(f"the call {cut(call.call_id)!r} of {place} is being run by another")
            tool, is_gone = self._speaker.tools.get(call.name), is_tombstone(call)
            may_run = progress != "begun" or (tool is not None and tool.is_idempotent)
            if progress in ("foreign", "approved") and not self._has_tool(call) and not is_gone:
                closed.append((call, uncertain(call, _FOREIGN)))  # nobody can decide it here
            elif may_run and not is_gone:
                left.append(call)
                if progress == "approved" and not self._needs_answer(call):
                    decided[call.id] = True
            else:
                closed.append(
                    (call, uncertain(call, _ENDED) if progress == "begun" else not_run(call, FORGOTTEN))
                )
        for name, decision in self._decisions_by_item(decisions, left).items():
            if isinstance(decision, ToolResult):
                call = next(call for call in left if call.id == name)
                left.remove(call)
                closed.append((call, decision))
            else:
                decided[name] = decision
        self._decided = decided
        for call, result in closed:
            self.items += await self._close_call(call, result)
        return left

    def _decisions_by_item(self, decisions: Decisions, left: Sequence[ToolCall]) -> Decisions:
        """Decisions by the ids of the items of calls; a person gives either id of a call.

        A result that is on record is passed over, so that one may be given again after a crash.
        """
        view = self._session.view()
        found: dict[str, bool | str | ToolResult] = {}
        for name, decision in decisions.items():
            if isinstance(decision, ToolResult) and view.log.find(decision.id, view.revision) is not None:
                continue
            pending = (call for call in view.pending() if name in (call.id, call.call_id))
            call = next(pending, None)
            if call is not None and is_tombstone(call):
                raise Forgotten(
                    f"the call {cut(name)!r} was forgotten: the next message or `resume` closes it"
                )
            if call is not None and not self._has_tool(call):
                raise InvalidValue(
                    f"the call {cut(name)!r} is of the tool {cut(call.name)!r}, which "
                    f"{cut(self._speaker.name)!r} does not have: an agent that has it decides it"
                )
            if call is None or call not in left:
                raise UnknownId(f"no call {cut(str(name))!r} waits for a decision")
            if self._asks_user(call):
                raise InvalidValue(f"the call {cut(name)!r} asks the user something: `ask` answers it")
            if is_callers(call) and decision is True:
                raise InvalidValue(f"the call {cut(name)!r} is run by the caller: its ToolResult decides it")
            if isinstance(decision, ToolResult):
                _check_result(decision, call)
            if call.id in found:
                raise InvalidValue(f"the call {cut(call.call_id)!r} is decided twice, by both of its ids")
            found[call.id] = decision
        return found

    def _needs_answer(self, call: ToolCall) -> bool:
        """Whether a call needs an answer: whatever a person has approved, it is not run here."""
        return is_callers(call) or self._asks_user(call)

    def _has_tool(self, call: ToolCall) -> bool:
        """Whether the speaker, or its caller, can run a call."""
        return is_callers(call) or call.name in self._speaker.tools or call.name in self._speaker.handoffs

    def _may_wait(self, call: ToolCall) -> bool:
        """Whether a call waits for a decision, and an answer to another leaves it waiting."""
        return call.id in self._foreign or needs_person(self._speaker.tools.get(call.name), call)

    def _asks_user(self, call: ToolCall) -> bool:
        tool = self._speaker.tools.get(call.name)
        return tool is not None and tool.asks_person and needs_person(tool, call)

    def _last_answer(self) -> Message | None:
        """The answer that the conversation ends with, if it is complete: then there is nothing to resume."""
        for item in reversed(self._session.view()):
            if isinstance(item, Message):
                return item if item.role == "assistant" and not item.interrupted else None
            if isinstance(item, ToolResult):
                return None
        raise InvalidValue("there is nothing to resume: the conversation is empty")

    # Closing calls

    async def _close_calls(self, calls: Sequence[ToolCall], why: str) -> None:
        """Give open calls a result that says why there is none.

        Calls that wait for a person, and those that another runs, stay open.
        """
        own = {call.id for call in calls} - {call.id for call in self._waiting}

        async def close() -> None:
            for call, progress in self._session.calls.standing():
                if call.id in own and progress != "running":
                    is_unknown = progress in ("begun", "foreign")
                    result = uncertain(call, why) if is_unknown else not_run(call, why)
                    self.items += await self._close_call(call, result)

        await self._retried(close)

    async def _close_call(self, call: ToolCall, result: ToolResult) -> tuple[Item, ...]:
        return await write_result(partial(self._turn.answer, [call], if_unclaimed=True), CallRecord(result))

    async def _retried(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do work on open calls again for as long as others answer or begin some of them meanwhile."""
        while True:
            before = self._session.calls.standing()
            try:
                return await work()
            except Conflict:
                if self._session.calls.standing() == before:
                    raise

    # Requests

    async def _ask_model(self) -> Parsed:
        """Ask the model, and record its response. If it refuses the request as too long, it is sent less."""
        full = self._speaker.template
        template, exceeded = narrowed(full), None
        tries_left = _MOST_SENT
        while True:
            self._sent, before, tries_left = 0, len(self.items), tries_left - 1
            try:
                parsed = await self._request(template)
            except Outdated:  # nothing was sent
                tries_left += 1
                self.meter.requests -= 1
            except WindowExceeded as refusal:
                smaller = narrow(full, self._sent, refusal) if self._sent and tries_left else None
                if smaller is None:
                    raise
                template, exceeded = smaller, refusal
                calls = [item for item in self.items[before:] if isinstance(item, ToolCall)]
                await self._close_calls(calls, "the response broke off before its end")
            except OverBudget:
                if exceeded is not None:
                    raise exceeded from None  # it cannot be made smaller
                if not forget_narrowed(full):
                    raise
                template = full
            else:
                if exceeded is not None and not exceeded.in_bytes:
                    keep_narrowed(full, template, self._speaker.model)
                return parsed

    async def _steer(self) -> bool:
        """Record the messages that came meanwhile for the next request; whether there were any."""
        said = await self._turn.steer(self.take_steering())
        self.items += said
        return bool(said)

    async def _request(self, template: Template) -> Parsed:
        if self._turn.is_cancelled:
            raise Cancelled("the job was cancelled before its next request")
        await self._turn.check_claims()
        await self._steer()
        model = self._speaker.model
        self.meter.check_prices(model)
        self.meter.requests += 1
        context, rendered = await self._rendered(template)
        # A local model writes to the end of its context unless it is given a limit.
        is_local = getattr(model, "context", None) is not None
        terms = Terms(
            output=None if self._answer is None else self._answer.schema,
            max_tokens=template.budget.reserve or None if is_local else None,
        )
        request = Requesting(self._session.place, model.wire, model.name, context.items, context.tools)
        sent = self._turn.request_of(context, rendered)
        assert sent is not None
        async with heard_request(hooks_of(self._session), request) as answered:
            answering = model.send(rendered, stream=self.emit is not no_reader, **terms)
            try:
                await answering.on_send(partial(self._turn.keep, sent), terms)
                async for delta in answering.deltas():
                    if delta.kind != "call":  # calls are emitted when they run
                        await self.emit(Words(delta.text) if delta.kind == "text" else Thoughts(delta.text))
            except Outdated:
                await answering.close()  # what a model says that was never asked is no answer
                raise
            except BaseException:
                came = await answering.close()  # by the task that reads the stream
                answered(came)
                if came.items or came.usage is not None:
                    await shield(self._record(came._replace(error=None), sent))  # the error itself is raised
                raise
            answered(answering.parsed)
        recorded = await shield(self._record(answering.parsed, sent))
        if self.emit is not no_reader:
            await self._turn.flush()  # a reader is told of what is stored
        await self.emit(Recorded(recorded.items))
        return recorded

    async def _record(self, parsed: Parsed, sent: Request) -> Parsed:
        if self._speaker.callers:
            parsed = parsed._replace(items=as_callers(parsed.items, self._speaker.callers))
        if sent.sent is not None:
            shown, tools = sent.sent.context.items, self._speaker.tools
            found = cache(partial(untrusted_in, shown))
            parsed = parsed._replace(items=with_untrusted(parsed.items, tools, found))
        recorded = await self._turn.record(parsed, sent)
        self.items += recorded.items
        return recorded

    # Contexts

    async def preview(self) -> Context:
        """The context that the model would see now."""
        await self._session.aio.refresh()
        self._find_speaker()
        return await self._build(narrowed(self._speaker.template))

    async def _rendered(self, template: Template) -> tuple[Context, Rendered]:
        """The context and the request. It is built again if something was forgotten since it was built."""
        model = self._speaker.model
        while True:
            context = await self._fitted(template)
            with suppress(Forgotten):
                caches = getattr(model, "caches", True)
                render = partial(context.render, model.wire, model=model.name, cache=caches)
                rendered = await self._turn.render(context, render)
                self._sent = context.receipt.tokens
                return context, rendered

    async def _fitted(self, template: Template) -> Context:
        """The context. If new tool results make it too large, some of them are moved to the pool.

        If there are none, the pins of the model are taken back.
        """
        while True:
            try:
                return await self._build(template)
            except OverBudget as over:
                speaker, session = self._speaker, self._session
                has_moved = await make_room(session, speaker.template, speaker.model, over.over)
                if not has_moved and not await release_pins(session):
                    raise

    async def _build(self, template: Template) -> Context:
        model, shape = self._speaker.model, AnswerShape()
        tools = self._speaker.shown_definitions(self._session.view())
        if self._answer is not None and self._answer.schema is not None:
            shape = shape_of(model, self._answer.schema, tools)
            template = self._answer.in_template(template, shape)
        return await self._turn.build(
            template, tools=tools, model=model.name, parameters=self._parameters, output=shape.sent
        )


def _check_result(result: ToolResult, call: ToolCall) -> None:
    """Refuse a result that a caller gives for a call that it does not run, or for another call."""
    if not is_callers(call):
        raise InvalidValue(
            f"the call {cut(call.call_id)!r} is run by the agent: True, False or a reason decides it"
        )
    if (result.call_id, result.name) != (call.call_id, call.name):
        raise InvalidValue(f"the result for the call {cut(call.call_id)!r} is of another call or tool")
