"""Every error Quire raises on purpose, in one tree.

Each leaf also inherits the builtin a caller would reach for. Errors carry ids and strings, never objects
or content.

    QuireError
    ├── WrongType (TypeError)            a value of a type that is not taken here
    ├── InvalidValue (ValueError)        the right type, a value it may not have
    │   ├── TooLarge                     a text, a path or a file beyond its limit
    │   ├── InvalidLimit                 a limit, budget or share that is negative, zero or too small
    │   └── DuplicateId                  an id that is in the transcript already
    ├── UnknownId (KeyError)             no such item here
    ├── UnknownKey (KeyError)            no such note in the pool
    ├── OutOfRange (IndexError)          a position or revision that does not exist
    ├── EditRefused (ValueError)         an edit that would leave a history no provider takes
    │   ├── SplitsGroup                  a call without its result, or the other way round
    │   ├── CallPending                  a call that still waits for its result
    │   └── LastUserMessage              the message the model is asked to answer
    ├── Irreducible (ValueError)         what must stay is larger than what is allowed
    ├── OverBudget (ValueError)          the parts that a request needs do not fit into its budget
    ├── Downgraded (ValueError)          strict rendering, and the provider cannot take everything
    ├── CodecError (ValueError)
    │   ├── Unencodable                  a value no codec can write, with its path
    │   └── Damaged                      bytes that are not what they should be, with the place of the fault
    ├── CapReached (RuntimeError)        what a conversation or a scope may spend is spent
    ├── Conflict (RuntimeError)          another wrote first, and what was to be added no longer fits
    │   └── TurnLost                     another worker has taken the turn over
    ├── StoreError (OSError)
    │   ├── StoreFailed                  a store cannot be reached, read or written now
    │   ├── StoreDamaged                 what a store holds is not what was written to it
    │   └── NewerStore                   a store that a newer version of Quire made
    ├── Forgotten (LookupError)          what is asked for was forgotten on purpose
    ├── ServerLost (ConnectionError)     a server of tools cannot be reached, or went away during a call
    ├── TurnBusy (RuntimeError)          a turn or its queue is running, and may not be changed now
    ├── Stopped (RuntimeError)           a node was told to stop, and takes no more messages
    ├── ModelFailed (RuntimeError)       a model gave no answer that can be used
    │   ├── NotAuthorized (PermissionError)  a key is missing, wrong, or not for this
    │   ├── RateLimited                  too much was asked in too short a time, or the quota is spent
    │   ├── Overloaded                   whoever runs the model has too much to do
    │   ├── Refused                      the request was turned down for what it says; nothing was answered
    │   ├── WindowExceeded (OverBudget)  more was sent than the model reads at once
    │   └── ModelTimeout (TimeoutError)  no answer, or no more of it, came in time
    └── MissingExtra (ImportError)       an optional part is not installed
"""

_LONGEST_NAME = 80


def cut(text: str, limit: int = _LONGEST_NAME) -> str:
    """A text of limited length for a message: ids and keys may be of any length."""
    return text if len(text) <= limit else f"{text[:limit]}…"


class QuireError(Exception):
    """The root: catch this to catch all that Quire raises on purpose."""


class WrongType(QuireError, TypeError):
    """A value of a type that is not taken here."""


class InvalidValue(QuireError, ValueError):
    """A value of the right type that it may not have."""


class TooLarge(InvalidValue):
    """A text, a path or a file beyond its limit."""


class InvalidLimit(InvalidValue):
    """A limit, budget or share that is negative, zero or too small."""


class DuplicateId(InvalidValue):
    """An id that is in the transcript already."""


class _Missing(QuireError, KeyError):
    # KeyError prints the repr of its argument; a sentence in quotes helps nobody.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownId(_Missing):
    """No item with this id is here."""


class UnknownKey(_Missing):
    """No note with this key is in the pool."""


class OutOfRange(QuireError, IndexError):
    """A position or a revision that does not exist."""


class EditRefused(QuireError, ValueError):
    """An edit that would leave a history no provider takes."""


class SplitsGroup(EditRefused):
    """The edit takes a call without its result, or the other way round."""


class CallPending(EditRefused):
    """The edit touches a call that still waits for its result."""


