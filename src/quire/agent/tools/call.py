"""Calling a tool: every error of the tool or of the model becomes an outcome that the model can read.

A plain function, or plain generator, runs in a thread. A thread cannot be stopped: after a timeout it keeps
running, and its output is ignored. A function that had not begun by then is not called.
"""

import asyncio
import logging
import traceback
from collections.abc import AsyncIterable, Callable, Iterator, Mapping
from functools import partial
from inspect import isawaitable
from typing import Any, TypeGuard, cast

from quire.agent.tools.output import Allowance, Outcome, Output, Room, ToolOutputError, failed
from quire.agent.tools.schema import Misfit, read_json
from quire.agent.tools.tool import Tool
from quire.errors import WrongType
from quire.items import replace_surrogates
from quire.session import Session
from quire.stores.threads import TOOLS

logger = logging.getLogger("quire.agent")

_CANCEL_SECONDS = 1.0
"""Seconds that a tool has to finish once it is cancelled."""

_MAX_ERRORS, _MAX_MESSAGE = 5, 500
"""Errors of a group that a model reads, and characters of each."""


async def run(
    tool: Tool, arguments: str | Mapping[str, Any] = "{}", *, session: Session | None = None
) -> Outcome:
    """Call a tool as a model would.

    The arguments are JSON text as a model writes it, or values by name. Notes that the tool yields are stored
    in the session at once; the caller stores notes that it returns. Cancelling `run` cancels the tool.
    """
    if not isinstance(tool, Tool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"run takes a Tool, not {type(tool).__name__}")
    outcome, cancelled = await call_tool(tool, arguments, session=session)
    if cancelled is not None:
        raise cancelled
    return outcome


async def call_tool(
    tool: Tool,
    arguments: str | Mapping[str, Any],
    *,
    session: Session | None = None,
    room: Room | None = None,
) -> tuple[Outcome, asyncio.CancelledError | None]:
    """As `run`, but returns both the outcome and a cancellation if the tool completed despite it.

    `room` may shorten the output that is shown.
    """
    try:
        values = tool.signature.read(read_json(arguments))
    except Misfit as fault:
        return failed(f"The call of {tool.name} was not run: {fault}."), None
    allowance = Allowance(tool.max_output, room)
    injected = tool.signature.inject(session, allowance)
    output = Output(tool.name, session, allowance)
    outcome, cancelled = await _Call(tool, partial(tool.function, **values, **injected), output).finish()
    logger.debug("tool %s: %s", tool.name, outcome.stop_reason)
    return outcome, cancelled


