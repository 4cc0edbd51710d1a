"""The context: what the model sees in one turn."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, takewhile

from quire.compactors import Room
from quire.context.fit import Fitted
from quire.context.receipt import Entry, Receipt
from quire.errors import UnknownKey, cut
from quire.items import Item
from quire.providers import CachePlan, Provider, Rendered, provider_for
from quire.state import Scroll
from quire.tokens import Definition

OnRender = Callable[["Context", Provider, str | None, Rendered], None]
"""Is called with each rendering of a context, the provider and the model."""


class Context:
    """Items in order, with the tools beside them. It never changes.

    `shared` is how many items from the start it has in common with the context before it: so much can be
    served from a provider's cache. `plan` says so to providers that take cache marks.
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
        on_render: OnRender | None = None,
    ) -> None:
        self._on_render = on_render
        self.receipt = receipt
        self.tools = tuple(tools)
        self.model = model
        self.items, self.plan = _joined(fitted, key)
        self.tokens: Mapping[str, int] = {part.name: part.counted for part in fitted}
        self.shared = 0 if previous is None else shared_prefix(previous.items, self.items)

    def __repr__(self) -> str:
        return f"<Context of {len(self.items)} items, {self.receipt.tokens:,} tokens>"

    def render(self, provider: str | Provider, *, model: str | None = None, strict: bool = False) -> Rendered:
        """Return the payload for a provider: `**context.render("openai")` are the arguments of its client."""
        wire = provider_for(provider)
        model = model or self.model
        rendered = wire.render(self.items, model=model, tools=self.tools, plan=self.plan, strict=strict)
        if self._on_render is not None:
            self._on_render(self, wire, model, rendered)
        return rendered

    def room(self, section: str = "history") -> Room:
        """Return the room that a section may take while all else stays as it is, for a compactor."""
        if section not in self.tokens:
            raise UnknownKey(f"no section {cut(str(section))!r} in the context")
        return self.receipt.room(section)

    def explain(self, item: Item | str) -> Entry:
        """Return what became of one candidate."""
        return self.receipt.explain(item)


def _joined(fitted: Sequence[Fitted], key: str | None) -> tuple[Scroll, CachePlan]:
    """Join all sections to one scroll, and say how much of its beginning is stable.

    The last elastic section is the view in the scroll: what comes before it is the beginning.
    """
    elastic = [index for index, part in enumerate(fitted) if part.piece.is_elastic]
    middle = elastic[-1] if elastic else len(fitted) - 1
    before = [item for part in fitted[:middle] for item in part.shown]
    after = [item for part in fitted[middle + 1 :] for item in part.shown]
    grown = fitted[middle].shown if fitted else Scroll()
    scroll = Scroll((*before, *grown.before), grown.view, grown.start, tuple(after))
    static = sum(len(part.shown) for part in takewhile(_is_static, fitted))
    volatile = next((i for i, part in enumerate(fitted[:middle]) if _is_volatile(part)), None)
    slow = None if volatile is None else sum(len(part.shown) for part in fitted[:volatile])
    return scroll, CachePlan(static=static, slow=slow, key=key)


def _is_static(part: Fitted) -> bool:
    return part.piece.section.stability == "static"


def _is_volatile(part: Fitted) -> bool:
    return part.piece.section.stability == "volatile" and len(part.shown) > 0


def shared_prefix(earlier: Scroll, later: Scroll) -> int:
    """Return how many items from the start two scrolls have in common."""
    added = later.added_since(earlier)
    if added is None:
        return _common(earlier, later)
    return earlier.stable_length + _common(earlier.after, chain(added, later.after))


def _common(one: Iterable[Item], other: Iterable[Item]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))
