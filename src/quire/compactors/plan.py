"""What a compactor says: edits that are ready, notes for the pool, and words that a model has yet to write.

A plan is data. It changes nothing until somebody records it, and says beforehand what it will do.
"""

from typing import Any, NamedTuple, Protocol

import msgspec

from quire.errors import WrongType
from quire.items import Edit, Item, Note, Span
from quire.state import View
from quire.tokens import Counter, checked_counter, whole


class Room(msgspec.Struct, frozen=True):
    """How many tokens a view may take, and who counts them.

    `early` asks for a plan though no ceiling is reached, from whoever has something to say above its floor.
    `reads` are the tokens that whoever writes summaries can read at once, the answer included: as many as the
    room has where nobody says, and none where there is nobody who writes.
    """

    tokens: int
    counter: Counter
    early: bool = False
    reads: int | None = None

    def __post_init__(self) -> None:
        whole(self.tokens, "Room.tokens", least=0)
        checked_counter(self.counter)
        if not isinstance(self.early, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"Room.early is true or false, not {type(self.early).__name__}")
        if self.reads is not None:
            whole(self.reads, "Room.reads", least=0)


class Request(NamedTuple):
    """Words to be written: `prompt` for a model, `size` in tokens at most, to stand in place of `spans`.

    `revision` is that of the view it was planned on, and `items` are what the words are about. With `room` it
    is known who counts them: words that make the view larger, or unfit, are not used. Those that somebody
    `asked_for` may make it larger, as long as it fits. Where all that should go is more than can be read at
    once, they are about the oldest of it, which `is_part`: the next plan is about the rest.
    """

    prompt: tuple[Item, ...]
    size: int
    spans: tuple[Span, ...]
    items: tuple[str, ...]
    revision: int
    room: Room | None = None
    asked_for: bool = False
    is_part: bool = False


class Forecast(NamedTuple):
    """What a planner expects of its plan, in tokens, calls and money (USD where prices are known).

    `rewritten` tokens have to be read anew once, and `saved` need not be sent with each of the `calls` until
    the next compaction. `gain` is the money this saves against going on as before, `per_call` what a call is
    then expected to cost on average.
    """

    calls: int
    rewritten: int
    saved: int
    per_call: float
    gain: float


class Plan(NamedTuple):
    """What should shrink: `by` which compactor, from how many tokens to how many, and why.

    `after` is exact for edits alone; with a request it counts on a summary of the size asked for.
    """

    by: str
    reason: str
    before: int
    after: int
    edits: tuple[Edit, ...] = ()
    notes: tuple[Note, ...] = ()
    request: Request | None = None
    forecast: Forecast | None = None

    @property
    def saved(self) -> int:
        """Tokens that go."""
        return self.before - self.after

    def leads_into(self, room: Room) -> bool:
        """Whether the view fits with it, or once the rest is told that one request could not tell."""
        return self.after <= room.tokens or (self.request is not None and self.request.is_part)


class Compactor(Protocol):
    """Says what of a view should shrink. It is pure: it records nothing and calls no model."""

    @property
    def name(self) -> str:
        """What plans and receipts call it."""
        ...

    def plan(self, view: View, room: Room) -> Plan | None:
        """What should shrink now, or none while nothing has to.

        `Irreducible` where what must stay is too much.
        """
        ...


def checked_compactor(compactor: Any) -> Compactor:
    """The compactor, if it is one."""
    if not (callable(getattr(compactor, "plan", None)) and isinstance(getattr(compactor, "name", None), str)):
        raise WrongType(f"a compactor has a name and a plan, not {type(compactor).__name__}")
    return compactor  # type: ignore[no-any-return]
