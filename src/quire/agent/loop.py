"""The loop of a turn: build the context, ask the model, record its response, run its calls, and repeat.

Every step is recorded before the next begins. An error, a limit, another message or a cancellation leaves a
history that every provider accepts.

A process may crash between a call and its result. A call that had not begun can still run. A call that had
begun runs again only if its tool is idempotent; otherwise its result is uncertain. A foreign call, which no
turn of an agent made (an imported history may have some), may have run elsewhere: it waits for a decision.
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
    EndedCall,
    is_run_by_caller,
    list_untrusted_in_calls,
    mark_caller_calls,
    needs_person,
    uncertain,
    write_result,
)
from quire.agent.limits import Meter
from quire.agent.reply import Recorded, Reply, Stop, TextDelta, ThinkingDelta
from quire.agent.speaker import Speaker, speaker_in
from quire.agent.turn import Emit, no_reader, shield, wait_ended
from quire.agent.window import forget_narrowed, keep_narrowed, make_room, narrow, narrowed, release_pins
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
    hooked_request,
    hooks_of,
    not_run,
    turn_of,
)
from quire.stores.store import is_tombstone
from quire.stores.streams import SOURCES

T = TypeVar("T")

logger = logging.getLogger("quire.agent")

Decisions = Mapping[str, bool | str | ToolResult]
"""Decisions on waiting calls, by their ids: True runs a call, False or a reason refuses it.

