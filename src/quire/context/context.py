"""The context: what the model sees this turn."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, takewhile

from quire.compactors import Room
from quire.context.fates import Entry
from quire.context.fit import Fitted
from quire.context.receipt import Receipt
from quire.errors import UnknownKey, WrongType, cut
from quire.items import Item
from quire.providers import CachePlan, Provider, Rendered, provider_for
from quire.state import Scroll
from quire.tokens import Definition, named

Heard = Callable[["Context", Provider, str | None, Rendered], None]
"""Is told of each rendering of a context: by whom, for which model, and what it gave."""


class Context:
    """Items in order, with the tools beside them. It never changes.

    `shared` is how many items from the start are those of the context before it: that much a provider's
    cache can serve. `plan` says so to providers that want to be told.
    """

    def __init__(
        self,
        fitted: Sequence[Fitted],
        receipt: Receipt,
        *,
        tools: Sequence[Definition] = (),
        model: str | None = None,
        key: str | None = None,
        previous: "Context | None" = None,
        heard: Heard | None = None,
    ) -> None:
        if not isinstance(previous, Context | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the context before this one is a Context, not {type(previous).__name__}")
        self._heard = heard
        self.receipt = receipt
        self.tools = tuple(tools)
        self.model = model
        self.items, self.plan = _joined(fitted, key)
        self.tokens: Mapping[str, int] = {part.name: part.counted for part in fitted}
        self.shared = 0 if previous is None else shared_prefix(previous.items, self.items)

    def __repr__(self) -> str:
        return f"<Context of {len(self.items)} items, {self.receipt.tokens:,} tokens>"

    def render(self, provider: str | Provider, *, model: str | None = None, strict: bool = False) -> Rendered:
        """The payload for a provider: `**context.render("openai")` are the arguments of its client."""
        wire = provider_for(provider)
        model = model or self.model
        rendered = wire.render(self.items, model=model, tools=self.tools, plan=self.plan, strict=strict)
        if self._heard is not None:
            self._heard(self, wire, model, rendered)
        return rendered

    def room(self, section: str = "history") -> Room:
        """What a section may take while all else stays as it is: the room for a compactor."""
        if named(section, "the name of a section") not in self.tokens:
            raise UnknownKey(f"no section {cut(section)!r} in the context")
        return self.receipt.room(section)

    def explain(self, item: Item | str) -> Entry:
        """What became of one candidate."""
        return self.receipt.explain(item)


def _joined(fitted: Sequence[Fitted], key: str | None) -> tuple[Scroll, CachePlan]:
    """All parts as one scroll, and how long its beginning stays as it is.

    The last part that grows is what others can go on from: what stands before it is the beginning.
    """
    grows = [index for index, part in enumerate(fitted) if part.piece.is_elastic]
    middle = grows[-1] if grows else len(fitted) - 1
    before = [item for part in fitted[:middle] for item in part.shown]
    after = [item for part in fitted[middle + 1 :] for item in part.shown]
    grown = fitted[middle].shown if fitted else Scroll()
    scroll = Scroll((*before, *grown.before), grown.view, grown.start, tuple(after))
    static = sum(len(part.shown) for part in takewhile(_is_static, fitted))
    unsettled = next((i for i, part in enumerate(fitted[:middle]) if _is_volatile(part)), None)
    slow = None if unsettled is None else sum(len(part.shown) for part in fitted[:unsettled])
    return scroll, CachePlan(static=static, slow=slow, key=key)


def shared_prefix(earlier: Scroll, later: Scroll) -> int:
    """How many items from the start two scrolls share."""
    added = later.added_since(earlier)
    if added is None:
        return _common(earlier, later)
    return earlier.settled + _common(earlier.after, chain(added, later.after))


def _common(one: Iterable[Item], other: Iterable[Item]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))


def _is_static(part: Fitted) -> bool:
    return part.piece.section.stability == "static"


def _is_volatile(part: Fitted) -> bool:
    return part.piece.section.stability == "volatile" and len(part.shown) > 0
