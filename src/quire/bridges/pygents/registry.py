"""What is known in this process by name: hooks, tools and agents."""

from typing import TYPE_CHECKING, Any, ClassVar

from quire.bridges.pygents.declared import DeclaredHook
from quire.bridges.pygents.errors import (
    UnregisteredAgentError,
    UnregisteredHookError,
    UnregisteredToolError,
)
from quire.errors import InvalidValue, UnknownHook, UnknownKey, WrongType, cut
from quire.session.hooks import Register

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


class _Names:
    """Things by their names, one for each name."""

    def __init__(self, what: str, missing: type[UnknownKey]) -> None:
        self._what = what
        self._missing = missing
        self._known: dict[str, Any] = {}

    def add(self, thing: Any) -> None:
        if self._known.get(thing.name, thing) is not thing:
            raise InvalidValue(f"another {self._what} is called {cut(thing.name)!r} already")
        self._known[thing.name] = thing

    def get(self, name: str) -> Any:
        if name not in self._known:
            raise self._missing(f"no {self._what} {cut(str(name))!r} is known here")
        return self._known[name]

    def remove(self, name: str) -> None:
        self.get(name)
        del self._known[name]

    def clear(self) -> None:
        self._known.clear()

    def __contains__(self, name: str) -> bool:
        return name in self._known


class ToolRegistry:
    """Where turns and agents find tools. One for the process: it is used as it is, not made."""

    _names: ClassVar[_Names] = _Names("tool", UnregisteredToolError)

    @classmethod
    def register(cls, tool: "Tool") -> None:
        """Make a tool known; `tool` does so itself. Another tool of the same name is a `ValueError`."""
        cls._names.add(tool)

    @classmethod
    def get(cls, name: str) -> "Tool":
        """The tool with this name."""
        found: Tool = cls._names.get(name)
        return found

    @classmethod
    def unregister(cls, name: str) -> None:
        """Know one tool no more; agents that have it keep it."""
        cls._names.remove(name)

    @classmethod
    def clear(cls) -> None:
        """Know no tools any more."""
        cls._names.clear()


class AgentRegistry:
    """Where agents find each other. One for the process: it is used as it is, not made."""

    _names: ClassVar[_Names] = _Names("agent", UnregisteredAgentError)

    @classmethod
    def register(cls, agent: "Agent") -> None:
        """Make an agent known; agents do so themselves. Another of the same name is a `ValueError`."""
        cls._names.add(agent)

    @classmethod
    def get(cls, name: str) -> "Agent":
        """The agent with this name."""
        found: Agent = cls._names.get(name)
        return found

    @classmethod
    def unregister(cls, name: str) -> None:
        """Know one agent no more, so that another may have its name."""
        cls._names.remove(name)

    @classmethod
    def clear(cls) -> None:
        """Know no agents any more."""
        cls._names.clear()

    @classmethod
    def free_name(cls, name: str) -> str:
        """A name that nobody has yet: this one with a number."""
        number = 1
        while f"{name}-{number}" in cls._names:
            number += 1
        return f"{name}-{number}"
