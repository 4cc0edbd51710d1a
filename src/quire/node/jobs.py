"""Running a job of a conversation: asked once, gone on with after a crash, and ended on the record."""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from quire.agent import Agent, Asking, Delta, Done
from quire.errors import QuireError, Stopped, StoreError, TurnBusy, TurnLost
from quire.items import ToolResult
from quire.session import Outcome, Taken, transcript_with

logger = logging.getLogger("quire.node")

Raised = tuple[type[Exception], ...]

_NOT_ENDED: Raised = (StoreError, TurnLost, TurnBusy, Stopped)
"""Failures after which another attempt may succeed, or another worker has the job."""


async def run_job(
    agent: Agent, job_id: str, *, force: bool, raises: Raised, is_stopped: Callable[[], bool]
) -> AsyncGenerator[Delta | Outcome, None]:
    """Do a job: the deltas of its turn, and how it ended, last. One that has ended only gives its outcome.

    A failure ends the job, except those of `raises`: these are raised, and the job stays. So it does if the
    turn was interrupted because the node is stopped. `force` takes it over from whoever does it.
    """
    async with agent.session.jobs.taken(job_id, force=force) as taken:
        if taken.outcome is None:
            try:
                async with aclosing(_deltas(agent, taken)) as deltas:
                    async for delta in deltas:
                        if isinstance(delta, Done):
                            reply = delta.reply
                            if reply.stop == "interrupted" and is_stopped():
                                raise Stopped("the node was stopped before the job had ended")
                            await taken.end(reply.stop, waiting=[call.call_id for call in reply.waiting])
                        yield delta
            except (*_NOT_ENDED, *raises):
                raise
            except Exception as fault:
                is_ours = isinstance(fault, QuireError)
                logger.warning(
                    "a job of %s failed: %s", agent.session.place, fault, exc_info=None if is_ours else fault
                )
                await taken.end("failed", error=str(fault) if is_ours else type(fault).__name__)
        assert taken.outcome is not None
        yield taken.outcome


async def _deltas(agent: Agent, taken: Taken) -> AsyncGenerator[Delta, None]:
    """The turn of a job; a part of it that is on the record is not done again."""
    job, session = taken.job, agent.session
    asking = Asking(parameters=job.parameters or None, tools=job.tools)
    is_asked = job.message is None or (taken.is_retry and transcript_with(session, job.id) is not None)
    open_ids = {name for call in session.view().pending() for name in (call.id, call.call_id)}
    verdicts: dict[str, bool | str | ToolResult] = {one.call_id: one for one in job.results}
    verdicts |= {name: one for name, one in job.decisions.items() if name in open_ids or not taken.is_retry}
    if job.message is not None and not is_asked:
        # They come before the message: it would close the calls that they answer.
        await session.aio.append(*[one for one in job.results if one.call_id in open_ids])
        if not job.is_streamed:
            yield Done(await agent.ask(job.message, **asking))
            return
        deltas = agent.stream(job.message, **asking)
    else:
        if not job.is_streamed:
            yield Done(await agent.decide(verdicts, **asking))
            return
        deltas = agent.decide_stream(verdicts, **asking)
    async with aclosing(deltas):
        async for delta in deltas:
            yield delta
