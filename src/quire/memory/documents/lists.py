"""The lists of a page that are open at a point of it, and what number an item has."""

from quire.memory.documents.unseen import Attributes

LISTS = frozenset(("ul", "ol", "dl", "menu"))
_LONGEST = 9
"""Digits; what is longer counts nothing."""

_DEEPEST = 20
"""A list that is deeper in others is told as if it were here: each level is written before each item."""


class Lists:
    """Lists within lists. Those that are ordered count their items, as a reader of the page sees them."""

    def __init__(self) -> None:
        self._open: list[int | None] = []  # the number of the next item, where there is one
        self._steps: list[int] = []

    @property
    def level(self) -> int:
        """How deep the innermost list is in others."""
        return min(max(len(self._open) - 1, 0), _DEEPEST)

    def begin(self, tag: str, attributes: Attributes) -> None:
        """A list begins."""
        is_down = "reversed" in attributes
        start = _whole(attributes.get("start"))
        if start is None and not is_down:
            start = 1
        # One that counts down to 1 begins with how many items it has, and that is not known here.
        self._open.append(start if tag == "ol" else None)
        self._steps.append(-1 if is_down else 1)

    def end(self) -> None:
        """The innermost list ends, where one is open."""
        if self._open:
            del self._open[-1], self._steps[-1]

    def number(self, attributes: Attributes) -> str:
        """The number of the next item, as it is written before it; nothing where it has none."""
        if not self._open or self._open[-1] is None:
            return ""
        said = _whole(attributes.get("value"))
        number = self._open[-1] if said is None else said
        self._open[-1] = number + self._steps[-1]
        return f"{number}."


def _whole(said: str | None) -> int | None:
    digits = (said or "").strip()
    is_number = digits.removeprefix("-").isdecimal() and len(digits) <= _LONGEST
    return int(digits) if is_number else None
