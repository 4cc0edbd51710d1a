"""The figures of recall: what is told within budgets, and how much of the evidence is in it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from locomo import CATEGORIES, Conversation
from quire.items import Item, Message
from quire.memory.leaf import Leaf
from quire.memory.quotes import CLOSING, OPENING, Quote, Quotes
from quire.memory.recall import quote_leaf
from quire.tokens import Measured

BUDGETS = (512, 1024, 2048, 4096)
CUTS = (1, 5, 10, 25, 50)

Ranking = Callable[[str], Sequence[Quote]]
"""A question to quotes, best first."""

tokens = Measured("cl100k_base").text


@dataclass(frozen=True)
class Row:
    """One question: shares of its evidence by budget and by cut, and one by the rank of the first of it."""

    category: str
    told: tuple[float, ...]
    ranked: tuple[float, ...]
    first: float


def rows(conversation: Conversation, ranking: Ranking, budgets: Sequence[int]) -> list[Row]:
    """Every question of a conversation, asked and told as the section for recall tells it."""
    found: list[Row] = []
    for question in conversation.questions:
        best = ranking(question.text)
        block = Quotes(best)
        shown = [{one.id for one in block.select(budget, count).quotes} for budget in budgets]
        keys = [one.id for one in best]
        ranked = tuple(len(question.gold & set(keys[:cut])) / len(question.gold) for cut in CUTS)
        inside = tuple(len(question.gold & kept) / len(question.gold) for kept in shown)
        first = next((1 / rank for rank, key in enumerate(keys, 1) if key in question.gold), 0.0)
        found.append(Row(question.category, inside, ranked, first))
    return found


def quote(conversation: Conversation, leaf: Leaf) -> Quote:
    """A turn as it is quoted, whoever chose it."""
    return quote_leaf(leaf, conversation.name, str)


def count(item: Item) -> int:
    """The tokens of a text by itself."""
    assert isinstance(item, Message) and isinstance(item.content, str)
    return tokens(item.content)


class Packing:
    """The packing of quotes with lengths counted once: near enough to choose weights by, and much faster."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._frame = tokens(f"{OPENING}\n{CLOSING}\n")
        self._lengths: dict[str, int] = {}

    def shares(self, ranking: Ranking) -> Iterator[float]:
        """What is told of the evidence of each question within each budget."""
        for question in self.conversation.questions:
            best = ranking(question.text)
            for budget in BUDGETS:
                yield len(question.gold & self._told(best, budget - self._frame)) / len(question.gold)

    def _told(self, best: Sequence[Quote], left: int) -> set[str]:
        kept: set[str] = set()
        headings: set[str] = set()
        for one in best:
            length = self._length(one.line) + (0 if one.heading in headings else self._length(one.heading))
            if length <= left:
                left -= length
                kept.add(one.id)
                headings.add(one.heading)
        return kept

    def _length(self, line: str) -> int:
        if line not in self._lengths:
            self._lengths[line] = tokens(f"{line}\n")
        return self._lengths[line]


def as_dict(found: Sequence[Row], budgets: Sequence[int]) -> dict[str, Any]:
    """The figures of one method, in percent."""
    by_category = {
        name: _figures([row for row in found if row.category == name], budgets)
        for name in CATEGORIES.values()
        if any(row.category == name for row in found)
    }
    return _figures(found, budgets) | {"by_category": by_category}


def _figures(found: Sequence[Row], budgets: Sequence[int]) -> dict[str, Any]:
    whole = [[float(share == 1.0) for share in row.told] for row in found]
    return {
        "questions": len(found),
        "ER": dict(zip(map(str, budgets), _means([row.told for row in found]), strict=True)),
        "All": dict(zip(map(str, budgets), _means(whole), strict=True)),
        "R": dict(zip(map(str, CUTS), _means([row.ranked for row in found]), strict=True)),
        "MRR": _means([(row.first,) for row in found])[0],
    }


def _means(shares: Sequence[Sequence[float]]) -> list[float]:
    return [round(100 * sum(column) / len(column), 2) for column in zip(*shares, strict=True)]


def as_text(results: dict[str, list[Row]], budgets: Sequence[int]) -> str:
    """A table, and one more by category for what is ours."""
    heads = [*(f"ER@{b}" for b in budgets), *(f"All@{b}" for b in budgets), *(f"R@{k}" for k in CUTS), "MRR"]
    lines = [f"{'':24}{'n':>5}" + "".join(f"{head:>9}" for head in heads)]
    for name, found in results.items():
        figures = as_dict(found, budgets)
        lines.append(_line(name, figures))
        if name.startswith("quire"):
            lines += [_line(f"  {kind}", one) for kind, one in figures["by_category"].items()]
    return "\n".join(lines)


def _line(name: str, figures: dict[str, Any]) -> str:
    values = [*figures["ER"].values(), *figures["All"].values(), *figures["R"].values(), figures["MRR"]]
    return f"{name:24}{figures['questions']:>5}" + "".join(f"{value:>9.1f}" for value in values)
