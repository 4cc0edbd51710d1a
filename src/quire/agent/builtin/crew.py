"""Agents that work for another: what each of them sees of its conversation, and what comes back."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal

import msgspec

from quire.agent.agent import Agent
from quire.agent.limits import Limits, Tally, is_same_conversation
from quire.agent.reply import Reply
from quire.compactors import in_words
from quire.errors import InvalidValue, UnknownKey, WrongType, cut
from quire.items import Item, Message, ToolCall, new_id
from quire.models import AnyModel, asking
from quire.providers import Parsed
from quire.session import Session
from quire.session.metering import Metered
from quire.stores import Place
from quire.tokens.numbers import named, whole

Make = Callable[[Session], Agent]
"""Makes an agent for a conversation."""

Returns = Literal["answer", "summary", "all"]
"""What comes back: the final answer, a summary of what was done, or all that was said."""

_NO_LIMITS = Limits(requests=None, seconds=None)
"""Of a task: the agent has its own, and who gave it has others."""

_TRIES = 100
"""Names in a row that may be taken."""

_LONGEST_ASKED = 2_000
"""Characters of what a person is asked that are passed on."""

_SUMMARY = "Tell what was done here and what came of it, with every figure and name that matters:\n\n"


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of agent that work can be given to.

    It `sees` nothing but its brief, all of the conversation, or its last so many turns. Whatever it does is
    said in a conversation of its own, and nothing of it in that of who gave the work.
    """

    name: str
    description: str
    make: Make
    sees: Literal["brief", "all"] | int = "brief"
    returns: Returns = "answer"

    def __post_init__(self) -> None:
        named(self.name, "the name of a role")
        if not callable(self.make):  # pyright: ignore[reportUnnecessaryComparison]
            raise WrongType(f"a role is made by a function, not {type(self.make).__name__}")
        if self.sees not in ("brief", "all"):
            whole(self.sees, "the turns that a role sees", least=1)
        if self.returns not in ("answer", "summary", "all"):
            raise InvalidValue("what comes back of a role is its answer, a summary or all")


class Member:
    """One agent that was started in a role; it keeps its conversation from task to task."""

    def __init__(self, name: str, role: Role, agent: Agent) -> None:
        self.name = name
        self.role = role
        self.agent = agent
        self._turn = asyncio.Lock()

    async def do(self, task: str, timeout: float | None) -> str:
        """Give it a task, after those before it; what comes back."""
        async with self._turn:
            with Tally(_NO_LIMITS, self.agent.session) as tally:
                return await self._done(task, timeout, tally)

    async def _done(self, task: str, timeout: float | None, tally: Tally) -> str:
        time = asyncio.timeout(timeout)
        try:
            async with time:
                reply = await self.agent.ask(task)
        except TimeoutError:
            if not time.expired():
                raise
            return f"{self.name} did not finish in {timeout:g} seconds, and was stopped."
        if reply.stop == "waiting":
            asks = any(self._asks(call) for call in reply.waiting)
            return "\n".join(self._wants(call, beside_question=asks) for call in reply.waiting)
        if reply.stop != "done":
            return f"{self.name} stopped before it was done ({reply.stop}): {reply.text}"
        return await self._returned(task, reply, tally)

    @property
    def is_waiting(self) -> bool:
        """Whether a person is asked something by it."""
        return bool(self.agent.session.standing())

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

    async def _returned(self, task: str, reply: Reply, tally: Tally) -> str:
        if self.role.returns == "answer":
            return reply.text
        said = in_words((Message("user", task), *reply.items))  # of the history some may be left out by now
        if self.role.returns == "all":
            return said
        if tally.is_spent:
            return reply.text  # the words of a summary cost more
        return await asking(_Kept(self.agent.model, self.agent.session))(_SUMMARY + said)


class _Kept(Metered):
    """A model whose use is kept where the conversation keeps what it spends."""

    def __init__(self, model: AnyModel, session: Session) -> None:
        super().__init__(model)
        self._session = session

    async def ask(self, items: Sequence[Item], **options: Any) -> Parsed:
        """The model's answer; what it took is on the record, its words are not."""
        parsed = await super().ask(items, **options)
        await self._session.add_response(parsed._replace(items=(), model=parsed.model or self.name))
        return parsed


class Crew:
    """Those who work for one agent, by name."""

    def __init__(self, roles: tuple[Role, ...]) -> None:
        self.roles = {role.name: role for role in roles}
        if len(self.roles) < len(roles):
            raise InvalidValue("two roles have the same name")
        # One crew may serve several conversations. Each is held while it has members, so that it is the same
        # one when it is opened again.
        self._served: dict[Place, list[tuple[Session, dict[str, Member]]]] = {}
        self._started = 0

    def members(self, session: Session) -> dict[str, Member]:
        """Those who were started in a conversation."""
        for served, members in self._served.get(session.place, ()):
            if is_same_conversation(served, session):
                return members
        return {}

    def start(self, role: str, session: Session) -> Member:
        """Start an agent in a role."""
        if role not in self.roles:
            raise UnknownKey(f"there is no role {cut(role)!r}; there is {', '.join(self.roles)}")
        wanted = self.roles[role]
        name, theirs = self._begun(wanted, session)
        member, members = Member(name, wanted, wanted.make(theirs)), self.members(session)
        if not members:
            self._served.setdefault(session.place, []).append((session, members))
        members[name] = member
        return member

    def _begun(self, role: Role, session: Session) -> tuple[str, Session]:
        """The next free name, and a conversation of it: those of earlier processes are there still."""
        for _ in range(_TRIES):
            self._started += 1
            name = f"{role.name}-{self._started}"
            with suppress(InvalidValue):
                return name, _conversation(role, name, session)
        name = f"{role.name}-{new_id()}"  # if that is not free either, something else is wrong
        return name, _conversation(role, name, session)

    async def stop(self, name: str, session: Session) -> None:
        """Stop an agent; its conversation stays."""
        await self._found(name, session).agent.interrupt()
        members = self.members(session)
        members.pop(name, None)  # another may have stopped it meanwhile
        if not members:
            self._let_go(session)

    async def do(self, name: str, task: str, session: Session, timeout: float | None) -> str:
        """Give a task to one who was started, or to a new one in a role, who is stopped afterwards.

        One who waits for a person is not: it goes on when it has its answer.
        """
        if name not in self.roles:
            return await self._found(name, session).do(task, timeout)
        member = self.start(name, session)
        try:
            return await member.do(task, timeout)
        finally:
            if not member.is_waiting:
                await self.stop(member.name, session)

    def _let_go(self, session: Session) -> None:
        served = self._served.get(session.place, [])
        left = [pair for pair in served if not is_same_conversation(pair[0], session)]
        if left:
            self._served[session.place] = left
        else:
            self._served.pop(session.place, None)

    def _found(self, name: str, session: Session) -> Member:
        members = self.members(session)
        if name not in members:
            known = ", ".join((*self.roles, *members))
            raise UnknownKey(f"nobody is called {cut(name)!r} here; there is {known}")
        return members[name]


def _shown(arguments: str) -> str:
    return arguments if len(arguments) <= _LONGEST_ASKED else f"{arguments[:_LONGEST_ASKED]}…"


def _conversation(role: Role, name: str, session: Session) -> Session:
    if role.sees == "brief":
        return session.beside(name)
    return session.fork(name, turns=None if role.sees == "all" else role.sees)
