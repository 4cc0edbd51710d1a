"""What a template is told about what it costs."""

from collections.abc import Sequence

from quire.context.fit import Fitted
from quire.context.repeats import shows
from quire.errors import cut
from quire.items import Item
from quire.tokens import facts_for


def advice(fitted: Sequence[Fitted], model: str | None = None) -> list[str]:
    """A line for each volatile section that stands before a history, with what that costs on each call."""
    places = [index for index, part in enumerate(fitted) if part.piece.is_elastic]
    last = places[-1] if places else 0
    return [
        _line(part, sum(later.counted for later in fitted[index + 1 : last + 1]), model)
        for index, part in enumerate(fitted[:last])
        if part.piece.section.stability == "volatile" and part.counted
    ]


def absent_input(fitted: Sequence[Fitted], item: Item | None) -> list[str]:
    """A line where the input that is to be answered is in no section."""
    if item is None or any(shows(part.shown, item.id) for part in fitted):
        return []
    return [
        f"the input {cut(item.id)!r} is not shown: no section of the template has it. "
        "Add an Input, or the History of the transcript that it is in."
    ]


def _line(part: Fitted, behind: int, model: str | None) -> str:
    prices = facts_for(model).prices if model else None
    line = (
        f"{part.name!r} changes from call to call and stands before the history: no cache can serve the "
        f"{behind:,} tokens behind it. Put it after the history"
    )
    written = None if prices is None else prices.cache_write or prices.input
    if prices is None or prices.cache_read is None or written is None:
        return f"{line}."
    extra = behind * (written - prices.cache_read) / 1_000_000
    return f"{line}, and save about ${extra:.4f} on each call."
