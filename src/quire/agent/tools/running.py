"""Running a tool: whatever the tool or the model does wrong becomes an outcome that the model can read."""

import asyncio
import logging
import traceback
from collections.abc import Iterator, Mapping
from itertools import islice
from time import monotonic
from typing import Any, cast

from msgspec.structs import replace

from quire.agent.tools.arguments import read_json
from quire.agent.tools.calling import Call
from quire.agent.tools.capping import Allowance, Room
from quire.agent.tools.gathering import Gathering, NotKept, NotTold, Route, TooMuch, route_of
from quire.agent.tools.injecting import values_for
from quire.agent.tools.outcome import TOLD_BESIDE, Outcome, StopReason, failed
from quire.agent.tools.shapes import Misfit
from quire.agent.tools.signature import Bound
from quire.agent.tools.tool import Tool
from quire.errors import WrongType
from quire.items import replace_surrogates
from quire.session import Session
from quire.state import Pool
from quire.tokens import number

logger = logging.getLogger("quire.agent")

_GRACE = 1.0
"""Seconds that a tool has to tidy up once it is told to stop."""

_MOST_INNER, _LONGEST_INNER = 5, 500
"""Of a group of errors, how many a model is told, and characters of each."""


async def run(
    tool: Tool,
    arguments: str | Mapping[str, Any] = "{}",
    *,
    session: Session | None = None,
    pool: Pool | None = None,
    timeout: float | None = None,
    route: Route | None = None,
    room: Room | None = None,
) -> Outcome:
    """Call a tool as a model asks for it.

    The arguments are JSON text as the model wrote it, or values by name. What the tool yields is handled as
    it comes: notes go by `route`, or to the session. Notes that it returns are left to the caller, to be kept
    with the result. A `timeout` given here replaces the tool's own; where there is less `room` for its output
    than the tool allows, that holds. Cancelling this stops the tool.
    """
    outcome, cancelled = await run_or_stop(
        tool, arguments, session=session, pool=pool, timeout=timeout, route=route, room=room
    )
    if cancelled is not None:
        raise cancelled
    return outcome


async def run_or_stop(
    tool: Tool,
    arguments: str | Mapping[str, Any],
    *,
    session: Session | None = None,
    pool: Pool | None = None,
    timeout: float | None = None,
    route: Route | None = None,
    room: Room | None = None,
) -> tuple[Outcome, asyncio.CancelledError | None]:
    """What `run` does, with the outcome also where it was cancelled and the tool was done all the same."""
    if not isinstance(tool, Tool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"what is run is a Tool, not {type(tool).__name__}")
    seconds = tool.timeout if timeout is None else number(timeout, "a timeout", 0)
    began = monotonic()
    try:
        bound = _bound(tool, arguments, session, pool, Allowance(tool.max_output, room))
    except Misfit as fault:
        return failed(f"The call of {tool.name} was not run: {fault}."), None
    gathering = Gathering(tool.name, route or (None if session is None else route_of(session)), room)
    outcome, cancelled = await _run(tool, Call(tool, bound, gathering), gathering, seconds)
    logger.debug("tool %s: %s", tool.name, outcome.stop_reason)
    return replace(outcome, seconds=monotonic() - began), cancelled


def _bound(
    tool: Tool,
    arguments: str | Mapping[str, Any],
    session: Session | None,
    pool: Pool | None,
    allowance: Allowance,
) -> Bound:
    signature = tool.signature
    read = signature.read(read_json(arguments))
    filled_in = values_for(signature.injected, session, pool, allowance)
    return signature.bind({**read, **signature.fixed, **filled_in})


