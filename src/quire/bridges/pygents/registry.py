"""The hooks of this process by name."""

from quire.bridges.pygents.declared import DeclaredHook
from quire.bridges.pygents.errors import UnregisteredHookError
from quire.errors import UnknownHook, WrongType
from quire.session.hooks import Register


class HookRegistry:
    """Where `from_dict` finds hooks. One for the process: it is used as it is, not made."""

    _register: Register[DeclaredHook] = Register()

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
    def clear(cls) -> None:
        """Know no hooks any more; those that queues and pools have stay theirs."""
        cls._register.clear()
