"""Sub-agents: an agent starts others in roles, gives them tasks, and reads what comes back.

Each sub-agent works in a conversation of its own below that of its parent. Sub-agents are entries of a
transcript that no model sees, so they are found again after a restart; one that was stopped is hidden there.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from quire.agent.agent import Agent
from quire.agent.calls import describe_calls_in, mark_called, running_call
from quire.agent.limits import Limits, Tally
from quire.agent.reply import Reply
from quire.agent.tools import Tool, tool
from quire.compactors import transcript_text
from quire.errors import InvalidValue, UnknownKey, WrongType, cut
from quire.items import Handoff, Hide, Item, Message, Span, ToolCall
from quire.models import AnyModel, asking
from quire.providers import Parsed
from quire.session import Metered, Session
from quire.stores.store import is_tombstone
from quire.stores.streams import OF
from quire.tokens import named, whole

Make = Callable[[Session], Agent]
"""Makes an agent for a conversation."""

Returns = Literal["answer", "summary", "all"]
"""What comes back of a task: the final answer, a summary of the work, or all of the conversation."""

CREW = "crew"
"""The transcript of sub-agents, which no model sees."""

_ROLE = "role"
_NO_LIMITS = Limits(requests=None, seconds=None)
_MOST_TASKS, _MOST_CACHED, _TRIES, _LONGEST_CALL = 20, 64, 100, 2_000
_SUMMARY = "Tell what was done here and what came of it, with every figure and name that matters:\n\n"


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of sub-agent: what it `sees` of its parent's conversation, and what it `returns`.

    It sees its task alone (`"brief"`), all of the conversation, or the last so many turns. It writes into a
    conversation of its own, never into that of its parent.
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
            raise InvalidValue("a role returns its answer, a summary or all")


def delegating_tools(*roles: Role, timeout: float | None = 600.0) -> list[Tool]:
    """Tools to start sub-agents in some roles and give them tasks; each task may take so many seconds."""
    if not roles:
        raise InvalidValue("work is given to at least one role")
    crew = Crew(roles, timeout)
    listed = "".join(f"\n- {role.name}: {role.description}" for role in roles)
    starts = f"Start an agent that keeps its conversation from task to task. Roles:{listed}"
    gives = f"Give an agent a task, and wait for what comes back. Roles:{listed}"
    gives_many = f"Give tasks to several agents at once, and wait for all. Roles:{listed}"
    return [
        tool(crew.start_agent, description=starts),
        tool(crew.delegate, description=gives),
        tool(crew.delegate_in_parallel, description=gives_many),
        tool(crew.list_agents, idempotent=True),
        tool(crew.stop_agent, idempotent=True),
    ]


class Entry(NamedTuple):
    """A sub-agent on the record: the id of its entry, its name, and its role."""

    id: str
    name: str
    role: str


class Crew:
    """The sub-agents of the conversations in which an agent's tools are used."""

    def __init__(self, roles: Sequence[Role], timeout: float | None) -> None:
        self._roles = {role.name: role for role in roles}
        if len(self._roles) < len(roles):
            raise InvalidValue("two roles have the same name")
        self._timeout = timeout
        self._cached: dict[str, Member] = {}  # by the ids of their entries, the latest used last
        self._numbered = 0

    async def start_agent(self, role: Annotated[str, "The role."], session: Session) -> str:
        if role not in self._roles:
            raise UnknownKey(f"there is no role {cut(role)!r}; there is {', '.join(self._roles)}")
        entry = await self._start(self._roles[role], session)
        return f"{entry.name} is started."

    async def delegate(
        self,
        to: Annotated[str, "A role, or the name of an agent that was started."],
        task: Annotated[str, "All that is to be known to do it: the agent may see nothing else."],
        session: Session,
    ) -> str:
        if to not in self._roles:
            return await self._member(self._entry(to, session), session).do(task, self._timeout)
        entry = await self._start(self._roles[to], session)
        member = self._member(entry, session)
        try:
            return await member.do(task, self._timeout)
        finally:
            if not member.waits():  # otherwise it goes on with the answer of a person
                await self._stop(entry, session)

    async def delegate_in_parallel(
        self,
        role: Annotated[str, "The role."],
        tasks: Annotated[list[str], "One task for each agent."],
        session: Session,
    ) -> str:
        if len(tasks) > _MOST_TASKS:
            raise InvalidValue(f"at most {_MOST_TASKS} tasks can be given at once, not {len(tasks)}")
        work = (self.delegate(role, task, session) for task in tasks)
        answers = await asyncio.gather(*work, return_exceptions=True)
        return "\n\n".join(f"{number}. {_answer_text(answer)}" for number, answer in enumerate(answers, 1))

    async def list_agents(self, session: Session) -> list[str]:
        """List the agents that were started and the roles that there are."""
        members = self.members(session).items()
        listed = [f"{name} (waits for a person)" if one.waits() else name for name, one in members]
        return [*listed, *(f"{name} (a role)" for name in self._roles)]

    async def stop_agent(self, name: Annotated[str, "Its name."], session: Session) -> str:
        """Stop an agent that was started."""
        await self._stop(self._entry(name, session), session)
        return f"{name} is stopped."

    def members(self, session: Session) -> "dict[str, Member]":
        """The sub-agents of a conversation that were started and not stopped, by name."""
        entries = (entry for entry in _entries(session) if entry.role in self._roles)
        return {entry.name: self._member(entry, session) for entry in entries}

    def agent_named(self, name: str, session: Session) -> Agent | None:
        """The sub-agent under a name, also one that was stopped."""
        entry = entry_named(name, session)
        return None if entry is None or entry.role not in self._roles else self._member(entry, session).agent

    async def _start(self, role: Role, session: Session) -> Entry:
        name, child = self._begin(role, session)
        agent = role.make(child)  # before the sub-agent is on the record
        [kept] = await session.aio.append(Handoff(name, extras={_ROLE: role.name}), to=CREW)
        entry = Entry(kept.id, name, role.name)
        self._cache(entry, Member(name, role, agent))
        return entry

    def _begin(self, role: Role, session: Session) -> tuple[str, Session]:
        """The next free name and its conversation: those of earlier processes are still there."""
        self._numbered = max(self._numbered, len(_entries(session, stopped=True)))
        for _ in range(_TRIES):
            self._numbered += 1
            name = f"{role.name}-{self._numbered}"
            with suppress(InvalidValue):
                return name, _begun(session, name, role)
        raise InvalidValue(f"no name is free for another {role.name}")

    async def _stop(self, entry: Entry, session: Session) -> None:
        await self._member(entry, session).agent.interrupt()
        self._cached.pop(entry.id, None)
        if entry in _entries(session):
            await session.aio.append(Hide((Span(entry.id, entry.id),)), to=CREW)

    def _entry(self, name: str, session: Session) -> Entry:
        found = {entry.name: entry for entry in _entries(session) if entry.role in self._roles}
        if name not in found:
            known = ", ".join((*self._roles, *found))
            raise UnknownKey(f"nobody is called {cut(name)!r} here; there is {known}")
        return found[name]

    def _member(self, entry: Entry, session: Session) -> "Member":
        """A sub-agent on the record, from the cache or made again for its conversation."""
        member = self._cached.pop(entry.id, None)
        if member is None:
            role, child = self._roles[entry.role], session.child(entry.name)
            agent = role.make(child if child.version else _begun(session, entry.name, role))
            member = Member(entry.name, role, agent)
        self._cache(entry, member)
        return member

    def _cache(self, entry: Entry, member: "Member") -> None:
        self._cached[entry.id] = member
        idle = [key for key, one in self._cached.items() if not one.is_busy and one is not member]
        for key in idle[: max(0, len(self._cached) - _MOST_CACHED)]:
            del self._cached[key]


