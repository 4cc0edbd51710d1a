"""What a tool gave or raised, as it is: a program works with values, and only a model reads their text."""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Iterator
from copy import copy
from inspect import isawaitable
from typing import Any, cast

from quire.agent import Outcome, Tool
from quire.agent.tools.arguments import read_json
from quire.agent.tools.signature import Signature
from quire.items.parts import text_of
from quire.programs.values import LARGE, TOLD, plain


class Watched:
    """A tool that is called once, and what the function gave or raised."""

    def __init__(self, tool: Tool) -> None:
        self._function: Any = tool.function
        self.tool = copy(tool)
        if tool.kind == "async":
            self.tool.function = self._awaited
        elif tool.kind == "plain":
            self.tool.function = self._called
        self.fault: BaseException | None = None
        self.has_run = tool.kind == "generator"
        """Whether the function was called; of one that yields, nobody can say."""
        self._values: list[Any] = []

    async def ready(self, arguments: str) -> tuple[Tool, str]:
        """The tool, and what it is to be called with; a `Misfit` where that does not fit.

        A program gives more than any model writes. Read in a thread, that holds up nothing else, and the
        tool that is called has it set already.
        """
        if len(arguments) <= LARGE:
            return self.tool, arguments
        signature, ready = self.tool.signature, copy(self.tool)
        read = await asyncio.to_thread(lambda: signature.read(read_json(arguments)))
        # A signature of another kind than a function's reads its own way: nothing is left to read here.
        ready.__dict__["signature"] = Signature(
            signature.order, {}, None, signature.injected, {**read, **signature.fixed}
        )
        return ready, "{}"

    def value(self, outcome: Outcome) -> Any:
        """What a program is given of the call; where it failed, that is raised."""
        words = text_of(outcome.content)
        if outcome.is_error:
            raise self._error(outcome, words)
        if not self._values or _is_told(self._values[0]):
            return words
        return plain(self._values[0])

    def _error(self, outcome: Outcome, words: str) -> Exception:
        if outcome.stop_reason == "timeout":
            return TimeoutError(words)
        # Raised again, a fault is the tool's own type, by which a program may tell it from others.
        return self.fault if isinstance(self.fault, Exception) else RuntimeError(words)

    async def _awaited(self, *args: Any, **kwargs: Any) -> Any:
        self.has_run = True
        return await self._settled(self._function(*args, **kwargs))

    def _called(self, *args: Any, **kwargs: Any) -> Any:
        self.has_run = True
        try:
            value = self._function(*args, **kwargs)
        except BaseException as fault:
            self.fault = fault
            raise
        if isawaitable(value):
            return self._settled(value)
        return self._seen(value)

    async def _settled(self, coming: Awaitable[Any]) -> Any:
        try:
            return self._seen(await coming)
        except BaseException as fault:
            self.fault = fault
            raise

    def _seen(self, value: Any) -> Any:
        if not isinstance(value, AsyncIterable | Iterator):
            self._values.append(value)
        return value  # pyright: ignore[reportUnknownVariableType]


def _is_told(value: Any) -> bool:
    inside = cast("list[Any]", value) if isinstance(value, list | tuple) else [value]
    return any(isinstance(one, TOLD) for one in inside)
