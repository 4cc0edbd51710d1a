"""What A1 finds without being told where: the runtime at work, and its contexts."""

from collections.abc import Iterable
from threading import Lock
from typing import Any

from quire.bridges.a1.agents import Agent
from quire.bridges.a1.compiled import Compiled
from quire.bridges.a1.conversation import Context
from quire.bridges.a1.current import at_work
from quire.bridges.a1.messages import Message
from quire.bridges.a1.runtime import Runtime

_lock = Lock()
_common: list[Runtime] = []


def get_runtime() -> Runtime:
    """The runtime at work here; where none was set, one that the whole process shares."""
    return at_work() or _shared()


def get_context(name: str = "main") -> Context:
    """The context of a name in the runtime at work, made where there is none yet."""
    return get_runtime().get_context(name)


def new_context(label: str = "intermediate", branch_from: Context | None = None) -> Context:
    """Another context of a label in the runtime at work: `label_a`, `label_b`, … the first that is free."""
    return get_runtime().new_context(label, branch_from)


def get_full_context(labels: str | Iterable[str] | None = None) -> list[Message]:
    """The messages of all contexts of the runtime at work, or of some labels, by time and each once."""
    return get_runtime().get_full_context(labels)


async def jit(agent: Agent, /, **input: Any) -> Any:
    """The answer of a program that is written for this input, by the runtime at work."""
    return await get_runtime().jit(agent, **input)


async def aot(agent: Agent, /, cache: bool = True) -> Compiled:
    """A program for any input as a tool, by the runtime at work."""
    return await get_runtime().aot(agent, cache)


async def execute(tool: Any, /, **input: Any) -> Any:
    """What a tool gives, on the record of the runtime at work."""
    return await get_runtime().execute(tool, **input)


def no_context() -> Context:
    """A context that belongs to no runtime and is never saved."""
    return Context()


def _shared() -> Runtime:
    with _lock:
        if not _common:
            _common.append(Runtime())
        return _common[0]