A `ToolResult` answers a call that the caller runs.
"""

Question = Message | Decisions | None
"""How a turn begins: with a message, with decisions, or by retracting the last answer."""

_STOPS: Mapping[Finish, Stop] = {"length": "length", "refused": "refused"}
"""Why a turn ends, by why the model stopped; for any other finish the turn is done."""

_PROCESS_ENDED = "the process ended while it ran"
_NOT_RUN_HERE = "no agent of this conversation has run it"
_SUPERSEDED = "the user said something else first"

_MAX_SENDS = 6
"""How often a request is sent at most, if the model refuses it as too long."""

_MAX_ANSWERS = 3
"""How often a typed answer is asked for at most."""


class Loop:
    """One turn, from its input to the reply. `items` are the items that it has recorded so far."""

    def __init__(
        self,
        session: Session,
        own_speaker: Speaker,
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
        self._own_speaker = own_speaker
        self._speaker = own_speaker
        self._parameters = parameters
        self._answer = answer
        self._waiting: list[ToolCall] = []
        self._open_calls: list[ToolCall] = []  # calls of an earlier turn that may still run
        self._foreign: set[str] = set()  # the item ids of foreign calls among them
        self._verdicts: Mapping[str, bool | str] = {}  # of a person, by the item ids of calls
        self._final_answer: Message | None = None  # of a resumed turn that had ended
        self._sent_tokens = 0  # of the last request, by our count

    # The turn

    async def begin(self, question: Question) -> None:
        """Record the user's message, retract the last answer, or prepare to go on with decisions.

        `TurnBusy` if another process runs a call of the conversation.
        """
        self._turn.enter()
        if not self._turn.is_of_job:  # the first write of a job detects writes of other processes
            await self._session.aio.refresh()
        self._update_speaker()
        if isinstance(question, Message):
            self._open_calls = await self._retry_on_conflict(lambda: self._record_message(question))
        elif question is None:
            await self._session.aio.retract()
        else:
            self._open_calls = await self._retry_on_conflict(lambda: self._runnable_calls(question))
            self._final_answer = None if self._open_calls else self._last_answer()
        self._update_speaker()

    async def finish(self) -> Reply:
        """Run the open calls, and ask the model until there is a reply."""
        if self._final_answer is None:
            return await self._with_output(await self._converse(self._open_calls))
        self.items.append(self._final_answer)
        await self.emit(TextDelta(self._final_answer.text))
        return await self._with_output(self.reply("done"))

    async def close(self) -> None:
        """Close the open calls of a turn that ends early, except those that wait for a person."""
        calls = [*self._open_calls, *(item for item in self.items if isinstance(item, ToolCall))]
        closing = asyncio.ensure_future(self._close_calls(calls, "the turn was aborted"))
        await wait_ended(closing)  # a second cancellation does not stop it
        try:
            closing.result()
        except Conflict:  # other processes keep writing: the next turn closes the calls
            logger.warning("calls of an aborted turn in %s stay open", self._session.place.digest)

    async def store(self) -> None:
        """Store staged items now; a job without hooks stores them at its end."""
        if not self._turn.is_of_job or hooks_of(self._session).all:
            await self._turn.flush()

    def reply(self, stop: Stop, waiting: Sequence[ToolCall] = ()) -> Reply:
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
        """Run calls, and return the reason to stop, if there is one."""
        batch = Batch(self._session, self._turn, self._speaker, self.emit, self.items)
        self._waiting = batch.waiting
        within_limit = await batch.judge(calls, self._verdicts, self.meter.calls_left, self._foreign)
        self.meter.calls += len(within_limit) - len(batch.refused)
        try:
            await batch.execute(within_limit)
        except Cancelled:  # before any of them began
            await self._close_calls(within_limit, "the job was cancelled")
            return "cancelled"
        is_over_limit = len(within_limit) < len(calls)
        if is_over_limit:
            await self._close_calls(calls, "the limit of calls is reached")
        if await batch.must_wait():
            return "waiting"
        self._update_speaker()
        return "calls" if is_over_limit else None

    def waiting(self) -> tuple[ToolCall, ...]:
        """The open calls that the caller or a person has to answer or approve."""
        self._update_speaker()
        tools, waiting = self._speaker.tools, list[ToolCall]()
        for call, progress in self._session.calls.list_open():
            is_asked = progress == "foreign" and self._has_tool(call)
            is_asked |= progress == "waiting" and needs_person(tools.get(call.name), call)
            is_asked |= progress == "approved" and self._needs_answer(call)
            if is_asked and not is_tombstone(call):
                waiting.append(call)
        return tuple(waiting)

    def _update_speaker(self) -> None:
        if self._own_speaker.handoffs:
            self._speaker = speaker_in(self._session.view(), self._own_speaker)

    async def _with_output(self, reply: Reply) -> Reply:
        """The reply with its typed output. A model whose answer does not fit is told why and asked again."""
        if self._answer is None:
            return reply
        for tries_left in reversed(range(_MAX_ANSWERS)):
            if reply.stop != "done":
                break
            try:
                return reply._replace(output=self._answer.read(reply.text))
            except InvalidValue as fault:
                if not tries_left:
                    name = self._speaker.model.name
                    words = f"{name} gave no {self._answer.name} in {_MAX_ANSWERS} tries"
                    raise ModelFailed(words) from fault
                words = f"That is not what was asked for: {fault}. Give it again, as JSON and nothing else."
                # Derived from the answer, not said by the user: trust and erasure follow the answer.
                sources = [item.id for item in reply.items if isinstance(item, Message)]
                correction = Message("user", words, extras={"correction": True, SOURCES: sources})
                await self._session.aio.append(correction)
                reply = await self._converse()
        return reply

    # Open calls of earlier turns

    async def _record_message(self, message: Message) -> list[ToolCall]:
        """Record the user's message, and return the calls that are approved or wait for approval.

        If a tool has asked the user a question, the message is its result. Otherwise open calls are closed,
        except approved ones.
        """
        runnable = await self._runnable_calls({})
        asking_call = next((call for call in runnable if self._asks_user(call)), None)
        begun = {call.id for call, progress in self._session.calls.list_open() if progress == "begun"}
        waiting: list[ToolCall] = []
        closed: dict[str, Item] = {}
        for call in runnable:
            if call is asking_call:
                closed[call.id] = ToolResult(call.call_id, call.name, message.content, id=message.id)
            elif call.id in begun:
                closed[call.id] = uncertain(call, _PROCESS_ENDED)
            elif call.id in self._verdicts or (asking_call is not None and self._can_wait(call)):
                waiting.append(call)
            elif call.id in self._foreign:
                closed[call.id] = uncertain(call, _NOT_RUN_HERE)
            else:
                closed[call.id] = not_run(call, _SUPERSEDED)
        messages = [message] if asking_call is None else []
        calls = [call for call in runnable if call.id in closed]
        recorded = await self._turn.answer(
            calls, *closed.values(), *messages, unless_running=True, stages=True
        )
        self.items += [item for item in recorded if not isinstance(item, Message)]
        return waiting

    async def _runnable_calls(self, decisions: Decisions) -> list[ToolCall]:
        """Check decisions, close the calls that cannot run, and return the others.

        A result among the decisions closes its call.
        """
        runnable, verdicts = list[ToolCall](), dict[str, bool | str]()
        closed = list[tuple[ToolCall, ToolResult]]()
        open_calls = self._session.calls.list_open()
        self._foreign = {call.id for call, progress in open_calls if progress == "foreign"}
        for call, progress in open_calls:
            if progress == "running":
                place = self._session.place
                raise TurnBusy(f"another process runs the call {cut(call.call_id)!r} of {place}")
            tool, is_forgotten = self._speaker.tools.get(call.name), is_tombstone(call)
            may_run = progress != "begun" or (tool is not None and tool.is_idempotent)
            if progress in ("foreign", "approved") and not self._has_tool(call) and not is_forgotten:
                closed.append((call, uncertain(call, _NOT_RUN_HERE)))  # no agent here can run it
            elif may_run and not is_forgotten:
                runnable.append(call)
                if progress == "approved" and not self._needs_answer(call):
                    verdicts[call.id] = True
            elif progress == "begun":
                closed.append((call, uncertain(call, _PROCESS_ENDED)))
            else:
                closed.append((call, not_run(call, FORGOTTEN)))
        for item_id, decision in self._decisions_by_item(decisions, runnable).items():
            if isinstance(decision, ToolResult):
                call = next(call for call in runnable if call.id == item_id)
                runnable.remove(call)
                closed.append((call, decision))
            else:
                verdicts[item_id] = decision
        self._verdicts = verdicts
        for call, result in closed:
            self.items += await self._close_call(call, result)
        return runnable

    def _decisions_by_item(self, decisions: Decisions, runnable: Sequence[ToolCall]) -> Decisions:
        """Check decisions, and key them by the item ids of the calls; callers may use either id of a call.

        A result that is already recorded is ignored, so that a caller may repeat it after a crash.
        """
        view = self._session.view()
        by_item: dict[str, bool | str | ToolResult] = {}
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
                    f"{cut(self._speaker.name)!r} does not have: decide it with an agent that has it"
                )
            if call is None or call not in runnable:
                raise UnknownId(f"no call {cut(str(name))!r} waits for a decision")
            if self._asks_user(call):
                raise InvalidValue(f"the call {cut(name)!r} is a question to the user: `ask` answers it")
            if is_run_by_caller(call) and decision is True:
                raise InvalidValue(f"the caller runs the call {cut(name)!r}: decide it with its ToolResult")
            if isinstance(decision, ToolResult):
                _check_result(decision, call)
            if call.id in by_item:
                raise InvalidValue(f"the call {cut(call.call_id)!r} is decided twice, by both of its ids")
            by_item[call.id] = decision
        return by_item

    def _needs_answer(self, call: ToolCall) -> bool:
        """Whether a call needs an answer from the caller or the user: approval alone does not run it."""
        return is_run_by_caller(call) or self._asks_user(call)

    def _has_tool(self, call: ToolCall) -> bool:
        speaker = self._speaker
        return is_run_by_caller(call) or call.name in speaker.tools or call.name in speaker.handoffs

    def _can_wait(self, call: ToolCall) -> bool:
        """Whether a call keeps waiting for a decision while another one is answered."""
        return call.id in self._foreign or needs_person(self._speaker.tools.get(call.name), call)

    def _asks_user(self, call: ToolCall) -> bool:
        tool = self._speaker.tools.get(call.name)
        return tool is not None and tool.asks_person and needs_person(tool, call)

    def _last_answer(self) -> Message | None:
        """The complete answer that the conversation ends with, if any: then `resume` only returns it."""
        for item in reversed(self._session.view()):
            if isinstance(item, Message):
                return item if item.role == "assistant" and not item.interrupted else None
            if isinstance(item, ToolResult):
                return None
        raise InvalidValue("there is nothing to resume: the conversation is empty")

    # Closing calls

    async def _close_calls(self, calls: Sequence[ToolCall], why: str) -> None:
        """Close open calls with a result that gives the reason.

        Calls that wait for a person, or that another process runs, stay open.
        """
        closing = {call.id for call in calls} - {call.id for call in self._waiting}

        async def close() -> None:
            for call, progress in self._session.calls.list_open():
                if call.id in closing and progress != "running":
                    is_unknown = progress in ("begun", "foreign")
                    result = uncertain(call, why) if is_unknown else not_run(call, why)
                    self.items += await self._close_call(call, result)

        await self._retry_on_conflict(close)

    async def _close_call(self, call: ToolCall, result: ToolResult) -> tuple[Item, ...]:
        return await write_result(partial(self._turn.answer, [call], unless_running=True), EndedCall(result))

    async def _retry_on_conflict(self, work: Callable[[], Awaitable[T]]) -> T:
        """Repeat work on open calls when another process answered or began one of them meanwhile."""
        while True:
            before = self._session.calls.list_open()
            try:
                return await work()
            except Conflict:
                if self._session.calls.list_open() == before:
                    raise

    # Requests

    async def _ask_model(self) -> Parsed:
        """Ask the model, and record its response. If a request is refused as too long, send a shorter one."""
        full = self._speaker.template
        template, exceeded = narrowed(full), None
        sends_left = _MAX_SENDS
        while True:
            self._sent_tokens, before, sends_left = 0, len(self.items), sends_left - 1
            try:
                parsed = await self._request(template)
            except Outdated:  # nothing was sent
                sends_left += 1
                self.meter.requests -= 1
            except WindowExceeded as refusal:
                can_retry = self._sent_tokens and sends_left
                smaller = narrow(full, self._sent_tokens, refusal) if can_retry else None
                if smaller is None:
                    raise
                template, exceeded = smaller, refusal
                calls = [item for item in self.items[before:] if isinstance(item, ToolCall)]
                await self._close_calls(calls, "the response ended early")
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
        """Record the steering messages for the next request; return whether there were any."""
        messages = await self._turn.steer(self.take_steering())
        self.items += messages
        return bool(messages)

    async def _request(self, template: Template) -> Parsed:
        if self._turn.is_cancelled:
            raise Cancelled("the job was cancelled before its next request")
        await self._turn.check_claims()
        await self._steer()
        model = self._speaker.model
        self.meter.check_prices(model)
        self.meter.requests += 1
        context, rendered = await self._render(template)
        # A local model writes to the end of its context unless it is given a limit.
        is_local = getattr(model, "context", None) is not None
        terms = Terms(
            output=None if self._answer is None else self._answer.schema,
            max_tokens=(template.budget.reserve or None) if is_local else None,
        )
        requesting = Requesting(self._session.place, model.wire, model.name, context.items, context.tools)
        request = self._turn.request_of(context, rendered)
        assert request is not None
        async with hooked_request(hooks_of(self._session), requesting) as answered:
            answering = model.send(rendered, stream=self.emit is not no_reader, **terms)
            try:
                await answering.on_send(partial(self._turn.keep, request), terms)
                async for delta in answering.deltas():
                    if delta.kind != "call":  # calls are emitted when they run
                        await self.emit(
                            TextDelta(delta.text) if delta.kind == "text" else ThinkingDelta(delta.text)
                        )
            except Outdated:
                await answering.close()  # the request was not sent, so there is nothing to record
                raise
            except BaseException:
                received = await answering.close()  # without `shield`: the task that reads must also close
                answered(received)
                if received.items or received.usage is not None:
                    # Without its error: the fault itself is raised below.
                    await shield(self._record(received._replace(error=None), request))
                raise
            answered(answering.parsed)
        recorded = await shield(self._record(answering.parsed, request))
        if self.emit is not no_reader:
            await self._turn.flush()  # a stream shows only stored responses
        await self.emit(Recorded(recorded.items))
        return recorded

    async def _record(self, parsed: Parsed, request: Request) -> Parsed:
        if self._speaker.caller_tools:
            parsed = parsed._replace(items=mark_caller_calls(parsed.items, self._speaker.caller_tools))
        if request.sent is not None:
            shown, tools = request.sent.context.items, self._speaker.tools
            untrusted = cache(partial(untrusted_in, shown))
            parsed = parsed._replace(items=list_untrusted_in_calls(parsed.items, tools, untrusted))
        recorded = await self._turn.record(parsed, request)
        self.items += recorded.items
        return recorded

    # Contexts

    async def preview(self) -> Context:
        await self._session.aio.refresh()
        self._update_speaker()
        return await self._build(narrowed(self._speaker.template))

    async def _render(self, template: Template) -> tuple[Context, Rendered]:
        """The context and the request, built again if one of its items was forgotten meanwhile."""
        model = self._speaker.model
        while True:
            context = await self._build_within_budget(template)
            with suppress(Forgotten):
                caches = getattr(model, "caches", True)
                render = partial(context.render, model.wire, model=model.name, cache=caches)
                rendered = await self._turn.render(context, render)
                self._sent_tokens = context.receipt.tokens
                return context, rendered

    async def _build_within_budget(self, template: Template) -> Context:
        """The context. If it is over budget, move tool results to the pool, then release the model's pins."""
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
    """Refuse a result for a call that the caller does not run, or that names another call."""
    if not is_run_by_caller(call):
        raise InvalidValue(
            f"the agent runs the call {cut(call.call_id)!r}: decide it with True, False or a reason"
        )
    if (result.call_id, result.name) != (call.call_id, call.name):
        raise InvalidValue(f"the result for the call {cut(call.call_id)!r} is of another call or tool")
