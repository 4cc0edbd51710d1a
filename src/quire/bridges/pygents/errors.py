"""The framework's errors: names for the engine's, and what is told of its own registries."""

from quire.errors import TurnBusy, TurnTimeout, UnknownHook, UnknownKey, WrongType

SafeExecutionError = TurnBusy
TurnTimeoutError = TurnTimeout


class UnregisteredHookError(UnknownHook):
    """What was saved names a hook that is not declared in this process."""


class UnregisteredToolError(UnknownKey):
    """No tool of this name is declared in this process."""


class UnregisteredAgentError(UnknownKey):
    """No agent of this name was made in this process."""


class WrongRunMethodError(WrongType):
    """`returning` is for tools that return, `yielding` for those that yield."""
