"""The table of a receipt: its rows add up to the tokens of the request."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from quire.context.entries import Entry


class Line(NamedTuple):
    """One line of a printed receipt: a section with its tokens and items."""

    section: str
    tokens: int
    shown: int
    left_out: int
    note: str


class AnyReceipt(Protocol):
    """The data that tables show: of the receipt of a context, or of one that was kept."""

    @property
    def tokens(self) -> int: ...
    @property
    def available(self) -> int: ...
    @property
    def reserve(self) -> int | None: ...
    @property
    def count_error(self) -> float | None: ...
    @property
    def beside(self) -> Mapping[str, int]: ...
    @property
    def advice(self) -> Sequence[str]: ...
    @property
    def entries(self) -> Sequence[Entry]: ...
    def lines(self) -> Sequence[Line]: ...


def sizes_of(receipt: AnyReceipt) -> dict[str, int]:
    """Return the tokens of sections, of tool definitions and of the answer schema, by their names."""
    return {**{line.section: line.tokens for line in receipt.lines()}, **receipt.beside}


def receipt_rows(receipt: AnyReceipt) -> list[tuple[str, ...]]:
    """Return the rows of the table of a receipt, the heading first."""
    rows = [("section", "tokens", "shown", "left out", "")]
    for name, size, shown, left_out, note in receipt.lines():
        rows.append((name, f"{size:,}", f"{shown:,}", f"{left_out:,}", note))
    rows += [(name, f"{size:,}", "", "", "") for name, size in receipt.beside.items()]
    if overhead := receipt.tokens - sum(sizes_of(receipt).values()):
        less = "the provider reports fewer tokens than are counted here"
        note = "framing, and calibration by reported usage" if overhead > 0 else less
        rows.append(("overhead", f"{overhead:,}", "", "", note))
    return [*rows, ("in all", f"{receipt.tokens:,}", "", "", f"of {receipt.available:,}")]


def receipt_table(receipt: AnyReceipt) -> str:
    """Return a receipt as a table, followed by its advice."""
    rows = receipt_rows(receipt)
    first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    texts = [
        "  ".join((name.ljust(first), *map(str.rjust, cells, widths), note)).rstrip()
        for name, *cells, note in rows
    ]
    texts.insert(1, "-" * max(map(len, texts)))
    return "\n".join((*texts, *(f"! {note}" for note in receipt.advice)))
