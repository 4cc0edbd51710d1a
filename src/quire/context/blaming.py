"""Who is to blame where what is required is more than there is room for."""

from collections.abc import Mapping

from quire.context.counts import Beside
from quire.errors import OverBudget, cut
from quire.items import Item
from quire.tokens import Counter

TOOLS = "tool definitions"
ANSWER = "answer schema"
"""What they are called among the parts of a request."""


def over_budget(
    needed: Mapping[str, int], beside: Beside, available: int, counter: Counter, largest: Item | None
) -> OverBudget:
    """The error that names what is required, by its counts, and the `largest` item, if one is to blame.

    The largest comes first; tools are among it by the tokens of their definitions, an answer by its schema.
    """
    sizes = {name: size for name, size in needed.items() if size}
    over = counter.total(sum(sizes.values())) + beside.tokens - available
    told = {f"{name!r}": size for name, size in sizes.items()}
    for name, tokens in ((TOOLS, beside.tools), (ANSWER, beside.output)):
        if tokens:
            sizes[name] = told[name] = tokens
    parts = sorted(sizes, key=lambda name: -sizes[name])
    blamed = [f"{name} {size:,}" for name, size in sorted(told.items(), key=lambda one: -one[1])]
    framing = counter.total(0)
    blamed += [f"framing {framing:,}"] if framing else []
    return OverBudget(
        f"what is required is {over:,} more than the {available:,} tokens there are: "
        f"{', '.join(blamed)}{_told(largest, counter)}",
        over,
        tuple(parts),
    )


def _told(largest: Item | None, counter: Counter) -> str:
    if largest is None:
        return ""
    return f"; the largest that must stay is item {cut(largest.id)!r} with {counter.count(largest):,}"
