"""Every error Quire raises on purpose, in one tree.

Each leaf also inherits from the built-in exception that a caller would expect. Errors carry ids and strings,
never objects or content.

    QuireError
    ├── WrongType (TypeError)            an argument has the wrong type
    ├── InvalidValue (ValueError)        an argument has the right type, but an invalid value
    │   ├── TooLarge                     a text, a path or a file is larger than its limit
    │   ├── InvalidLimit                 a limit, budget or share is negative, zero or too small
    │   └── DuplicateId                  the transcript already has an item with this id
    ├── UnknownId (KeyError)             there is nothing with this id: no item, call, job or scope
    ├── UnknownKey (KeyError)            there is nothing with this name: no note, transcript or agent
    ├── OutOfRange (IndexError)          a position, revision or version does not exist
    ├── EditRefused (ValueError)         an edit is not possible, for example as providers would refuse it
    │   ├── SplitsGroup                  it would separate a call from its result
    │   ├── CallPending                  it would hide a call that still waits for its result
    │   └── LastUserMessage              it would hide the message that the model has to answer
    ├── Irreducible (ValueError)         the items that must stay are larger than the limit
    ├── OverBudget (ValueError)          the required parts of a request exceed its budget
    ├── Downgraded (ValueError)          strict rendering would lose something for this provider
    ├── CodecError (ValueError)
    │   ├── Unencodable                  a value cannot be encoded; the error has its path
    │   └── Damaged                      data cannot be decoded; the error has the place of the fault
    ├── CapReached (RuntimeError)        a conversation or a scope has spent what its caps allow
    ├── Conflict (RuntimeError)          another writer was first, and the new entries no longer fit
    │   └── TurnLost                     another worker has taken over the turn
    ├── StoreError (OSError)
    │   ├── StoreFailed                  a store cannot be reached, read or written now
    │   ├── StoreDamaged                 a store does not hold what was written to it
    │   └── NewerStore                   a newer version of Quire made the store
    ├── Forgotten (LookupError)          the content was erased by `forget`
    ├── ServerLost (ConnectionError)     a server of tools cannot be reached, or was lost during a call
    ├── TurnBusy (RuntimeError)          a turn is running, and this cannot be done meanwhile
    ├── Stopped (RuntimeError)           a node was stopped, and accepts no more messages
    ├── ModelFailed (RuntimeError)       a model gave no usable answer
    │   ├── NotAuthorized (PermissionError)  the key is missing, wrong, or does not allow this
    │   ├── RateLimited                  too many requests in a short time, or the quota is used up
    │   ├── Overloaded                   the provider is overloaded
    │   ├── Refused                      the provider refused the request because of its content
    │   ├── WindowExceeded (OverBudget)  the request is longer than the window of the model
    │   └── ModelTimeout (TimeoutError)  the answer, or its next part, did not come in time
    └── MissingExtra (ImportError)       an optional dependency is not installed
"""

_LONGEST_NAME = 80


def cut(text: str, limit: int = _LONGEST_NAME) -> str:
    """Cut a text to a limited length for an error message, because ids and keys may be of any length."""
    return text if len(text) <= limit else f"{text[:limit]}…"


class QuireError(Exception):
    """The root of the tree: catch it to catch every error that Quire raises on purpose."""


class WrongType(QuireError, TypeError):
    """An argument has the wrong type."""


class InvalidValue(QuireError, ValueError):
    """An argument has the right type, but an invalid value."""


class TooLarge(InvalidValue):
    """A text, a path or a file is larger than its limit."""


class InvalidLimit(InvalidValue):
    """A limit, budget or share is negative, zero or too small."""


class DuplicateId(InvalidValue):
    """The transcript already has an item with this id."""


class _Missing(QuireError, KeyError):
    # KeyError would print the repr of the message, in quotes.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownId(_Missing):
    """There is nothing with this id: no item, call, job or scope."""


class UnknownKey(_Missing):
    """There is nothing with this name: no note, transcript or agent."""


class OutOfRange(QuireError, IndexError):
    """A position, a revision or a version does not exist."""


class EditRefused(QuireError, ValueError):
    """An edit is not possible, for example because providers would refuse the history it leaves."""


class SplitsGroup(EditRefused):
    """The edit would separate a call from its result."""


class CallPending(EditRefused):
    """The edit would hide a call that still waits for its result."""


class LastUserMessage(EditRefused):
    """The edit would hide the message that the model has to answer."""


