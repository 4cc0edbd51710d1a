"""Agents that work for another: what each of them sees of its conversation, and what comes back."""

import asyncio
from collections.abc import Callable
from typing import Literal

import msgspec

from quire.agent.agent import Agent
from quire.compactors import in_words
from quire.errors import InvalidValue, UnknownKey, WrongType, cut
from quire.models import asking
from quire.session import Session
from quire.tokens.numbers import named, whole

Make = Callable[[Session], Agent]
"""Makes an agent for a conversation."""

Returns = Literal["answer", "summary", "all"]
"""What comes back: the final answer, a summary of what was done, or all that was said."""

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
            begun = len(self.agent.session.view())
            try:
                async with asyncio.timeout(timeout):
                    reply = await self.agent.ask(task)
            except TimeoutError:
                return f"{self.name} did not finish in {timeout:g} seconds, and was stopped."
            if reply.stop != "done":
                return f"{self.name} stopped before it was done ({reply.stop}): {reply.text}"
            return await self._returned(reply.text, begun)

    async def _returned(self, answer: str, begun: int) -> str:
        if self.role.returns == "answer":
            return answer
        said = in_words(self.agent.session.view()[begun:])
        if self.role.returns == "all":
            return said
        return await asking(self.agent.model)(_SUMMARY + said)


class Crew:
    """Those who work for one agent, by name."""

    def __init__(self, roles: tuple[Role, ...]) -> None:
        self.roles = {role.name: role for role in roles}
        if len(self.roles) < len(roles):
            raise InvalidValue("two roles have the same name")
        self._members: dict[str, dict[str, Member]] = {}  # by conversation: one crew may serve several
        self._started = 0

    def members(self, session: Session) -> dict[str, Member]:
        """Those who were started in a conversation."""
        return self._members.setdefault(str(session.place), {})

    def start(self, role: str, session: Session) -> Member:
        """Start an agent in a role."""
        if role not in self.roles:
            raise UnknownKey(f"there is no role {cut(role)!r}; there is {', '.join(self.roles)}")
        wanted, members = self.roles[role], self.members(session)
        while True:
            self._started += 1
            name = f"{role}-{self._started}"
            try:
                theirs = _conversation(wanted, name, session)
                break
            except InvalidValue:  # one of an earlier process has this name
                continue
        members[name] = Member(name, wanted, wanted.make(theirs))
        return members[name]

    async def stop(self, name: str, session: Session) -> None:
        """Stop an agent; its conversation stays."""
        await self._found(name, session).agent.interrupt()
        del self.members(session)[name]

    async def do(self, name: str, task: str, session: Session, timeout: float | None) -> str:
        """Give a task to one who was started, or to a new one in a role, who is stopped afterwards."""
        if name not in self.roles:
            return await self._found(name, session).do(task, timeout)
        member = self.start(name, session)
        try:
            return await member.do(task, timeout)
        finally:
            await self.stop(member.name, session)

    def _found(self, name: str, session: Session) -> Member:
        members = self.members(session)
        if name not in members:
            known = ", ".join((*self.roles, *members))
            raise UnknownKey(f"nobody is called {cut(name)!r} here; there is {known}")
        return members[name]


def _conversation(role: Role, name: str, session: Session) -> Session:
    if role.sees == "brief":
        return session.beside(name)
    return session.fork(name, turns=None if role.sees == "all" else role.sees)
