"""Changes of a pool that hooks may refuse: decided on a state, told, and written only as they were told.

Others may write between the decision and its writing. Then it is decided again on what they wrote, and hooks
hear of what is new in it before anything is written. Not for ever: a hook may itself bring on what it hears
of, and others may never rest.
"""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from quire.errors import Conflict
from quire.items import Hide, Note, Span
from quire.session.events import Event
from quire.session.workspace import Workspace, Written
from quire.stores.streams import POOL

MOST_ROUNDS = 1_000
"""How often hooks hear of what came of a change while they heard of it, before it is given up: where many
write to a full pool, another may be quicker very often."""

FEW_ROUNDS = 10
"""The same for what is about one note alone."""


class Told(Protocol):
    """What is to be written, and what hooks hear of it before and after."""

    @property
    def before(self) -> Sequence[Event]:
        """What may still be refused."""
        ...

    @property
    def after(self) -> Sequence[Event]:
        """What is a fact once it is written."""
        ...

    @property
    def written(self) -> list[Written]:
        """What is to be written."""
        ...


class Change(NamedTuple):
    """The notes that leave a pool, what is written for that and for those that come, and what hooks hear."""

    leaving: Sequence[Note]
    written: list[Written]
    before: Sequence[Event]
    after: Sequence[Event]


C = TypeVar("C", bound=Told)

Decide = Callable[[Workspace], C]
"""What is written, given the state that it is written to."""


class Deciding(Generic[C]):
    """A change on its way: it is made once hooks have heard of all of it as it is then.

    Where there are no hooks, it is made as it is decided.
    """

    def __init__(self, first: C, decide: Decide[C], *, is_heard: bool, rounds: int = MOST_ROUNDS) -> None:
        self._decide = decide
        self._asks = is_heard
        self._rounds_left = rounds
        self._heard: list[Event] = []
        self._known: set[int] = set()  # the same objects, of which a draft may have thousands
        self.change = first
        self.is_made = False

    def untold(self) -> Sequence[Event]:
        """What hooks are to hear now, before it is made; each thing once. `Conflict` where it has no end."""
        if not self._rounds_left:
            raise Conflict("it was changed again each time that hooks had heard of it: nothing was written")
        self._rounds_left -= 1
        new = [event for event in self.change.before if not self._is_heard(event)]
        self._heard += new
        self._known.update(map(id, new))
        return new

    def written(self, workspace: Workspace) -> list[Written]:
        """What is written to a state: nothing where hooks have yet to hear of some of it."""
        self.change = self._decide(workspace)
        self.is_made = not self._asks or all(map(self._is_heard, self.change.before))
        return self.change.written if self.is_made else []

    def _is_heard(self, event: Event) -> bool:
        return id(event) in self._known or event in self._heard


def put_out(note: Note, by: Note | None = None) -> Written:
    """What takes a note out of the pool; it says for which other one it gives way, if it does."""
    reason = {} if by is None else {"by": by.id}
    return Written(POOL, Hide((Span(note.id, note.id),), extras={"key": note.key, **reason}))


def gives_way(hide: Hide) -> bool:
    """Whether a note was taken out for another one."""
    return "by" in hide.extras
