"""What a tool gave or raised, as it is: a program works with values, and only a model reads their text."""

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Generator, Iterator, Mapping
from copy import copy
from inspect import isawaitable
from typing import Any, cast

from quire.agent import Outcome, Tool
from quire.agent.calls import has_acted, having_acted
from quire.agent.tools import Signature, read_json
from quire.items import text_of
from quire.programs.values import LARGE, TOLD, plain
from quire.stores.threads import COMPUTING


class _Ready(Signature):
    """A signature whose arguments are read already."""

    def __init__(self, signature: Signature, read: dict[str, Any]) -> None:
        self.order, self.injected, self.fixed = signature.order, signature.injected, signature.fixed
        self._given = read

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What was read."""
        return self._given


class Watched:
    """A tool that is called once, by what its call is known by, and what the function gave or raised."""

    def __init__(self, tool: Tool, key: str) -> None:
        self._function: Any = tool.function
        self.tool = copy(tool)
        self.tool.function = self._awaited if tool.kind == "async" else self._called
        self.key = key
        self.fault: BaseException | None = None
        self.has_run = False
        """Whether the function was called."""
        self._values: list[Any] = []

    def has_acted(self, outcome: Outcome) -> bool:
        """Whether the call may have done something.

        Who raises says that it did nothing, unless the error says otherwise. Who returned has done it,
        whatever becomes of what it gave; of what was stopped nobody knows.
        """
        if not self.has_run or outcome.stop_reason == "refused":
            return False
        return outcome.stop_reason != "error" or self.fault is None or has_acted(self.fault)

    async def ready(self, arguments: str) -> tuple[Tool, str]:
        """The tool, and what it is to be called with; a `Misfit` where that does not fit.

        A program gives more than any model writes. Read in a thread, that holds up nothing else, and the
        tool that is called has it set already.
        """
        if len(arguments) <= LARGE:
            return self.tool, arguments
        signature, ready = self.tool.signature, copy(self.tool)
        read = await COMPUTING.do(lambda: signature.read(read_json(arguments)))
        ready.__dict__["signature"] = _Ready(signature, read)
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
        if isinstance(self.fault, Exception):
            return self.fault
        has_returned = self.has_acted(outcome) and outcome.stop_reason == "error"
        return having_acted(RuntimeError(words)) if has_returned else RuntimeError(words)

    async def _awaited(self, /, *args: Any, **kwargs: Any) -> Any:
        self.has_run = True
        return await self._settled(self._function(*args, **kwargs))

    def _called(self, /, *args: Any, **kwargs: Any) -> Any:
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
        if isinstance(value, AsyncIterable):
            return self._streamed(cast(Any, value))
        if isinstance(value, Iterator):
            return self._iterated(cast(Any, value))
        self._values.append(value)
        return value

    async def _streamed(self, values: AsyncIterable[Any]) -> AsyncGenerator[Any, None]:
        try:
            async for value in values:
                yield value
        except Exception as fault:
            self.fault = fault
            raise
        finally:
            close = getattr(values, "aclose", None)
            if callable(close):
                await cast("Callable[[], Awaitable[None]]", close)()

    def _iterated(self, values: Iterator[Any]) -> Generator[Any, None, None]:
        try:
            yield from values
        except Exception as fault:
            self.fault = fault
            raise


def _is_told(value: Any) -> bool:
    inside = cast("list[Any]", value) if isinstance(value, list | tuple) else [value]
    return any(isinstance(one, TOLD) for one in inside)
