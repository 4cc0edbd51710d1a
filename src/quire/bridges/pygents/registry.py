"""What is known in this process by name: hooks, tools and agents."""

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from quire.bridges.pygents.declared import DeclaredHook
from quire.bridges.pygents.errors import (
    UnregisteredAgentError,
    UnregisteredHookError,
    UnregisteredToolError,
)
from quire.errors import InvalidValue, UnknownHook, UnknownKey, WrongType, cut
from quire.session import Register

if TYPE_CHECKING:
    from quire.bridges.pygents.agent import Agent
    from quire.bridges.pygents.tool import Tool


class _Hooks(Register[DeclaredHook]):
    def withdraw(self, name: str) -> None:
        self.named(name)
        del self._declared[name]


class HookRegistry:
    """Where `from_dict` finds hooks. One for the process: it is used as it is, not made."""

    _register = _Hooks()

    @classmethod
    def register(cls, hook: DeclaredHook) -> None:
        """Make a hook known; `hook` does so itself. Another hook of the same name is a `ValueError`."""
        if not isinstance(hook, DeclaredHook):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a registry takes hooks, made by @hook, not {type(hook).__name__}")
        cls._register.declare(hook)

    @classmethod
    def get(cls, name: str) -> DeclaredHook:
        """The hook with this name."""
        try:
            return cls._register.named(name)
        except UnknownHook as fault:
            raise UnregisteredHookError(str(fault)) from None

    @classmethod
    def unregister(cls, name: str) -> None:
        """Know one hook no more."""
        cls.get(name)
        cls._register.withdraw(name)

    @classmethod
    def clear(cls) -> None:
        """Know no hooks any more; those that queues and pools have stay theirs."""
        cls._register.clear()


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Thing = TypeVar("Thing", bound=_Named)


class Names(Generic[Thing]):
    """Things that are known in the whole process by their names, one for each name."""

    def __init__(self, what: str, missing: type[UnknownKey]) -> None:
        self._what = what
        self._missing = missing
        self._known: dict[str, Thing] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def register(self, thing: Thing) -> None:
        """Make something known, as it does itself when it is made. Another of its name is a `ValueError`."""
        if self._known.get(thing.name, thing) is not thing:
            raise InvalidValue(f"another {self._what} is called {cut(thing.name)!r} already")
        self._known[thing.name] = thing

    def get(self, name: str) -> Thing:
        """What is known under a name."""
        if name not in self._known:
            raise self._missing(f"no {self._what} {cut(str(name))!r} is known here")
        return self._known[name]

    def unregister(self, name: str) -> None:
        """Know one no more, so that another may have its name; who has it keeps it."""
        self.get(name)
        del self._known[name]

    def clear(self) -> None:
        """Know none any more."""
        self._known.clear()

    def free_name(self, name: str) -> str:
        """A name that nobody has yet: this one with a number."""
        number = 1
        while f"{name}-{number}" in self:
            number += 1
        return f"{name}-{number}"


ToolRegistry: "Names[Tool]" = Names("tool", UnregisteredToolError)
"""Where turns and agents find tools."""

AgentRegistry: "Names[Agent]" = Names("agent", UnregisteredAgentError)
"""Where agents find each other."""
