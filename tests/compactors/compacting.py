"""Every compactor that the laws are tested with, histories with long results, and a writer of summaries."""

from contextlib import suppress
from random import Random

import msgspec
from hypothesis import strategies as st

from quire.compactors import (
    Cascade,
    ClearToolResults,
    Compactor,
    Offload,
    Outcome,
    Plan,
    Room,
    Summarize,
    TruncateOldest,
    record,
)
from quire.errors import QuireError
from quire.items import Item, ToolResult
from quire.state import Pool, Transcript
from tests.counting import FourCharacters
from tests.histories import OPS, Author, Op
from tests.oracle import PlainTranscript

TOKENS = FourCharacters()

BY_FLOOR: list[TruncateOldest | Summarize] = [
    TruncateOldest(),
    TruncateOldest(floor=0.8, ceiling=0.9),
    TruncateOldest(floor=40, ceiling=80),
    TruncateOldest(unit="messages", floor=3, ceiling=6),
    TruncateOldest(unit="turns", floor=1, ceiling=2),
    Summarize(floor=3, ceiling=6),
    Summarize(unit="tokens", size=10),
    Summarize(unit="tokens", floor=0.8, size=20),
    Summarize(unit="turns", floor=1, ceiling=2),
]
BY_RESULT: list[Compactor] = [
    ClearToolResults(keep=1, at_least=1, stub="-"),
    ClearToolResults(keep=0, at_least=0.2, stub="-", ceiling=0.5),
    Offload(larger_than=30, keep=1),
    Offload(larger_than=10, keep=0, ceiling=0),
]
COMPACTORS: list[Compactor] = [
    *BY_FLOOR,
    *BY_RESULT,
    Cascade(ClearToolResults(keep=1, at_least=1, stub="-"), TruncateOldest()),
    Cascade(Offload(larger_than=30), ClearToolResults(keep=0), Summarize(unit="tokens", size=10)),
    Cascade(TruncateOldest(unit="turns", floor=2, ceiling=4), Cascade(TruncateOldest())),
    Cascade(ClearToolResults(keep=1, at_least=1, stub="-"), Summarize(floor=3, ceiling=6)),
]
"""A new compactor is one more line here."""


_USUAL = (0, 0, 0, 0, 1, 1, 1, 1, 2, 3, 3, 4, 5, 6, 7, 7, 7, 8, 8, 10)
_SELDOM = (8, 9, 10, 11, 12, 13, 14, 14, 15, 15, 16)
_LONG = 36


def _many(seed: int) -> list[Op]:
    random = Random(seed)
    draw = random.randrange
    return [
        (random.choice(_USUAL if draw(8) else _SELDOM), draw(64), draw(64), draw(36))
        for _ in range(_LONG // 3 + draw(_LONG))
    ]


# A few operations, which hypothesis can shrink; or enough of them for a view that is too large.
HISTORIES = st.one_of(OPS, st.integers(0, 2**32).map(_many))
PERCENT = st.one_of(st.integers(0, 110), st.integers(40, 99))
"""The room, relative to what is shown."""


class Wordy(Author):
    """An author with long tool results."""

    def item(self, transcript: Transcript, op: Op) -> Item | None:
        item = super().item(transcript, op)
        if isinstance(item, ToolResult) and isinstance(item.content, str):
            return msgspec.structs.replace(item, content=item.content + " and so on" * (op[1] + 1))
        return item


def go_on(transcript: Transcript, plain: PlainTranscript, ops: list[Op], author: Author) -> None:
    """Apply operations to a transcript, and to the same in the plainest form."""
    for op in ops:
        item = author.item(transcript, op)
        with suppress(QuireError):
            if item is not None:
                transcript.append(item)
                plain.append(item)


def played(ops: list[Op]) -> tuple[Transcript, PlainTranscript]:
    """A random history, and the same in the plainest form."""
    transcript, plain = Transcript(), PlainTranscript()
    go_on(transcript, plain, ops, Wordy())
    return transcript, plain


def room(transcript: Transcript, percent: int) -> Room:
    return Room(transcript.view.tokens(TOKENS) * percent // 100, TOKENS)


WITHIN = st.sampled_from([0.0, 0.5, 1.0])
"""The length of a summary, relative to the requested size."""

ANY_LENGTH = st.sampled_from([0.0, 1.0, 1.2, 2.0, 3.0, 40.0])


def words(plan: Plan, much: float) -> str | None:
    """A summary for a plan that requests one, of so many times the size."""
    return None if plan.request is None else "w" * max(int(4 * plan.request.size * much), 3)


def recorded(transcript: Transcript, plan: Plan, pool: Pool | None = None, much: float = 1.0) -> Outcome:
    """Record a plan, with a summary if it requests one."""
    kept = Pool() if pool is None else pool
    return record(transcript, plan, text=words(plan, much), pool=kept)
