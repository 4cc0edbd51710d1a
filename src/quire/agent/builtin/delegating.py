"""Tools by which an agent gives work to others: start them, give them tasks, and stop them."""

import asyncio
from typing import Annotated

from quire.agent.builtin.crew import Crew, waits
from quire.agent.builtin.roles import Role
from quire.agent.tools import Tool, tool
from quire.errors import InvalidValue
from quire.session import Session

_MOST = 20
"""Tasks that may be given out at once."""


def delegating_tools(*roles: Role, timeout: float | None = 600.0) -> list[Tool]:
    """The tools by which an agent gives work to others in some roles; each task may take so many seconds."""
    if not roles:
        raise InvalidValue("work is given to at least one role")
    work = _Delegating(Crew(roles), timeout)
    told = "".join(f"\n- {role.name}: {role.description}" for role in roles)
    return [
        tool(description=f"Start an agent that keeps its conversation from task to task. Roles:{told}")(
            work.start_agent
        ),
        tool(description=f"Give an agent a task, and wait for what comes back. Roles:{told}")(work.delegate),
        tool(description=f"Give tasks to several agents at once, and wait for all. Roles:{told}")(
            work.delegate_in_parallel
        ),
        tool(idempotent=True)(work.list_agents),
        tool(idempotent=True)(work.stop_agent),
    ]


class _Delegating:
    """What the tools do."""

    def __init__(self, crew: Crew, timeout: float | None) -> None:
        self.crew = crew
        self._timeout = timeout

    async def start_agent(self, role: Annotated[str, "The role."], session: Session) -> str:
        return f"{(await self.crew.start(role, session)).name} is started."

    async def delegate(
        self,
        to: Annotated[str, "A role, or the name of an agent that was started."],
        task: Annotated[str, "All that is to be known to do it: the agent may see nothing else."],
        session: Session,
    ) -> str:
        return await self.crew.do(to, task, session, self._timeout)

    async def delegate_in_parallel(
        self,
        role: Annotated[str, "The role."],
        tasks: Annotated[list[str], "One task for each agent."],
        session: Session,
    ) -> str:
        if len(tasks) > _MOST:
            raise InvalidValue(f"at most {_MOST} tasks can be given at once, not {len(tasks)}")
        work = (self.crew.do(role, task, session, self._timeout) for task in tasks)
        answers = await asyncio.gather(*work, return_exceptions=True)
        return "\n\n".join(f"{number}. {_said(answer)}" for number, answer in enumerate(answers, 1))

    async def list_agents(self, session: Session) -> list[str]:
        """List the agents that were started and the roles that there are."""
        members = self.crew.members(session)
        told = [f"{name} (waits for a person)" if waits(one) else name for name, one in members.items()]
        return [*told, *(f"{name} (a role)" for name in self.crew.roles)]

    async def stop_agent(self, name: Annotated[str, "Its name."], session: Session) -> str:
        """Stop an agent that was started."""
        await self.crew.stop(name, session)
        return f"{name} is stopped."


def _said(answer: str | BaseException) -> str:
    if isinstance(answer, str):
        return answer
    if not isinstance(answer, Exception):
        raise answer
    return f"It failed: {type(answer).__name__}: {answer}"
