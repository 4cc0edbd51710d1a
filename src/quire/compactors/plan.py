"""What a compactor says: edits that are ready, notes for the pool, and words that a model has yet to write.

A plan is data. It changes nothing until somebody records it, and says beforehand what it will do.
"""

from typing import NamedTuple, Protocol

import msgspec

from quire.items import Edit, Item, Note, Span
from quire.state import View
from quire.tokens import Counter
from quire.tokens.numbers import whole


class Room(msgspec.Struct, frozen=True):
    """How many tokens a view may take, and who counts them.

    `early` asks for a plan though no ceiling is reached, from whoever has something to say above its floor.
    """

    tokens: int
    counter: Counter
    early: bool = False

    def __post_init__(self) -> None:
        whole(self.tokens, "Room.tokens", least=0)


class Request(NamedTuple):
    """Words to be written: `prompt` for a model, `size` in tokens at most, to stand in place of `spans`.

    `revision` is that of the view it was planned on, and `items` are what the words are about. With `room` it
    is known whether they are worth it: words that are far too long and make nothing smaller are not used.
    """

    prompt: tuple[Item, ...]
    size: int
    spans: tuple[Span, ...]
    items: tuple[str, ...]
    revision: int
    room: Room | None = None


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