async def _run(
    tool: Tool, call: Call, gathering: Gathering, seconds: float | None
) -> tuple[Outcome, asyncio.CancelledError | None]:
    """Let a call run to its end, or to the end of its time, in a task of its own that can be left behind."""
    task = asyncio.ensure_future(call.run())
    cancelled: asyncio.CancelledError | None = None
    try:
        await asyncio.wait((task,), timeout=seconds)
    except asyncio.CancelledError as fault:
        if not task.done() and not await _is_done_though_stopped(task, call):
            raise
        cancelled = fault
    is_over = task.done()
    has_stopped = is_over or await _stopped(task)
    if gathering.broken is not None:
        raise gathering.broken
    if not is_over:
        return _outcome(tool, gathering, _too_late(tool, call, seconds, has_stopped), "timeout"), None
    return _ended(tool, call, gathering, task), cancelled


def _ended(tool: Tool, call: Call, gathering: Gathering, task: asyncio.Task[None]) -> Outcome:
    if task.cancelled():
        return _outcome(tool, gathering, "The tool was cancelled.", "cancelled")
    task.result()  # what is no mere error, such as an interrupt from the keyboard, goes on its way
    if call.fault is not None:
        _log(tool, call.fault)
        return _outcome(tool, gathering, _words(call.fault), "error")
    return _outcome(tool, gathering, None, "completed")


async def _is_done_though_stopped(task: asyncio.Task[None], call: Call) -> bool:
    """Tell a call to stop; whether it came to its end all the same. One that failed may have been stopped."""
    return await _stopped(task) and not task.cancelled() and task.exception() is None and call.fault is None


async def _stopped(task: asyncio.Task[None]) -> bool:
    """Tell a call to stop; whether it did. Who does not listen is left behind."""
    task.cancel()
    await asyncio.wait((task,), timeout=_GRACE)
    if not task.done():
        logger.warning("a tool does not stop when it is cancelled; it is left running")
    return task.done()


def _outcome(tool: Tool, gathering: Gathering, fault: str | None, reason: StopReason) -> Outcome:
    content = gathering.content(tool.max_output, fault)  # which may add notes
    return Outcome(
        content=content,
        is_error=fault is not None,
        stop_reason=reason,
        notes=tuple(gathering.notes),
        routed=tuple(gathering.routed),
    )


def _too_late(tool: Tool, call: Call, seconds: float | None, has_stopped: bool) -> str:
    said = f"The tool did not finish within {seconds:g} seconds."
    if not call.has_begun:
        return f"{said} It was not begun: another call of it is still running."
    if tool.kind == "plain":
        return f"{said} It cannot be stopped and may still be running: what it was to do may yet be done."
    if not has_stopped:
        return f"{said} It was told to stop and did not: what it was to do may yet be done."
    return f"{said} It was stopped: what it was to do may be done in part."


def _words(fault: BaseException) -> str:
    """An error as the model reads it: its type and its message, and nothing of where it came from."""
    if isinstance(fault, TooMuch | NotKept):
        return str(fault)
    if isinstance(fault, NotTold) and fault.__cause__ is not None:
        return f"{fault}: {_words(fault.__cause__)}"
    try:
        said = str(fault)
    except Exception:  # it may be as broken as the tool
        said = ""
    name = type(fault).__name__
    words = replace_surrogates(f"{name}: {said}") if said else name
    beside = str(getattr(fault, TOLD_BESIDE, ""))
    inner = list(islice(_leaves(fault), _MOST_INNER))
    if inner[0] is fault:
        return words + beside
    return f"{words}: {'; '.join(_words(one)[:_LONGEST_INNER] for one in inner)}{beside}"


def _leaves(fault: BaseException) -> Iterator[BaseException]:
    """An error itself, or those within a group of them, which alone says only how many there are."""
    left = [fault]
    while left:
        one = left.pop()
        if isinstance(one, BaseExceptionGroup):
            left += reversed(cast("BaseExceptionGroup[BaseException]", one).exceptions)
        else:
            yield one


def _log(tool: Tool, fault: BaseException) -> None:
    """Where an error came from, by file and line: neither its message nor any line of source."""
    if logger.isEnabledFor(logging.DEBUG):
        frames = traceback.extract_tb(fault.__traceback__)
        places = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames))
        logger.debug("tool %s raised %s at %s", tool.name, type(fault).__name__, places)