class _Call:
    def __init__(self, tool: Tool, function: Callable[[], Any], output: Output) -> None:
        self._tool = tool
        self._function = function
        self._output = output
        self._has_begun = False
        self._value: Any = None
        self._error: BaseException | None = None

    async def finish(self) -> tuple[Outcome, asyncio.CancelledError | None]:
        """Run the call to its end or its timeout."""
        task = asyncio.ensure_future(self._run())
        cancelled: asyncio.CancelledError | None = None
        try:
            await asyncio.wait((task,), timeout=self._tool.timeout)
        except asyncio.CancelledError as fault:
            has_completed = task.done() or (await self._stop(task) and self._is_completed(task))
            if not has_completed:
                raise
            cancelled = fault
        is_timed_out = not task.done()
        if is_timed_out:
            await self._stop(task)
        if self._output.store_error is not None:
            raise self._output.store_error
        return (self._timed_out(task.done()) if is_timed_out else self._ended(task)), cancelled

    async def _run(self) -> None:
        try:
            if self._tool.kind == "plain":
                value = await self._call_in_thread()
            else:
                self._has_begun = True
                value = self._function()
            await self._collect(value)
        except (Exception, SystemExit) as fault:  # a tool must not end the program
            self._error = fault

    async def _call_in_thread(self) -> Any:
        """Call the function, and drain its generator if it is one, in a thread.

        An awaitable or an async iterator is returned, because only the event loop can run it.
        """
        pending: list[Any] = []

        def work() -> None:
            try:
                self._has_begun = True
                if self._output.is_closed:  # it timed out before a thread was free
                    return
                value = self._function()
                if isawaitable(value) or _is_async(value):
                    pending.append(value)
                elif _is_iterator(value):
                    self._drain(value)
                else:
                    self._value = value
                    self._output.add_returned(value)
            except BaseException as fault:
                self._error = fault

        await TOOLS.begin(work)
        return pending[0] if pending else None

    def _drain(self, values: Iterator[Any]) -> None:
        try:
            for value in values:
                self._output.add_from_thread(value)
                if self._output.is_closed:
                    break
        finally:
            close = getattr(values, "close", None)
            if callable(close):
                close()

    async def _collect(self, value: Any) -> None:
        """Add the result of an async function, or the values of an async generator, to the output."""
        if isawaitable(value):
            self._value = await cast(Any, value)
            self._output.add_returned(self._value)
        elif _is_async(value):
            try:
                async for item in value:
                    await self._output.add_yielded(item)
            finally:
                close = getattr(value, "aclose", None)
                if callable(close):
                    await cast(Any, close)()

    async def _stop(self, task: "asyncio.Task[None]") -> bool:
        """Cancel the call; return whether it has stopped. A tool that does not stop is left running."""
        self._output.is_closed = True
        task.cancel()
        await asyncio.wait((task,), timeout=_CANCEL_SECONDS)
        if not task.done():
            logger.warning("a tool does not stop when it is cancelled; it is left running")
        return task.done()

    def _is_completed(self, task: "asyncio.Task[None]") -> bool:
        return not task.cancelled() and task.exception() is None and self._error is None

    def _ended(self, task: "asyncio.Task[None]") -> Outcome:
        if task.cancelled():
            return self._output.outcome("cancelled", "The tool was cancelled.", **self._details())
        task.result()  # an interrupt from the keyboard is raised again
        if self._error is None:
            return self._output.outcome("completed", None, **self._details())
        _log(self._tool, self._error)
        return self._output.outcome("error", _error_text(self._error), **self._details())

    def _timed_out(self, has_stopped: bool) -> Outcome:
        words = f"The tool did not finish within {self._tool.timeout:g} seconds."
        if not self._has_begun:
            words += " It had not begun, and was not run."
        elif self._tool.kind == "plain":
            words += " It cannot be stopped and may still be running: it may yet take effect."
        elif not has_stopped:
            words += " It was told to stop and did not: it may yet take effect."
        else:
            words += " It was stopped, and may have taken effect in part."
        return self._output.outcome("timeout", words, **self._details())

    def _details(self) -> dict[str, Any]:
        raised = None if isinstance(self._error, ToolOutputError) else self._error
        return {"value": self._value, "error": raised, "has_begun": self._has_begun}


def _is_iterator(value: Any) -> TypeGuard[Iterator[Any]]:
    return isinstance(value, Iterator)


def _is_async(value: Any) -> TypeGuard[AsyncIterable[Any]]:
    return isinstance(value, AsyncIterable)


def _error_text(fault: BaseException) -> str:
    """An error as the model reads it: its type, its message and its notes, without a traceback."""
    if isinstance(fault, ToolOutputError):
        return str(fault)
    try:
        message = str(fault)
    except Exception:  # the error's own code may fail
        message = ""
    name = type(fault).__name__
    words = replace_surrogates(f"{name}: {message}") if message else name
    notes = "".join(f"\n{note}" for note in getattr(fault, "__notes__", ()))
    if not isinstance(fault, BaseExceptionGroup):
        return words + notes
    within = cast("BaseExceptionGroup[BaseException]", fault).exceptions[:_MAX_ERRORS]
    return f"{words}: {'; '.join(_error_text(inner)[:_MAX_MESSAGE] for inner in within)}{notes}"


def _log(tool: Tool, fault: BaseException) -> None:
    """Log where an error was raised, by file and line, without its message or source lines."""
    if logger.isEnabledFor(logging.DEBUG):
        frames = traceback.extract_tb(fault.__traceback__)
        places = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames))
        logger.debug("tool %s raised %s at %s", tool.name, type(fault).__name__, places)