class LastUserMessage(EditRefused):
    """The edit would leave out the message that the model is asked to answer."""


class Irreducible(QuireError, ValueError):
    """What must stay is larger than what is allowed; `parts` names what must stay, by id."""

    def __init__(self, message: str, parts: tuple[str, ...] = ()) -> None:
        super().__init__(message, parts)
        self.parts = parts

    def __str__(self) -> str:
        return str(self.args[0])


class OverBudget(QuireError, ValueError):
    """What a request needs is `over` tokens more than it may take; `parts` are the sections to blame."""

    def __init__(self, message: str, over: int = 0, parts: tuple[str, ...] = ()) -> None:
        super().__init__(message, over, parts)
        self.over = over
        self.parts = parts

    def __str__(self) -> str:
        return str(self.args[0])


class Downgraded(QuireError, ValueError):
    """A provider cannot take everything, and strict rendering was asked for."""


class CodecError(QuireError, ValueError):
    """Items could not be written or read; `path` says where."""

    def __init__(self, message: str, path: str = "$") -> None:
        super().__init__(message, path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.args[0]} (at {self.path})"


class Unencodable(CodecError):
    """A value that no codec can write."""


class Damaged(CodecError):
    """Bytes that are not what they should be."""


class CapReached(QuireError, RuntimeError):
    """What a conversation or a scope may spend is spent: the turn was not sent."""


class Conflict(QuireError, RuntimeError):
    """Another wrote first; `expected` is the version that was assumed, `found` the one that is there."""

    def __init__(self, message: str, expected: int = 0, found: int = 0) -> None:
        super().__init__(message, expected, found)
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return str(self.args[0])


class StoreError(QuireError, OSError):
    """Something is wrong with a store."""

    # OSError says nothing but a number and a name once it has the name of a file; the sentence has both.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class StoreFailed(StoreError):
    """A store cannot be reached, read or written now; what it answered itself is the cause."""


class StoreDamaged(StoreError):
    """What a store holds is not what was written to it.

    `place` is the address of the conversation where it is known; its entries up to `version` are whole.
    """

    def __init__(self, message: str = "", *, place: str = "", version: int = 0) -> None:
        super().__init__(message)
        self.place = place
        self.version = version


class NewerStore(StoreError):
    """A store that a newer version of Quire made."""


class Forgotten(QuireError, LookupError):
    """What is asked for was forgotten on purpose, and cannot be shown again."""


class ServerLost(QuireError, ConnectionError):
    """A server of tools cannot be reached, or went away during a call, which may have been done."""


class TurnBusy(QuireError, RuntimeError):
    """A turn or its queue is running, and may not be run again or changed now."""


class TurnLost(Conflict):
    """Another worker has taken the turn over: this one may write no more of it."""


class Stopped(QuireError, RuntimeError):
    """A node was told to stop: the message was not begun, and is not on the record."""


class ModelFailed(QuireError, RuntimeError):
    """A model gave no answer, or none that can be used; what it raised itself is the cause."""


class NotAuthorized(ModelFailed, PermissionError):
    """The key for a model is missing or wrong, or does not allow what was asked."""


class RateLimited(ModelFailed):
    """Too much was asked of a model; `retry_after` is in how many seconds to ask again, where it was said."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message, retry_after)
        self.retry_after = retry_after

    def __str__(self) -> str:
        return str(self.args[0])


class Overloaded(ModelFailed):
    """The provider is overloaded; the same request may succeed later."""


class Refused(ModelFailed):
    """The request was turned down for what it says, and nothing was answered."""


class WindowExceeded(ModelFailed, OverBudget):
    """More was sent than the model reads at once; `over` is by how many tokens, and zero where unknown.

    `limit` is how many the model says that it reads, and zero where it does not. `in_bytes` is true where the
    service refused the size of the request in bytes, which says nothing about the window.
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
    """No answer of a model, or no more of it, came in time."""


class MissingExtra(QuireError, ImportError):
    """An optional part is not installed."""

    def __init__(self, part: str, extra: str) -> None:
        super().__init__(part, extra)
        self.extra = extra

    def __str__(self) -> str:
        return f"{self.args[0]} is not installed; add it with: pip install 'quire[{self.extra}]'"
