"""From items to a payload, going on from where the last rendering of the same transcript stopped."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast

from quire.errors import InvalidValue, WrongType
from quire.items import KINDS, Item
from quire.providers.asked import asked_for
from quire.providers.binding import Asked
from quire.providers.caching import CachePlan
from quire.providers.definitions import Reading, Tool, reading
from quire.providers.dialogue import Dialogue, LateResult, Writer, results_by_call
from quire.providers.downgrades import Downgrade, refuse_losses
from quire.state import Scroll, View, keep_memo, memos
from quire.tokens import Definition


class Marks(NamedTuple):
    """Where, among the messages, the static and the slow part end."""

    static: int
    slow: int
    plan: CachePlan


class WireWriter(Writer, Protocol):
    """A writer that can be finished."""

    def branch(self) -> "WireWriter":
        """The same writer, to be finished; both go on on their own."""
        ...

    def finish(self, marks: Marks | None) -> dict[str, Any]:
        """The payload."""
        ...

    def bound(self) -> bool:
        """Whether state is bound to all that was sent, the volatile part included."""
        ...


Begin = Callable[[str | None, Sequence[Tool]], WireWriter]


class Rendered:
    """A payload, ready for a provider's client, and what was changed on the way.

    `names` are the tools' own names by those that the wire has for them, where it has others; `tools` are the
    own names of those that it offers; `parameters` are the own names of parameters by those that the wire has
    for them, of each tool that has such, by its own name.
    """

    __slots__ = ("_digest", "_prefix", "downgrades", "model", "names", "parameters", "payload", "tools")

    def __init__(
        self,
        payload: dict[str, Any],
        downgrades: tuple[Downgrade, ...],
        names: Mapping[str, str],
        digest: Callable[[], str],
        model: str | None = None,
        tools: tuple[str, ...] = (),
        parameters: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.payload = payload
        self.downgrades = downgrades
        self.names = names
        self.model = model
        self.tools = tools
        self.parameters = parameters or {}
        self._digest = digest
        self._prefix: str | None = None

    def __repr__(self) -> str:
        return f"<Rendered {', '.join(self.payload)}; {len(self.downgrades)} downgrades>"

    def keys(self) -> Iterable[str]:
        """The fields of the payload, so that `**rendered` hands them to a client."""
        return self.payload.keys()

    def __getitem__(self, field: str) -> Any:
        return self.payload[field]

    @property
    def prefix(self) -> str:
        """The digest of what was sent, which the state in an answer is bound to; `parse` takes it."""
        if self._prefix is None:
            self._prefix = self._digest()
        return self._prefix

    def bare(self) -> "Rendered":
        """The same without its payload: as much as it takes to read the answer."""
        return Rendered({}, (), self.names, self._digest, self.model, self.tools, self.parameters)

    def is_of(self, other: "Rendered") -> bool:
        """Whether both are of one rendering, with a payload or without."""
        return self._digest is other._digest


class _Draft(NamedTuple):
    """A rendering that may go on: of a scroll, with tools, as far as a dialogue took it: to a boundary."""

    scroll: Scroll
    tools: list[Tool]
    dialogue: Dialogue
    boundary: int


def render(
    begin: Begin,
    wire: str,
    items: Sequence[Item],
    *,
    model: str | None,
    tools: Sequence[Definition],
    plan: CachePlan | None,
    strict: bool,
) -> Rendered:
    """Items and tools as a payload of a wire."""
    _check_arguments(items, plan, model, strict)
    scroll = _scroll(items)
    definitions = _read(wire, tools, scroll)
    asked = asked_for(wire, model, scroll)
    boundary = scroll.settled if plan is None or plan.slow is None else plan.boundary(len(scroll))
    static = _static(begin, model, definitions, scroll[: plan.static]) if plan and plan.static else 0
    dialogue = _settled(begin, wire, scroll, asked, definitions, boundary)
    try:
        rendered = _finished(dialogue, scroll, definitions, plan, boundary, static)
    except LateResult:
        # What is volatile answers what was given up. The draft knows nothing of it, and so may go on.
        knowing = _knowing(begin, scroll, asked, definitions, boundary, len(scroll))
        rendered = _finished(knowing, scroll, definitions, plan, boundary, static)
    _keep(wire, asked, _Draft(scroll, definitions, dialogue, boundary))
    if strict:
        refuse_losses(rendered.downgrades)
    return rendered


def _scroll(items: Sequence[Item]) -> Scroll:
    if isinstance(items, Scroll):
        return items
    return Scroll(view=items) if isinstance(items, View) else Scroll(tuple(items))


def _settled(
    begin: Begin, wire: str, items: Scroll, asked: Asked, tools: list[Tool], boundary: int
) -> Dialogue:
    """All up to the boundary; where a result in it came late, begun again with all results that are in it."""
    try:
        return _drafted(begin, wire, items, asked, tools, boundary)
    except LateResult:
        return _knowing(begin, items, asked, tools, boundary, boundary)


def _knowing(
    begin: Begin, items: Scroll, asked: Asked, tools: list[Tool], boundary: int, seen: int
) -> Dialogue:
    """All up to the boundary, by one who knows the results among the first so many items."""
    dialogue = Dialogue(_begun(begin, asked, tools, items), results_by_call(items[:seen]), seen)
    dialogue.feed(items[:boundary])
    return dialogue


def _drafted(
    begin: Begin, wire: str, items: Scroll, asked: Asked, tools: list[Tool], boundary: int
) -> Dialogue:
    """All up to the boundary, as far as possible from what was drafted before."""
    draft = _taken(wire, asked, items, tools, boundary)
    if draft is not None:
        dialogue, added = draft
        dialogue.feed(added)
    else:
        dialogue = Dialogue(_begun(begin, asked, tools, items))
        dialogue.feed(items[:boundary])
    return dialogue


def _begun(begin: Begin, asked: Asked, tools: list[Tool], items: Scroll) -> WireWriter:
    writer = begin(asked.model, tools)
    writer.sheet.asked = asked
    writer.sheet.edited = items.was_edited
    return writer


def _taken(
    wire: str, asked: Asked, items: Scroll, tools: list[Tool], boundary: int
) -> tuple[Dialogue, list[Item]] | None:
    # The draft is taken away until the payload is finished: another thread begins its own.
    kept = None if items.view is None else memos(items.view)
    draft = cast("_Draft | None", kept.pop(_key(wire, asked, items, boundary), None)) if kept else None
    if draft is None or draft.boundary > boundary or not _alike(draft.tools, tools):
        return None
    added = items.added_since(draft.scroll)
    if added is not None and boundary < items.settled:
        added = items[draft.boundary : boundary]
    return None if added is None else (draft.dialogue, added)


def _key(wire: str, asked: Asked, items: Scroll, boundary: int) -> tuple[object, ...]:
    """What a draft is kept under: one that goes to the end is not that of a plan that stops before it."""
    return (wire, asked) if boundary == items.settled else (wire, asked, "slow")


def _alike(some: list[Tool], others: list[Tool]) -> bool:
    return some is others or [tool.exact for tool in some] == [tool.exact for tool in others]


def _read(wire: str, tools: Sequence[Definition], items: Scroll) -> list[Tool]:
    """The tools, read again only where their definitions changed since the turn before."""
    if items.view is None:
        return reading(tools, None).tools
    before = cast("Reading | None", memos(items.view).get((wire, "tools")))
    read = reading(tools, before)
    if read is not before:
        keep_memo(items.view, (wire, "tools"), read)
    return read.tools


def _keep(wire: str, asked: Asked, draft: _Draft) -> None:
    items = draft.scroll
    if items.view is not None and draft.boundary <= items.settled:
        keep_memo(items.view, _key(wire, asked, items, draft.boundary), draft)


def _static(begin: Begin, model: str | None, tools: list[Tool], items: Sequence[Item]) -> int:
    """How many messages static items become; they are few, so they are written once more to see."""
    dialogue = Dialogue(begin(model, tools), results_by_call(items))
    dialogue.feed(items)
    dialogue.close()
    return len(dialogue.writer.sheet.messages)


def _finished(
    dialogue: Dialogue,
    items: Scroll,
    tools: list[Tool],
    plan: CachePlan | None,
    boundary: int,
    static: int,
) -> Rendered:
    main = cast(WireWriter, dialogue.writer)
    if main.sheet.prefix.asked:
        main.sheet.prefix.of(main.sheet.messages)  # counted for good, so that branches need not
    writer = main.branch()
    rest = dialogue.branch(writer)
    rest.close()
    writer.sheet.settle()
    slow = writer.sheet.stable
    if boundary < len(items):
        rest.feed(items[boundary:])
        rest.close()
    payload = writer.finish(None if plan is None else Marks(static, slow, plan))
    sheet = writer.sheet
    sent = len(sheet.messages)

    def digest() -> str:
        main.sheet.prefix.asked = True  # the draft itself may be in other hands by now
        return sheet.prefix.of(sheet.written(sent) if writer.bound() else sheet.settled)

    names, offered = sheet.names.originals(), tuple(tool.name for tool in tools)
    own = {tool: {name: own for own, name in said.items()} for tool, said in sheet.parameters.items()}
    return Rendered(payload, tuple(sheet.downgrades), names, digest, sheet.model, offered, own)


def _check_arguments(items: object, plan: object, model: object, strict: object) -> None:
    if not isinstance(strict, bool):
        raise WrongType(f"strict is true or false, not {type(strict).__name__}")
    if model is not None and not isinstance(model, str):
        raise WrongType(f"a model is named by a text, not by {type(model).__name__}")
    if model == "":
        raise InvalidValue("the name of the model is empty; leave it out where it is not known")
    if not isinstance(plan, CachePlan | None):
        raise WrongType(f"a plan is a CachePlan, not {type(plan).__name__}")
    if isinstance(items, View):
        return  # a transcript takes nothing but items
    if isinstance(items, Scroll):
        items = (*items.before, *items.after)
    if not isinstance(items, Sequence) or isinstance(items, str | bytes):
        raise WrongType(f"items come as a view or a list, not as {type(items).__name__}")
    for kind in set(map(type, cast("Sequence[object]", items))):
        if kind not in KINDS:
            raise WrongType(f"items are rendered, not {kind.__name__}")
