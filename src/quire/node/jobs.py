"""Running a job of a conversation: asked once, gone on with after a crash, and ended on the record."""

import logging
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial

from quire.agent import Agent, Asking, Delta, Done
from quire.errors import Conflict, QuireError, Stopped, StoreError, TurnBusy
from quire.items import ToolResult
from quire.session import Behind, Outcome, Taken, parts_of, take_job, transcript_with

logger = logging.getLogger("quire.node")

Raised = tuple[type[Exception], ...]

NOT_ENDED: Raised = (StoreError, Conflict, TurnBusy, Stopped)
"""Failures after which another attempt may succeed, or another worker has the job (`TurnLost`)."""


async def run_job(
    agent: Agent, job_id: str, *, force: bool, raises: Raised, is_stopped: Callable[[], bool]
) -> AsyncGenerator[Delta | Outcome, None]:
    """Do a job: the deltas of its turn, and how it ended, last. One that has ended only gives its outcome.

    A failure ends the job, except those of `raises`: these are raised, and the job stays. So it does if the
    turn was interrupted because the node is stopped. `force` takes it over from whoever does it. A job that
    was begun and has not ended goes first.
    """
    again = partial(run_job, agent, force=force, raises=raises, is_stopped=is_stopped)
    first: str | None = None
    try:
        async with take_job(parts_of(agent.session).writer, job_id, force=force) as taken:
            first = taken.unfinished
            if taken.outcome is None and first is None:
                async with aclosing(_done(agent, taken, raises, is_stopped)) as deltas:
                    async for delta in deltas:
                        yield delta
            if taken.outcome is not None:
                yield taken.outcome
                return
    except Behind:  # what others did is known now
        pass
    if first is not None:
        async with aclosing(again(first, force=False)) as events:  # `TurnBusy` while somebody does it
            async for _ in events:
                pass
    async with aclosing(again(job_id)) as events:
        async for event in events:
            yield event


async def _done(
    agent: Agent, taken: Taken, raises: Raised, is_stopped: Callable[[], bool]
) -> AsyncGenerator[Delta, None]:
    """The deltas of a job that was taken; it has ended when they have."""
    if taken.is_cancelled or taken.is_forgotten:  # while another did it, or before it began
        await taken.end("cancelled")
        return
    try:
        async with _traced(taken.job.trace), aclosing(_deltas(agent, taken)) as deltas:
            async for delta in deltas:
                if isinstance(delta, Done):
                    reply = delta.reply
                    if reply.stop == "interrupted" and is_stopped():
                        raise Stopped("the node was stopped before the job had ended")
                    stop = "cancelled" if taken.is_cancelled else reply.stop
                    await taken.end(stop, waiting=[call.call_id for call in reply.waiting])
                yield delta
    except (*NOT_ENDED, *raises):
        raise
    except Exception as fault:
        await fail_job(taken, fault)


@asynccontextmanager
async def _traced(trace: str) -> AsyncGenerator[None]:
    """Make what happens in the block a part of a trace, where OpenTelemetry is in use."""
    if not trace or "opentelemetry" not in sys.modules:
        yield
        return
    from opentelemetry import context, propagate

    token = context.attach(propagate.extract({"traceparent": trace}))
    try:
        yield
    finally:
        context.detach(token)


async def fail_job(taken: Taken, fault: Exception) -> Outcome:
    """End a job that failed. The words of errors that are not ours may hold content, and are not logged."""
    is_ours = isinstance(fault, QuireError)
    told = str(fault) if is_ours else type(fault).__name__
    logger.warning("a job failed: %s", type(fault).__name__)  # the outcome says why
    logger.debug("a job failed", exc_info=fault)
    return await taken.end("failed", error=told)


async def _deltas(agent: Agent, taken: Taken) -> AsyncGenerator[Delta, None]:
    """The turn of a job; a part of it that is on the record is not done again."""
    job, session = taken.job, agent.session
    asking = Asking(parameters=job.parameters or None, tools=job.tools, output=job.output or None)
    if before := [one for one in job.before if transcript_with(session, one.id) is None]:
        await session.aio.append(*before)
    if job.message is not None and transcript_with(session, job.id) is None:
        # Results come before the message: it would close the calls that they answer.
        open_ids = {call.call_id for call in session.view().pending()}
        if results := [one for one in job.results if one.call_id in open_ids]:
            await session.aio.append(*results)
        if not job.is_streamed:
            yield Done(await agent.ask(job.message, **asking))
            return
        deltas = agent.stream(job.message, **asking)
    else:
        verdicts = {**await _decided(agent, taken), **{one.call_id: one for one in job.results}}
        if not job.is_streamed:
            yield Done(await agent.decide(verdicts, **asking))
            return
        deltas = agent.decide_stream(verdicts, **asking)
    async with aclosing(deltas):
        async for delta in deltas:
            yield delta


async def _decided(agent: Agent, taken: Taken) -> dict[str, bool | str | ToolResult]:
    """The decisions of a job; after a crash, those that nobody acted on. Approvals go on the record first."""
    waiting = [
        call for call, standing in agent.session.calls.standing() if standing not in ("running", "begun")
    ]
    known = {name for call in waiting for name in (call.id, call.call_id)}
    found: dict[str, bool | str | ToolResult] = {}
    for name, verdict in taken.job.decisions.items():
        if not taken.is_retry or name in known:
            found[name] = verdict
            if verdict is True:
                await agent.session.aio.calls.decide(name, True)
    return found
