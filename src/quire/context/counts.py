"""Counts of items that stand in no transcript, kept from turn to turn."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from quire.items import Item
from quire.tokens import Calibrated, Counter, Definition, answer_tokens, schema_tokens

_MOST = 4_096


class Counts:
    """What was counted before, by counter and by item; an item is known by being the same one."""

    __slots__ = ("_answers", "_known", "_schemas")

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[Item, int]] = {}
        self._schemas: tuple[str, bytes, int] | None = None
        self._answers: tuple[str, bytes, int] | None = None

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

    def _schemas_of(self, tools: Sequence[Definition], counter: Counter) -> int:
        """Tokens of tool definitions, which nearly always are those of the turn before."""
        if not tools:
            return 0
        content, known = _content(tools), self._schemas
        if known is not None and content is not None and known[:2] == (counter.key, content):
            return known[2]
        tokens = schema_tokens(tools, counter)
        if content is not None:
            self._schemas = (counter.key, content, tokens)
        return tokens

    def beside(
        self, tools: Sequence[Definition], output: Mapping[str, Any] | None, counter: Counter
    ) -> "Beside":
        """What a request has beside its items."""
        if not isinstance(counter, Calibrated):
            told, shape = self._schemas_of(tools, counter), self._answer(output, counter)
            return Beside(told, shape, told + shape)
        plain = self.beside(tools, output, counter.counter)
        return Beside(counter.corrected(plain.tools), counter.corrected(plain.output), plain.counted)

    def _answer(self, output: Mapping[str, Any] | None, counter: Counter) -> int:
        """Tokens of the schema of an answer, which is the same for as long as a question is on its way."""
        if not output:
            return 0
        content, known = _content((output,)), self._answers
        if known is not None and content is not None and known[:2] == (counter.key, content):
            return known[2]
        tokens = answer_tokens(output, counter)
        if content is not None:
            self._answers = (counter.key, content, tokens)
        return tokens


class Beside(NamedTuple):
    """Tokens of what goes with a request and is no item: definitions of tools, the schema of the answer.

    `counted` is both as they were counted, before anything was corrected by what was learned.
    """

    tools: int = 0
    output: int = 0
    counted: int = 0

    @property
    def tokens(self) -> int:
        """All of it."""
        return self.tools + self.output


def _content(tools: Sequence[Definition]) -> bytes | None:
    """What definitions say: a dictionary may be another one in the next turn though it is the same object."""
    try:
        return msgspec.json.encode(tools, enc_hook=_plain)
    except (TypeError, ValueError, RecursionError):
        return None  # it can be counted, if at all, and not be known again


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return repr(value)