class Irreducible(QuireError, ValueError):
    """The items that must stay are larger than the limit; `parts` has their ids."""

    def __init__(self, message: str, parts: tuple[str, ...] = ()) -> None:
        super().__init__(message, parts)
        self.parts = parts

    def __str__(self) -> str:
        return str(self.args[0])


class OverBudget(QuireError, ValueError):
    """The required parts of a request exceed the budget by `over` tokens. `parts` names their sections."""

    def __init__(self, message: str, over: int = 0, parts: tuple[str, ...] = ()) -> None:
        super().__init__(message, over, parts)
        self.over = over
        self.parts = parts

    def __str__(self) -> str:
        return str(self.args[0])


class Downgraded(QuireError, ValueError):
    """Strict rendering was asked for, and would lose something for this provider."""


class CodecError(QuireError, ValueError):
    """Items cannot be encoded or decoded; `path` says where."""

    def __init__(self, message: str, path: str = "$") -> None:
        super().__init__(message, path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.args[0]} (at {self.path})"


class Unencodable(CodecError):
    """A value cannot be encoded."""


class Damaged(CodecError):
    """Data cannot be decoded: a response, a history or an item is malformed."""


class CapReached(QuireError, RuntimeError):
    """A conversation or a scope has spent what its caps allow: the request was not sent."""


class Conflict(QuireError, RuntimeError):
    """Another writer was first; `expected` is the version that was assumed, `found` the actual one."""

    def __init__(self, message: str, expected: int = 0, found: int = 0) -> None:
        super().__init__(message, expected, found)
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return str(self.args[0])


class StoreError(QuireError, OSError):
    """Something is wrong with a store."""

    # With the name of a file, OSError would print only a number and names, without the message.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class StoreFailed(StoreError):
    """A store cannot be reached, read or written now; its own error is the cause."""


class StoreDamaged(StoreError):
    """A store does not hold what was written to it.

    `place` is the address of the conversation if it is known; its entries up to `version` are whole.
    """

    def __init__(self, message: str = "", *, place: str = "", version: int = 0) -> None:
        super().__init__(message)
        self.place = place
        self.version = version


class NewerStore(StoreError):
    """A newer version of Quire made the store."""


class Forgotten(QuireError, LookupError):
    """The content was erased by `forget`, and cannot be shown again."""


class ServerLost(QuireError, ConnectionError):
    """A server of tools cannot be reached, or was lost during a call, which may have run."""


class TurnBusy(QuireError, RuntimeError):
    """A turn is running, and this cannot be done meanwhile."""


class TurnLost(Conflict):
    """Another worker has taken over the turn: this one can write no more of it."""


class Stopped(QuireError, RuntimeError):
    """A node was stopped before it had answered: the message was not begun, or its job stays open."""


class ModelFailed(QuireError, RuntimeError):
    """A model gave no usable answer; the error of its client is the cause."""


class NotAuthorized(ModelFailed, PermissionError):
    """The key for a model is missing or wrong, or does not allow the request."""


class RateLimited(ModelFailed):
    """Too many requests, or no quota is left; `retry_after` is the seconds to wait, if they are known."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message, retry_after)
        self.retry_after = retry_after

    def __str__(self) -> str:
        return str(self.args[0])


class Overloaded(ModelFailed):
    """The provider is overloaded; the same request may succeed later."""


class Refused(ModelFailed):
    """The provider refused the request because of its content, and gave no answer."""


class WindowExceeded(ModelFailed, OverBudget):
    """The request is `over` tokens longer than the window of the model; `over` is 0 if that is not known.

    `limit` is the window in tokens that the provider reported, or 0. `in_bytes` is true if the service
    refused the size of the request in bytes, which says nothing about the window.
    """

    def __init__(
        self,
        message: str,
        over: int = 0,
        parts: tuple[str, ...] = (),
        limit: int = 0,
        in_bytes: bool = False,
    ) -> None:
        super().__init__(message, over, parts)
        self.args = (message, over, parts, limit, in_bytes)
        self.limit = limit
        self.in_bytes = in_bytes


class ModelTimeout(ModelFailed, TimeoutError):
    """The answer of a model, or its next part, did not come in time."""


class MissingExtra(QuireError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, part: str, extra: str) -> None:
        super().__init__(part, extra)
        self.extra = extra

    def __str__(self) -> str:
        return f"{self.args[0]} is not installed; add it with: pip install 'quire[{self.extra}]'"
