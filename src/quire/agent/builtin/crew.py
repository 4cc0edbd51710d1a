"""Agents that work for another: started in roles, given tasks by name, and found again when it is opened."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from quire.agent.agent import Agent
from quire.agent.builtin import roster
from quire.agent.builtin.member import Member
from quire.agent.builtin.roles import Role
from quire.agent.builtin.roster import Entry
from quire.agent.handoff import Speaker
from quire.errors import InvalidValue, UnknownKey, cut
from quire.items import new_id
from quire.session import Session

_TRIES = 100
"""Names in a row that may be taken."""

_MOST_AT_HAND = 64
"""Those that stay in memory between their tasks, the latest used; the others are made again."""


class Crew:
    """Those who work for an agent, by name. One crew may serve several conversations, each with its own."""

    def __init__(self, roles: tuple[Role, ...]) -> None:
        self.roles = {role.name: role for role in roles}
        if len(self.roles) < len(roles):
            raise InvalidValue("two roles have the same name")
        self._at_hand: dict[str, Member] = {}  # by the ids of their entries
        self._started = 0

    def members(self, session: Session) -> dict[str, Member]:
        """Those who were started in a conversation, and not stopped."""
        return {entry.name: self._member(entry, session) for entry in self._entries(session)}

    def agent_called(self, name: str, session: Session) -> Agent | None:
        """Who works under a name in a conversation, or did; `None` where it is of no role that is here."""
        entry = roster.known(session, name)
        if entry is None or entry.role not in self.roles:
            return None
        return self._member(entry, session).agent

    async def start(self, role: str, session: Session) -> Member:
        """Start an agent in a role."""
        if role not in self.roles:
            raise UnknownKey(f"there is no role {cut(role)!r}; there is {', '.join(self.roles)}")
        return (await self._start(self.roles[role], session))[1]

    async def stop(self, name: str, session: Session) -> None:
        """Stop an agent; its conversation stays."""
        await self._stop(self._entry(name, session), session)

    async def do(self, name: str, task: str, session: Session, timeout: float | None) -> str:
        """Give a task to one who was started, or to a new one in a role, who is stopped afterwards.

        One who waits for a person is not: it goes on when it has its answer.
        """
        if name not in self.roles:
            return await self._member(self._entry(name, session), session).do(task, timeout)
        entry, member = await self._start(self.roles[name], session)
        try:
            return await member.do(task, timeout)
        finally:
            if not waits(member):
                await self._stop(entry, session)

    async def _start(self, role: Role, session: Session) -> tuple[Entry, Member]:
        name, number, theirs = self._begun(role, session)
        agent = role.make(theirs)  # before anybody is told of it
        entry = await roster.enter(session, name, role, number)
        member = Member(name, role, lambda: agent)
        self._keep(entry, member)
        return entry, member

    def _begun(self, role: Role, session: Session) -> tuple[str, int, Session]:
        """The next free name, its number, and a conversation of it: those of earlier processes are there."""
        taken = {entry.name for entry in roster.at_work(session)}
        self._started = max(self._started, roster.last_number(session))
        for _ in range(_TRIES):
            self._started += 1
            name = f"{role.name}-{self._started}"
            with suppress(InvalidValue):
                if name not in taken:
                    return name, self._started, roster.begun(session, name, role)
        name = f"{role.name}-{new_id()}"  # if that is not free either, something else is wrong
        return name, self._started, roster.begun(session, name, role)

    async def _stop(self, entry: Entry, session: Session) -> None:
        await self._member(entry, session).agent.interrupt()
        self._at_hand.pop(entry.id, None)
        await roster.take_off(session, entry)

    def _entries(self, session: Session) -> list[Entry]:
        return [entry for entry in roster.at_work(session) if entry.role in self.roles]

    def _entry(self, name: str, session: Session) -> Entry:
        found = {entry.name: entry for entry in self._entries(session)}
        if name not in found:
            known = ", ".join((*self.roles, *found))
            raise UnknownKey(f"nobody is called {cut(name)!r} here; there is {known}")
        return found[name]

    def _member(self, entry: Entry, session: Session) -> Member:
        """One of the record, as it is at hand, or made again for the conversation that it has."""
        member = self._at_hand.pop(entry.id, None)
        if member is None:
            role = self.roles[entry.role]
            member = Member(entry.name, role, lambda: role.make(roster.reopened(session, entry.name, role)))
        self._keep(entry, member)
        return member

    def _keep(self, entry: Entry, member: Member) -> None:
        self._at_hand[entry.id] = member  # the latest used stands last
        over = len(self._at_hand) - _MOST_AT_HAND
        if over > 0:
            idle = [key for key, one in self._at_hand.items() if not one.is_at_work and one is not member]
            for key in idle[:over]:
                del self._at_hand[key]


def waits(member: Member) -> bool:
    """Whether a person is asked something by one, or by those who work for it in turn."""
    return member.is_waiting or any(map(waits, members_of(member.agent).values()))


def members_of(agent: Agent) -> dict[str, Member]:
    """Those who work in the conversation of an agent, for it or for whom it may hand over to, by name."""
    found: dict[str, Member] = {}
    for crew in _crews(agent):
        found |= crew.members(agent.session)
    return found


def agent_called(name: str, agent: Agent) -> Agent | None:
    """Who works under a name in the conversation of an agent, or did."""
    found = map(partial(Crew.agent_called, name=name, session=agent.session), _crews(agent))
    return next((one for one in found if one is not None), None)


def _crews(agent: Agent) -> Iterator[Crew]:
    """The crews of all who may speak in the conversation of an agent."""
    left, seen = [agent.speaker], set[str]()
    while left:
        speaker = left.pop()
        if speaker.name not in seen:
            seen.add(speaker.name)
            left += [other.speaker for other in speaker.handoffs.values()]
            yield from _crew_of(speaker)


def _crew_of(speaker: Speaker) -> set[Crew]:
    """The crew that the tools of one give work to, if they do."""
    owners = (getattr(tool.function, "__self__", None) for tool in speaker.tools.values())
    crews = (getattr(owner, "crew", None) for owner in owners)
    return {crew for crew in crews if isinstance(crew, Crew)}
