"""One agent that works for another: its tasks one after the other, and what comes back of each."""

import asyncio
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from quire.agent.agent import Agent
from quire.agent.builtin.roles import Role
from quire.agent.calls import having_called, running_call, told_of_items
from quire.agent.limits import Limits, Tally
from quire.agent.reply import Reply
from quire.compactors import transcript_text
from quire.errors import cut
from quire.items import Item, Message, ToolCall
from quire.models import AnyModel, asking
from quire.providers import Parsed
from quire.session import Metered, Session
from quire.stores.store import is_tombstone
from quire.stores.streams import OF

_NO_LIMITS = Limits(requests=None, seconds=None)
"""Of a task: the agent has its own, and who gave it has others."""

_LONGEST_ASKED = 2_000
"""Characters of what a person is asked that are passed on."""

_SUMMARY = "Tell what was done here and what came of it, with every figure and name that matters:\n\n"


class Member:
    """One agent that was started in a role; it keeps its conversation from task to task."""

    def __init__(self, name: str, role: Role, make: Callable[[], Agent]) -> None:
        self.name = name
        self.role = role
        self._make = make
        self._turn = asyncio.Lock()

    @cached_property
    def agent(self) -> Agent:
        """Who does it; made when it is first needed."""
        return self._make()

    @property
    def is_at_work(self) -> bool:
        """Whether it does a task."""
        return self._turn.locked()

    async def do(self, task: str, timeout: float | None) -> str:
        """Give it a task, after those before it; what comes back.

        Where it was not done, or failed, that says what had been called before.
        """
        async with self._turn:
            before = self.agent.session.view().revision
            try:
                with Tally(_NO_LIMITS, self.agent.session) as tally:
                    return await self._done(task, timeout, tally, before)
            except Exception as fault:
                having_called(fault, self._since(before))
                raise

    def _since(self, revision: int) -> list[Item]:
        view = self.agent.session.view()
        return [view.log.item(position) for position in range(revision, view.revision)]

    async def _done(self, task: str, timeout: float | None, tally: Tally, before: int) -> str:
        time = asyncio.timeout(timeout)
        try:
            async with time:
                reply = await self.agent.ask(brief := _brief(task))
        except TimeoutError:
            if not time.expired():
                raise
            said = f"{self.name} did not finish in {timeout:g} seconds, and was stopped."
            return said + told_of_items(self._since(before))
        if reply.stop == "waiting":
            asks = any(self._asks(call) for call in reply.waiting)
            return "\n".join(self._wants(call, beside_question=asks) for call in reply.waiting)
        if reply.stop != "done":
            said = f"{self.name} stopped before it was done ({reply.stop}): {reply.text}"
            return said + told_of_items(self._since(before))
        return await self._returned(brief, reply, tally)

    @property
    def is_waiting(self) -> bool:
        """Whether a person is asked something by it."""
        standings = self.agent.session.steps.standing()
        return any(standing == "waiting" and not is_tombstone(call) for call, standing in standings)

    def _asks(self, call: ToolCall) -> bool:
        return any(tool.name == call.name and tool.asks_person for tool in self.agent.tools)

    def _wants(self, call: ToolCall, *, beside_question: bool) -> str:
        """What a person is asked, for the one who can pass it on."""
        asked = f"{cut(call.name)} with {_shown(call.arguments)}"
        if self._asks(call):
            return f"{self.name} asks the user by {asked}. The next task for {self.name} is the answer."
        place = self.agent.session.place
        said = (
            f"{self.name} waits until a person approves of the call {cut(call.call_id)} of {asked}, "
            f"in the conversation {place}."
        )
        if beside_question:
            return f"{said} It goes on waiting when {self.name} has its answer."
        return f"{said} A task for {self.name} before that takes the call back."

    async def _returned(self, brief: Message, reply: Reply, tally: Tally) -> str:
        is_answer = self.role.returns == "answer"
        told = (
            [item for item in reply.items if isinstance(item, Message)]
            if is_answer
            else [brief, *reply.items]
        )
        self.agent.session.steps.trace(item.id for item in told)
        if is_answer:
            return reply.text
        said = transcript_text(told)  # of the history some may be left out by now
        if self.role.returns == "all":
            return said
        if tally.is_spent:
            return reply.text  # the words of a summary cost more
        return await asking(_Kept(self.agent.model, self.agent.session))(_SUMMARY + said)


class _Kept(Metered):
    """A model whose use is kept where the conversation keeps what it spends."""

    def __init__(self, model: AnyModel, session: Session) -> None:
        super().__init__(model, {})
        self._session = session

    async def ask(self, items: Sequence[Item], **options: Any) -> Parsed:
        """The model's answer; what it took is on the record, its words are not."""
        parsed = await super().ask(items, **options)
        await self._session.aio.record(parsed._replace(items=(), model=parsed.model or self.name))
        return parsed


def _brief(task: str) -> Message:
    """A task as the user's message of a sub-agent. It names the call that gave it as its source."""
    call = running_call()
    return Message("user", task, extras={} if call is None else {OF: [call.id]})


def _shown(arguments: str) -> str:
    return arguments if len(arguments) <= _LONGEST_ASKED else f"{arguments[:_LONGEST_ASKED]}…"
