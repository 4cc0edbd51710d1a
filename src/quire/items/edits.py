"""Edits: items that change what is shown of other items, and never the items themselves.

A `Span` names what lies between two items in the order they were recorded, both included. Edits in between
are not part of it.
"""

import msgspec

from quire.errors import InvalidValue
from quire.items.record import Record
from quire.items.settle import MAX_TEXT, settle


class Span(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """All that was recorded from one item to another."""

    first: str
    last: str

    def __post_init__(self) -> None:
        if self.first == "" or self.last == "":
            raise InvalidValue("Span.first and Span.last are ids: one is empty")
        if not (type(self.first) is type(self.last) is str and len(self.first) + len(self.last) <= MAX_TEXT):
            settle(self)


class Summary(Record, frozen=True, tag="summary", omit_defaults=True, forbid_unknown_fields=True):
    """A short text shown in place of the spans; without spans it stands where it was recorded."""

    text: str
    spans: tuple[Span, ...] = ()

    def _check(self) -> None:
        if not self.text.strip():
            raise InvalidValue("Summary.text is empty")


class Mask(Record, frozen=True, tag="mask", gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """A short stub shown in place of one item's content."""

    target: str
    stub: str

    def _check(self) -> None:
        _check_target(self)
        if not self.stub.strip():
            raise InvalidValue("Mask.stub is empty")


class Hide(Record, frozen=True, tag="hide", omit_defaults=True, forbid_unknown_fields=True):
    """The spans are left out."""

    spans: tuple[Span, ...]

    def _check(self) -> None:
        if not self.spans:
            raise InvalidValue("Hide.spans is empty")


class Pin(Record, frozen=True, tag="pin", gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """One item, with its group, stays shown word for word, whatever else is hidden, masked or summarised."""

    target: str

    def _check(self) -> None:
        _check_target(self)


class Undo(Record, frozen=True, tag="undo", gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """One edit is taken back; an `Undo` can be taken back too."""

    target: str

    def _check(self) -> None:
        _check_target(self)


def _check_target(edit: Mask | Pin | Undo) -> None:
    if not edit.target:
        raise InvalidValue(f"{type(edit).__name__}.target is empty")
