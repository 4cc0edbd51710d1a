"""Sub-agents: an agent gives tasks to others in roles, and reads their answers.

Each sub-agent works in its own conversation below that of its parent. A transcript that no model sees lists
the sub-agents, so one that waits for a person is found after a restart.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from quire.agent.agent import Agent
from quire.agent.calls import running_call
from quire.agent.reply import Reply
from quire.agent.side_effects import describe_calls_in, mark_called
from quire.agent.tools import Allowance, Tool, tool
from quire.compactors import transcript_text
from quire.errors import InvalidValue, UnknownKey, WrongType, cut
from quire.items import Handoff, Item, Message, OptionsMeta, Origin, lowest
from quire.session import Session, add_sources, log_of
from quire.state import origin_of
from quire.stores.streams import MAIN, SOURCES, UNTRUSTED
from quire.tokens import named, whole

MakeAgent = Callable[[Session], Agent]
"""Makes an agent for a conversation."""

CREW = "crew"
"""The transcript of sub-agents, which no model sees."""

_ROLE = "role"
_MAX_TASKS, _MAX_CALL = 20, 2_000  # tasks at once; characters of the arguments of a call that waits
_MORE = "\n[it goes on at the character {}]"
_MAX_TEXT = 8 * 1_000_000
"""Characters of the longest item that `read_work` shows whole."""


class Role(msgspec.Struct, metaclass=OptionsMeta, frozen=True, kw_only=True):
    """A kind of sub-agent, and what it `sees` of its parent's conversation.

    It sees its task alone (`"brief"`), all of the conversation (`"all"`), or a number of the last turns. It
    writes into its own conversation, never into that of its parent.
    """

    name: str
    description: str
    make: MakeAgent
    sees: Literal["brief", "all"] | int = "brief"

    def __post_init__(self) -> None:
        named(self.name, "the name of a role")
        if not callable(self.make):  # pyright: ignore[reportUnnecessaryComparison]
            raise WrongType(f"a role must be made by a function, not {type(self.make).__name__}")
        if self.sees not in ("brief", "all"):
            whole(self.sees, "the turns that a role sees", least=1)


def delegating_tools(*roles: Role, timeout: float | None = 600.0) -> list[Tool]:
    """Tools to give tasks to sub-agents in these roles, and to read their work.

    Each task may take `timeout` seconds.
    """
    if not roles:
        raise InvalidValue("delegating needs at least one role")
    delegation = Delegation(roles, timeout)
    listed = "".join(f"\n- {role.name}: {role.description}" for role in roles)
    description = f"Give an agent a task, and wait for its answer. Roles:{listed}"
    parallel_description = f"Give tasks to several agents at once, and wait for all answers. Roles:{listed}"
    tools = [
        tool(delegation.delegate, description=description),
        tool(delegation.delegate_in_parallel, description=parallel_description),
        tool(delegation.read_work, idempotent=True),
    ]
    for each in tools:
        each.names_untrusted = True
    return tools


def sub_agents(session: Session) -> dict[str, str]:
    """The roles of a conversation's sub-agents, by the names of the sub-agents."""
    if CREW not in session.transcripts:
        return {}
    handoffs = [item for item in session.view(CREW) if isinstance(item, Handoff)]
    roles = ((item.to_agent, item.extras.get(_ROLE)) for item in handoffs)  # a forgotten one has no role
    return {name: role for name, role in roles if isinstance(role, str)}


async def sub_agent(agent: Agent, name: str) -> Agent | None:
    """Make the sub-agent of this name, if the agent has one."""
    for delegation in _delegations(agent):
        if (found := await delegation.find(name, agent.session)) is not None:
            return found
    return None