class Member:
    """One sub-agent. It does its tasks one after the other, in one conversation."""

    def __init__(self, name: str, role: Role, agent: Agent) -> None:
        self.name = name
        self.agent = agent
        self._role = role
        self._turn = asyncio.Lock()

    @property
    def is_busy(self) -> bool:
        """Whether it does a task."""
        return self._turn.locked()

    def waits(self) -> bool:
        """Whether it, or one of its own sub-agents, waits for a person."""
        standings = self.agent.session.steps.standing()
        is_waiting = any(standing == "waiting" and not is_tombstone(call) for call, standing in standings)
        return is_waiting or any(one.waits() for one in members_of(self.agent).values())

    async def do(self, task: str, timeout: float | None) -> str:
        """Give it a task, and return what comes back. What was called before a failure is in the words."""
        async with self._turn:
            before = self.agent.session.view().revision
            try:
                with Tally(_NO_LIMITS, self.agent.session) as tally:
                    return await self._result(task, timeout, tally, before)
            except Exception as fault:
                mark_called(fault, self._items_since(before))
                raise

    async def _result(self, task: str, timeout: float | None, tally: Tally, before: int) -> str:
        call = running_call()  # the source of the task, so that forgetting the call forgets the task
        brief = Message("user", task, extras={} if call is None else {OF: [call.id]})
        time = asyncio.timeout(timeout)
        try:
            async with time:
                reply = await self.agent.ask(brief)
        except TimeoutError:
            if not time.expired():
                raise
            words = f"{self.name} did not finish in {timeout:g} seconds, and was stopped."
            return words + describe_calls_in(self._items_since(before))
        if reply.stop == "waiting":
            return self._waiting_text(reply)
        if reply.stop != "done":
            words = f"{self.name} stopped before it was done ({reply.stop}): {reply.text}"
            return words + describe_calls_in(self._items_since(before))
        return await self._returned(brief, reply, tally)

    def _items_since(self, revision: int) -> list[Item]:
        view = self.agent.session.view()
        return [view.log.item(position) for position in range(revision, view.revision)]

    def _waiting_text(self, reply: Reply) -> str:
        """What a person is asked, for the parent to pass on."""
        asking_tools = {one.name for one in self.agent.tools if one.asks_person}
        questions = [call for call in reply.waiting if call.name in asking_tools]
        lines: list[str] = []
        for call in reply.waiting:
            shown = f"{cut(call.name)} with {_shortened(call)}"
            if call in questions:
                lines.append(
                    f"{self.name} asks the user by {shown}. The next task for {self.name} is the answer."
                )
                continue
            place = f"in the conversation {self.agent.session.place}"
            then = (
                f"It goes on waiting when {self.name} has its answer."
                if questions
                else f"A task for {self.name} before that takes the call back."
            )
            waits = f"{self.name} waits until a person approves of the call {cut(call.call_id)} of {shown}"
            lines.append(f"{waits}, {place}. {then}")
        return "\n".join(lines)

    async def _returned(self, brief: Message, reply: Reply, tally: Tally) -> str:
        session, returns = self.agent.session, self._role.returns
        if returns == "answer":
            session.steps.trace(item.id for item in reply.items if isinstance(item, Message))
            return reply.text
        items = [brief, *reply.items]
        session.steps.trace(item.id for item in items)
        text = transcript_text(items)
        if returns == "all":
            return text
        if tally.is_spent:
            return reply.text  # a summary costs more
        return await asking(_Recorded(self.agent.model, session))(_SUMMARY + text)


