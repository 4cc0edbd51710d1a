"""Runs the jobs of a conversation: each begins once, is resumed after a crash, and its end is recorded."""

import logging
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial

from quire.agent import Agent, Asking, Delta, TurnEnded
from quire.errors import Conflict, QuireError, Stopped, StoreError, TurnBusy
from quire.items import ToolResult
from quire.session import Behind, Outcome, RunningJob, claim_job, parts_of, transcript_with

logger = logging.getLogger("quire.node")

Errors = tuple[type[Exception], ...]

RETRYABLE: Errors = (StoreError, Conflict, TurnBusy, Stopped)
"""Failures after which a retry may succeed. A `Conflict` may be `TurnLost`: another worker has the job."""


async def run_job(
    agent: Agent, job_id: str, *, force: bool, raises: Errors, is_stopped: Callable[[], bool]
) -> AsyncGenerator[Delta | Outcome, None]:
    """Do a job: yield the deltas of its turn, and then its outcome; if it had ended before, only the outcome.

    A failure ends the job, except for errors of `raises`: these are raised, and the job stays open. It also
    stays open if the node stops during the turn. `force` takes the job over from another process. An
    unfinished job of the conversation is done first.
    """
    run = partial(run_job, agent, force=force, raises=raises, is_stopped=is_stopped)
    unfinished: str | None = None
    with suppress(Behind):  # others wrote meanwhile, and the session has read that: run the job again below
        async with claim_job(parts_of(agent.session).writer, job_id, force=force) as running:
            unfinished = running.unfinished
            if running.outcome is None and unfinished is None:
                async with aclosing(_run_turn(agent, running, raises, is_stopped)) as deltas:
                    async for delta in deltas:
                        yield delta
            if running.outcome is not None:
                yield running.outcome
                return
    if unfinished is not None:
        async with aclosing(run(unfinished, force=False)) as events:  # `TurnBusy` if another does it
            async for _ in events:
                pass
    async with aclosing(run(job_id)) as events:
        async for event in events:
            yield event


async def _run_turn(
    agent: Agent, running: RunningJob, raises: Errors, is_stopped: Callable[[], bool]
) -> AsyncGenerator[Delta, None]:
    """Run the turn of a claimed job: yield its deltas, and record the end of the job before the last one."""
    if running.is_cancelled or running.is_forgotten:  # before this process claimed it
        await running.end("cancelled")
        return
    try:
        async with _traced(running.job.trace), aclosing(_deltas(agent, running)) as deltas:
            async for delta in deltas:
                if isinstance(delta, TurnEnded):
                    reply = delta.reply
                    if reply.stop == "interrupted" and is_stopped():
                        raise Stopped("the node was stopped before the job had ended")
                    stop = "cancelled" if running.is_cancelled else reply.stop
                    await running.end(stop, waiting=[call.call_id for call in reply.waiting])
                yield delta
    except (*RETRYABLE, *raises):
        raise
    except Exception as fault:
        await fail_job(running, fault)


@asynccontextmanager
async def _traced(trace: str) -> AsyncGenerator[None]:
    """Run the block as a part of a trace, if OpenTelemetry is in use."""
    if not trace or "opentelemetry" not in sys.modules:
        yield
        return
    from opentelemetry import context, propagate

    token = context.attach(propagate.extract({"traceparent": trace}))
    try:
        yield
    finally:
        context.detach(token)


async def fail_job(running: RunningJob, fault: Exception) -> Outcome:
    """End a failed job. Only Quire's own errors are recorded with their text, as others may quote content."""
    error = str(fault) if isinstance(fault, QuireError) else type(fault).__name__
    logger.warning("a job failed: %s", type(fault).__name__)  # the outcome says why
    logger.debug("a job failed", exc_info=fault)
    return await running.end("failed", error=error)


async def _deltas(agent: Agent, running: RunningJob) -> AsyncGenerator[Delta, None]:
    """Run the turn of a job, and yield its deltas. Parts of it that are recorded are not repeated."""
    job, session = running.job, agent.session
    asking = Asking(parameters=job.parameters or None, tools=job.tools, output=job.output or None)
    if before := [item for item in job.before if transcript_with(session, item.id) is None]:
        await session.aio.append(*before)
    if job.message is not None and transcript_with(session, job.id) is None:
        # Results first: a message would close the calls that they answer.
        open_ids = {call.call_id for call in session.view().pending()}
        if results := [result for result in job.results if result.call_id in open_ids]:
            await session.aio.append(*results)
        if not job.is_streamed:
            yield TurnEnded(await agent.ask(job.message, **asking))
            return
        deltas = agent.stream(job.message, **asking)
    else:
        results_by_call = {result.call_id: result for result in job.results}
        verdicts = {**await _open_decisions(agent, running), **results_by_call}
        if not job.is_streamed:
            yield TurnEnded(await agent.decide(verdicts, **asking))
            return
        deltas = agent.decide_stream(verdicts, **asking)
    async with aclosing(deltas):
        async for delta in deltas:
            yield delta


async def _open_decisions(agent: Agent, running: RunningJob) -> dict[str, bool | str | ToolResult]:
    """Record the approvals of a job; return its decisions, on a retry only those not carried out yet."""
    calls = agent.session.calls.list_open()
    waiting = [call for call, progress in calls if progress not in ("running", "begun")]
    waiting_ids = {name for call in waiting for name in (call.id, call.call_id)}
    decisions: dict[str, bool | str | ToolResult] = {}
    for name, verdict in running.job.decisions.items():
        if not running.is_retry or name in waiting_ids:
            decisions[name] = verdict
            if verdict is True:
                await agent.session.aio.calls.decide(name, True)
    return decisions