class Delegation:
    """Gives tasks to sub-agents of the conversation in which a tool is called."""

    pointer = "\n[from {name}; read_work gives all that it did]"
    """The end of an answer: how to read all of the work."""

    def __init__(self, roles: Sequence[Role], timeout: float | None) -> None:
        self._roles = {role.name: role for role in roles}
        if len(self._roles) < len(roles):
            raise InvalidValue("two roles have the same name")
        self._timeout = timeout
        self._last_number = 0  # in the last name that was given

    async def delegate(self, to: str, task: str, session: Session) -> str:
        """Give an agent a task.

        Args:
            to: A role; or the name of an agent that asked a question, which the task answers.
            task: Everything that the agent needs to know: it may see nothing else.
        """
        if to in self._roles:
            name, agent = await self._start(self._roles[to], session)
        else:
            found = await self.find(to, session)
            if found is None:
                raise _unknown(to, (*self._roles, *sub_agents(session)))
            name, agent = to, found
        before = agent.session.view().revision
        try:
            return await _answer(name, agent, _brief(task, session), self._timeout, self.pointer)
        except Exception as fault:
            mark_called(fault, _items_since(agent.session, before))
            raise

    async def delegate_in_parallel(self, role: str, tasks: list[str], session: Session) -> str:
        """Give tasks to several agents of one role.

        Args:
            role: The role.
            tasks: One task for each agent.
        """
        if len(tasks) > _MAX_TASKS:
            raise InvalidValue(f"at most {_MAX_TASKS} tasks can run at once, not {len(tasks)}")
        work = (self.delegate(role, task, session) for task in tasks)
        answers = await asyncio.gather(*work, return_exceptions=True)
        return "\n\n".join(f"{number}. {_answer_text(answer)}" for number, answer in enumerate(answers, 1))

    async def read_work(
        self, name: str, session: Session, start: int = 0, allowance: Allowance | None = None
    ) -> str:
        """Read the task, the steps and the answers of an agent that you asked.

        Args:
            name: The name of the agent, such as `researcher-1`.
            start: The character to start from; 0 is the beginning.
        """
        if name not in sub_agents(session):
            raise _unknown(name, sub_agents(session))
        child = await session.aio.child(name)
        items = _items_since(child, log_of(child).state.inherited_length(MAIN))
        add_sources(item.id for item in items)
        text = transcript_text(items, _MAX_TEXT)[start:]
        length = len(text) if allowance is None else allowance.characters(text) - len(_MORE)
        return text if length >= len(text) - len(_MORE) else text[:length] + _MORE.format(start + length)

    async def find(self, name: str, session: Session) -> Agent | None:
        """Make the sub-agent of this name in a conversation, if it has one of the roles."""
        role = self._roles.get(sub_agents(session).get(name, ""))
        return None if role is None else role.make(await session.aio.child(name))

    async def _start(self, role: Role, session: Session) -> tuple[str, Agent]:
        self._last_number = max(self._last_number, len(sub_agents(session)))
        while True:
            self._last_number += 1  # before the first await: concurrent tasks take numbers too
            name = f"{role.name}-{self._last_number}"
            child = await session.aio.child(name)
            if not child.version:
                break
        if role.sees != "brief":
            child = await session.aio.fork(name, turns=None if role.sees == "all" else role.sees)
        agent = role.make(child)
        await session.aio.append(Handoff(name, extras={_ROLE: role.name}), to=CREW)
        return name, agent


def _brief(task: str, session: Session) -> Message:
    """The task as a message, as untrusted as the content that the model had seen when it wrote it."""
    call, view = running_call(), session.view()
    if call is None:
        return Message("user", task)
    ids = call.extras.get(UNTRUSTED, [""])  # without a list, assume one unknown item
    positions = [view.log.find(id, view.end) for id in ids]
    origins: list[Origin] = [origin_of(view, view.log.item(p)) for p in positions if p is not None]
    origins.append("model" if len(origins) == len(positions) else "external")  # an item is unknown here
    # The call is its source, so that forgetting the call forgets the task.
    return Message("user", task, origin=lowest(origins), extras={SOURCES: [call.id]})


async def _answer(name: str, agent: Agent, brief: Message, timeout: float | None, pointer: str) -> str:
    """Ask a sub-agent; the answer of one that did not finish lists the tools that it called."""
    before = agent.session.view().revision
    timer = asyncio.timeout(timeout)
    try:
        async with timer:
            reply = await agent.ask(brief)
    except TimeoutError:
        if not timer.expired():
            raise
        words = f"{name} did not finish in {timeout:g} seconds, and was stopped."
        return words + describe_calls_in(_items_since(agent.session, before))
    if reply.stop == "waiting":
        return _waiting_text(name, agent, reply)
    if reply.stop != "done":
        words = f"{name} stopped before it was done ({reply.stop}): {reply.text}"
        return words + describe_calls_in(_items_since(agent.session, before))
    add_sources(item.id for item in reply.items if isinstance(item, Message))
    return reply.text + pointer.format(name=name)


def _unknown(name: str, known: Iterable[str]) -> UnknownKey:
    return UnknownKey(f"no agent is called {cut(name)!r}; there is {', '.join(known) or 'none yet'}")


def _items_since(session: Session, revision: int) -> list[Item]:
    view = session.view()
    return [view.log.item(position) for position in range(revision, view.revision)]


def _waiting_text(name: str, agent: Agent, reply: Reply) -> str:
    """The questions and approvals that a sub-agent waits for, for its parent to pass on."""
    asking_tools = {tool.name for tool in agent.tools if tool.asks_person}
    questions = [call for call in reply.waiting if call.name in asking_tools]
    lines: list[str] = []
    for call in reply.waiting:
        shown = f"{cut(call.name)} with {cut(call.arguments, _MAX_CALL)}"
        if call in questions:
            lines.append(f"{name} asks the user by {shown}. The next task for {name} is the answer.")
            continue
        waits = f"{name} waits until a person approves the call {cut(call.call_id)} of {shown}"
        place = f"in the conversation {agent.session.place}"
        then = f"A new task for {name} cancels the call."
        if questions:
            then = f"It keeps waiting when {name} has its answer."
        lines.append(f"{waits}, {place}. {then}")
    return "\n".join(lines)


def _answer_text(answer: str | BaseException) -> str:
    if isinstance(answer, str):
        return answer
    if not isinstance(answer, Exception):
        raise answer
    return f"It failed: {type(answer).__name__}: {answer}"


def _delegations(agent: Agent) -> Iterator[Delegation]:
    """The delegations of all agents that may speak in the conversation of an agent."""
    unvisited, seen_names = [agent.speaker], set[str]()
    while unvisited:
        speaker = unvisited.pop()
        if speaker.name not in seen_names:
            seen_names.add(speaker.name)
            unvisited += speaker.handoffs.values()
            owners = {getattr(tool.function, "__self__", None) for tool in speaker.tools.values()}
            yield from (owner for owner in owners if isinstance(owner, Delegation))
