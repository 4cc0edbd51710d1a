"""The framework's error over the engine's."""

from quire.errors import UnknownHook


class UnregisteredHookError(UnknownHook):
    """What was saved names a hook that is not declared in this process."""
