"""The loop: build what the model sees, ask it, record what it says, run what it calls, and again.

Every step is on the record before the next begins. Whatever breaks it off, an error, a limit, another message
or a cancellation, leaves a history that every provider takes.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from quire.agent.acting import Acting
from quire.agent.answer_types import AnswerType
from quire.agent.closing import close_calls
from quire.agent.limits import Tally
from quire.agent.making_room import make_room
from quire.agent.narrowing import Narrowing, as_found
from quire.agent.reply import Recorded, Reply, Stop, Thoughts, Words
from quire.agent.run import Tell, nobody
from quire.agent.speaker import Speaker
from quire.agent.unbroken import unbroken
from quire.context import Context, Template
from quire.errors import Forgotten, OverBudget, WindowExceeded
from quire.items import Item, ToolCall
from quire.models import AnswerShape, shape_of
from quire.providers import Finish, Parsed, Rendered
from quire.session import Session

_STOPS: Mapping[Finish, Stop] = {"length": "length", "refused": "refused"}
"""Why a reply ends, by why the model stopped; else it was done."""

_MOST_BUILT_AGAIN = 10
"""How often what is sent is built again, where something is forgotten each time before it is sent."""


class Loop:
    """One question, from what the user said to the answer."""

    def __init__(
        self,
        session: Session,
        speaker: Speaker,
        acting: Acting,
        tally: Tally,
        tell: Tell,
        *,
        parameters: Mapping[str, Any] | None = None,
        kind: AnswerType | None = None,
    ) -> None:
        self.session = session
        self.speaker = speaker
        self._acting = acting
        self.tally = tally
        self._tell = tell
        self._parameters = parameters
        self._kind = kind
        self._sent = 0  # tokens of the last request, as they were counted
        self.items: list[Item] = []

    async def run(self, calls: Sequence[ToolCall] = ()) -> Reply:
        """Go on until the model is done, a person is asked, or a limit is reached; first with some calls."""
        while True:
            if calls:
                stop = await self._act(calls)
                if stop is not None:
                    return self.reply(stop, self._acting.waiting)
            reached = self.tally.reached()
            if reached is not None:
                return self.reply(reached)
            parsed = await self._answer()
            calls = [item for item in parsed.items if isinstance(item, ToolCall)]
            if not calls and parsed.finish != "paused":
                return self.reply(_STOPS.get(parsed.finish, "done"))

    async def again(self) -> Reply:
        """The answer that is there already, told once more."""
        reply = self.reply("done")
        await self._tell(Words(reply.text))
        return reply

    def reply(self, stop: Stop, waiting: Sequence[ToolCall] = (), output: Any = None) -> Reply:
        """What there is to say of it now."""
        spent = self.tally.spent
        return Reply(
            tuple(self.items), stop, spent.usage, spent.cost, self.speaker.name, tuple(waiting), output
        )

    async def _act(self, calls: Sequence[ToolCall]) -> Stop | None:
        """Run calls; why to stop, if there is a reason."""
        speaker = as_found(self.speaker)
        within = await self._acting.judged(calls, speaker, self.tally.allows(len(calls)))
        self.tally.calls += sum(not self._acting.is_refused(call) for call in within)
        await self._acting.act(within, speaker, self._tell, self.items)
        is_beyond = len(within) < len(calls)
        if is_beyond:
            why = "it was one call more than is allowed"
            self.items += await close_calls(self.session, calls, why, self._acting.waiting_ids)
        if self._acting.waiting and not await self._acting.is_last(self.items):
            return "waiting"
        if is_beyond:
            return "calls"
        self.speaker = self._acting.next_speaker(self.speaker)
        return None

    async def _answer(self) -> Parsed:
        """Ask the model, and record what it says. Where its window is exceeded, it is sent less."""
        narrowing = Narrowing(self.speaker)
        while True:
            self._sent, before = 0, len(self.items)
            try:
                parsed = await self._asked(narrowing.template)
            except WindowExceeded as exceeded:
                if not self._sent or not narrowing.narrow(self._sent, exceeded):
                    raise
                await self._close_calls_since(before)
                if self.session.compaction.compactor is not None:
                    await self.session.aio.compaction.run()
            except OverBudget:
                if narrowing.exceeded is not None:
                    raise narrowing.exceeded from None  # it cannot be made smaller, or not by enough
                if not narrowing.widen():
                    raise
            else:
                narrowing.learn(self._sent, parsed.usage)
                return parsed

    async def _close_calls_since(self, before: int) -> None:
        """Close the calls of a reply that broke off and is asked for again: the next makes its own."""
        calls = [item for item in self.items[before:] if isinstance(item, ToolCall)]
        if calls:
            self.items += await close_calls(self.session, calls, "the reply broke off before its end")

    async def _asked(self, template: Template) -> Parsed:
        speaker = self.speaker
        self.tally.check_prices()
        self.tally.requests += 1
        sent = await self._rendered(template)
        schema = None if self._kind is None else self._kind.schema
        answering = speaker.model.send(
            sent, stream=self._tell is not nobody, output=schema, max_tokens=_longest(speaker, template)
        )
        try:
            async for delta in answering.deltas():
                if delta.kind != "call":  # calls are told when they are run
                    await self._tell(Words(delta.text) if delta.kind == "text" else Thoughts(delta.text))
        except BaseException:
            came = await answering.close()  # here: a stream is closed by the task that reads it
            if came.items or came.usage is not None:
                await unbroken(self._kept(came._replace(error=None)))  # what it says is what is raised
            raise
        kept = await unbroken(self._kept(answering.parsed))
        await self._tell(Recorded(kept.items))
        return kept

    async def _rendered(self, template: Template) -> Rendered:
        """What is sent. Where something is forgotten once it is built, it is built again before it is."""
        context = await self._built(template)
        for _ in range(_MOST_BUILT_AGAIN):
            with suppress(Forgotten):
                return self._render(context)
            context = await self._built(template)
        return self._render(context)

    def _render(self, context: Context) -> Rendered:
        model = self.speaker.model
        sent = context.render(model.wire, model=model.name)
        self._sent = context.receipt.tokens
        return sent

    async def _built(self, template: Template) -> Context:
        """What the model sees; where that is too much because of what tools gave, some of it is moved out."""
        try:
            return await self.build(template)
        except OverBudget as over:
            if not await make_room(self.session, self.speaker, over.over):
                raise
            return await self.build(template)

    async def build(self, template: Template) -> Context:
        """What the model sees."""
        model, tools, shape = self.speaker.model, self.speaker.definitions, AnswerShape()
        if self._kind is not None and self._kind.schema is not None:
            shape = shape_of(model, self._kind.schema, tools)
            template = self._kind.told_in(template, shape)
        return await self.session.aio.build(
            template, tools=tools, model=model.name, parameters=self._parameters, output=shape.sent
        )

    async def _kept(self, parsed: Parsed) -> Parsed:
        """Record an answer, or what came of one that broke off."""
        kept = await self.session.aio.record(parsed)
        self.tally.take(parsed, self.speaker.model)
        self.items += kept.items
        return kept


def _longest(speaker: Speaker, template: Template) -> int | None:
    """How long an answer may be: a local model goes on to the end of its context, unless it is told."""
    is_local = getattr(speaker.model, "context", None) is not None
    return template.budget.reserve or None if is_local else None
