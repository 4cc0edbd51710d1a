"""The runtime that is at work here: one per task or thread, set by `with`, `set_runtime` or `from_file`."""

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quire.bridges.a1.runtime import Runtime

# The ones that were entered, the last at work. Not a token in the runtime: several tasks may enter the same.
_entered: ContextVar[tuple["Runtime", ...]] = ContextVar("quire_a1_runtimes", default=())


def at_work() -> "Runtime | None":
    """The runtime that was set here, if one was."""
    entered = _entered.get()
    return entered[-1] if entered else None


def enter(runtime: "Runtime") -> None:
    """Put a runtime to work until `leave`."""
    _entered.set((*_entered.get(), runtime))


def leave() -> None:
    """Go back to the one before."""
    _entered.set(_entered.get()[:-1])


def set_runtime(runtime: "Runtime") -> None:
    """Put a runtime to work from here on, in this task or thread and those that it starts."""
    _entered.set((*_entered.get()[:-1], runtime))
