"""The loop of a turn: build the context, ask the model, record its response, run its calls, and again.

Every step is recorded before the next begins. An error, a limit, another message or a cancellation leaves a
history that every provider accepts.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from quire.agent.answer import AnswerType
from quire.agent.calls import Calls
from quire.agent.handoff import Speaker
from quire.agent.limits import Tally
from quire.agent.reply import Recorded, Reply, Stop, Thoughts, Words
from quire.agent.resume import close_calls
from quire.agent.run import Emit, no_reader, shield
from quire.agent.window import Narrowing, make_room
from quire.context import Context, Template
from quire.errors import Forgotten, InvalidValue, ModelFailed, OverBudget, WindowExceeded
from quire.items import Item, Message, ToolCall
from quire.models import AnswerShape, shape_of
from quire.providers import Finish, Parsed, Rendered
from quire.session import Session

_STOPS: Mapping[Finish, Stop] = {"length": "length", "refused": "refused"}
"""Why a turn ends, by why the model stopped; otherwise it is done."""

_MOST_REBUILDS = 10
"""How often a context is built again because something was forgotten before it was sent."""

_ANSWER_TRIES = 3
"""How often an answer of a type is asked for."""


class Loop:
    """One turn, from the recorded input to the reply. `items` are what it has recorded so far."""

    def __init__(
        self,
        session: Session,
        speaker: Speaker,
        tally: Tally,
        emit: Emit = no_reader,
        *,
        parameters: Mapping[str, Any] | None = None,
        answer: AnswerType | None = None,
    ) -> None:
        self.session = session
        self.speaker = speaker
        self.tally = tally
        self.calls = Calls(session, emit)
        self.items: list[Item] = []
        self._emit = emit
        self._parameters = parameters
        self._answer = answer
        self._sent = 0  # tokens of the last request, by our count

    async def run(self, calls: Sequence[ToolCall] = ()) -> Reply:
        """Run open calls, and ask the model until there is a reply."""
        return await self._typed(await self._run(calls))

    async def repeat(self, answer: Message) -> Reply:
        """The reply of a turn that had ended already, with its answer."""
        self.items.append(answer)
        await self._emit(Words(answer.text))
        return await self._typed(self.reply("done"))

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
                    name = self.speaker.model.name
                    words = f"{name} gave no {self._answer.name} in {_ANSWER_TRIES} tries"
                    raise ModelFailed(words) from fault
                words = f"That is not what was asked for: {fault}. Give it again, as JSON and nothing else."
                await self.session.aio.append(Message("user", words, extras={"correction": True}))
                reply = await self._run()
        return reply

    def reply(self, stop: Stop, waiting: Sequence[ToolCall] = ()) -> Reply:
        """The reply as it is now."""
        spent = self.tally.spent
        return Reply(tuple(self.items), stop, spent.usage, spent.cost, self.speaker.name, tuple(waiting))

    async def _run(self, calls: Sequence[ToolCall] = ()) -> Reply:
        """Ask the model until it is done, a person is asked, or a limit is reached."""
        while True:
            if calls:
                stop = await self._run_calls(calls)
                if stop is not None:
                    return self.reply(stop, self.calls.waiting)
            reached = self.tally.reached()
            if reached is not None:
                return self.reply(reached)
            parsed = await self._ask_model()
            calls = [item for item in parsed.items if isinstance(item, ToolCall)]
            if not calls and parsed.finish != "paused":
                return self.reply(_STOPS.get(parsed.finish, "done"))

    async def _run_calls(self, calls: Sequence[ToolCall]) -> Stop | None:
        """Run calls; the reason to stop, if there is one."""
        within = await self.calls.judge(calls, self.speaker, self.tally.calls_left)
        self.tally.calls += sum(call.id not in self.calls.refused for call in within)
        await self.calls.run(within, self.speaker, self.items)
        is_beyond = len(within) < len(calls)
        if is_beyond:
            keep = {call.id for call in self.calls.waiting}
            self.items += await close_calls(self.session, calls, "the limit of calls is reached", keep)
        if await self.calls.still_wait(self.items):
            return "waiting"
        if is_beyond:
            return "calls"
        self.speaker, self.calls.handed_to = self.calls.handed_to or self.speaker, None
        return None

    # Requests

    async def _ask_model(self) -> Parsed:
        """Ask the model, and record its response. If its window is exceeded, it is sent less."""
        narrowing = Narrowing(self.speaker.template, self.speaker.model)
        while True:
            self._sent, before = 0, len(self.items)
            try:
                parsed = await self._request(narrowing.template)
            except WindowExceeded as exceeded:
                if not self._sent or not narrowing.narrow(self._sent, exceeded):
                    raise
                await self._close_calls_since(before)
                if self.session.compaction.compactor is not None:
                    await self.session.aio.compaction.run()
            except OverBudget:
                if narrowing.exceeded is not None:
                    raise narrowing.exceeded from None  # it cannot be made smaller
                if not narrowing.widen():
                    raise
            else:
                narrowing.learn(parsed.usage)
                return parsed

    async def _close_calls_since(self, before: int) -> None:
        """Close the calls of a response that broke off; the next one makes its own."""
        calls = [item for item in self.items[before:] if isinstance(item, ToolCall)]
        if calls:
            self.items += await close_calls(self.session, calls, "the response broke off before its end")

    async def _request(self, template: Template) -> Parsed:
        model = self.speaker.model
        self.tally.check_prices()
        self.tally.requests += 1
        rendered = await self._rendered(template)
        # A local model writes to the end of its context unless it is given a limit.
        is_local = getattr(model, "context", None) is not None
        answering = model.send(
            rendered,
            stream=self._emit is not no_reader,
            output=None if self._answer is None else self._answer.schema,
            max_tokens=template.budget.reserve or None if is_local else None,
        )
        try:
            async for delta in answering.deltas():
                if delta.kind != "call":  # calls are emitted when they run
                    await self._emit(Words(delta.text) if delta.kind == "text" else Thoughts(delta.text))
        except BaseException:
            came = await answering.close()  # by the task that reads the stream
            if came.items or came.usage is not None:
                await shield(self._record(came._replace(error=None)))  # the error itself is raised
            raise
        recorded = await shield(self._record(answering.parsed))
        await self._emit(Recorded(recorded.items))
        return recorded

    async def _record(self, parsed: Parsed) -> Parsed:
        recorded = await self.session.aio.record(parsed)
        self.tally.count(parsed, self.speaker.model)
        self.items += recorded.items
        return recorded

    # Contexts

    async def _rendered(self, template: Template) -> Rendered:
        """The request. It is built again if something was forgotten since it was built."""
        for _ in range(_MOST_REBUILDS):
            context = await self._fitted(template)
            with suppress(Forgotten):
                return self._render(context)
        return self._render(await self._fitted(template))

    def _render(self, context: Context) -> Rendered:
        model = self.speaker.model
        rendered = context.render(model.wire, model=model.name)
        self._sent = context.receipt.tokens
        return rendered

    async def _fitted(self, template: Template) -> Context:
        """The context. If new tool results make it too large, some of them are moved to the pool."""
        try:
            return await self.build(template)
        except OverBudget as over:
            if not await make_room(self.session, self.speaker.template, self.speaker.model, over.over):
                raise
            return await self.build(template)

    async def build(self, template: Template) -> Context:
        """The context that the model sees."""
        model, tools, shape = self.speaker.model, self.speaker.definitions, AnswerShape()
        if self._answer is not None and self._answer.schema is not None:
            shape = shape_of(model, self._answer.schema, tools)
            template = self._answer.in_template(template, shape)
        return await self.session.aio.build(
            template, tools=tools, model=model.name, parameters=self._parameters, output=shape.sent
        )
