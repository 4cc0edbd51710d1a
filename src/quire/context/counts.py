"""Counts of items that stand in no transcript, kept from turn to turn."""

from collections.abc import Callable, Sequence

from quire.items import Item
from quire.tokens import Counter, schema_tokens
from quire.tokens.counter import Definition

_MOST = 4_096


class Counts:
    """What was counted before, by counter and by item; an item is known by being the same one."""

    __slots__ = ("_known", "_schemas")

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[Item, int]] = {}
        self._schemas: tuple[str, tuple[Definition, ...], int] | None = None

    def of(self, counter: Counter) -> Callable[[Item], int]:
        """A count that remembers."""

        def count(item: Item) -> int:
            key = (counter.key, item.id)
            known = self._known.get(key)
            if known is not None and (known[0] is item or known[0] == item):
                return known[1]
            if len(self._known) >= _MOST:
                self._known.pop(next(iter(self._known)), None)
            counted = counter.count(item)
            self._known[key] = (item, counted)
            return counted

        return count

    def schemas(self, tools: Sequence[Definition], counter: Counter) -> int:
        """Tokens of tool definitions, which nearly always are those of the turn before."""
        if not tools:
            return 0
        given, known = tuple(tools), self._schemas
        if known is not None and known[0] == counter.key and _same(known[1], given):
            return known[2]
        tokens = schema_tokens(given, counter)
        self._schemas = (counter.key, given, tokens)
        return tokens


def _same(known: tuple[Definition, ...], given: tuple[Definition, ...]) -> bool:
    return len(known) == len(given) and all(a is b for a, b in zip(known, given, strict=True))