class _Recorded(Metered):
    """A model whose usage is recorded in a conversation, without its words."""

    def __init__(self, model: AnyModel, session: Session) -> None:
        super().__init__(model, {})
        self._session = session

    async def ask(self, items: Sequence[Item], **options: Any) -> Parsed:
        """The model's answer."""
        parsed = await super().ask(items, **options)
        await self._session.aio.record(parsed._replace(items=(), model=parsed.model or self.name))
        return parsed


def members_of(agent: Agent) -> dict[str, Member]:
    """The sub-agents of an agent, and of those that it may hand over to, by name."""
    found: dict[str, Member] = {}
    for crew in _crews(agent):
        found |= crew.members(agent.session)
    return found


def agent_called(name: str, agent: Agent) -> Agent | None:
    """The sub-agent of an agent under a name, also one that was stopped."""
    found = (crew.agent_named(name, agent.session) for crew in _crews(agent))
    return next((one for one in found if one is not None), None)


def entry_named(name: str, session: Session) -> Entry | None:
    """The entry of a sub-agent of a conversation, also of one that was stopped."""
    entries = {entry.name: entry for entry in _entries(session, stopped=True)}
    return entries.get(name)


def _entries(session: Session, *, stopped: bool = False) -> list[Entry]:
    """The sub-agents of a conversation, in order; with `stopped`, also those that were stopped."""
    if CREW not in session.transcripts:
        return []
    view = session.view(CREW)
    handoffs = [item for item in (view.recorded() if stopped else view) if isinstance(item, Handoff)]
    roles = ((item, item.extras.get(_ROLE)) for item in handoffs)  # one that was forgotten has no role
    return [Entry(item.id, item.to_agent, role) for item, role in roles if isinstance(role, str)]


def _begun(session: Session, name: str, role: Role) -> Session:
    """The conversation of a sub-agent that is started now; `InvalidValue` where there is one of that name."""
    if role.sees != "brief":
        return session.fork(name, turns=None if role.sees == "all" else role.sees)
    child = session.child(name)
    if child.version:
        raise InvalidValue(f"there is a conversation {child.place} already")
    return child


def _crews(agent: Agent) -> Iterator[Crew]:
    """The crews of all agents that may speak in the conversation of an agent."""
    left, seen = [agent.speaker], set[str]()
    while left:
        speaker = left.pop()
        if speaker.name not in seen:
            seen.add(speaker.name)
            left += [other.speaker for other in speaker.handoffs.values()]
            owners = {getattr(one.function, "__self__", None) for one in speaker.tools.values()}
            yield from (owner for owner in owners if isinstance(owner, Crew))


def _answer_text(answer: str | BaseException) -> str:
    if isinstance(answer, str):
        return answer
    if not isinstance(answer, Exception):
        raise answer
    return f"It failed: {type(answer).__name__}: {answer}"


def _shortened(call: ToolCall) -> str:
    arguments = call.arguments
    return arguments if len(arguments) <= _LONGEST_CALL else f"{arguments[:_LONGEST_CALL]}…"
