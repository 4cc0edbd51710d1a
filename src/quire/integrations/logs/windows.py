"""Items as a log has them: in windows between compactions, each a list of a provider's messages."""

from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from quire.integrations.logs.conversation import Conversation, Entry, Json, Target, Window, unused_id
from quire.items import (
    ConfigChange,
    Hide,
    Item,
    Message,
    Note,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
    own_origin,
)
from quire.providers import (
    ANY_MODEL,
    BEGIN,
    CONTINUE,
    HISTORY,
    Downgrade,
    Pairing,
    content_for_model,
    entries_in,
    fields_in,
    provider_for,
    text_in,
    unpack,
)
from quire.state import Scroll, Transcript, is_edit

_CALLS = ("tool_use", "function_call", "custom_tool_call")
_RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output")
_OF_REQUESTS = ("result_added", "tools_added", "turn_added")
"""What a request needs, and a log does not have."""


def without_sealed(items: Sequence[Item], wire: str) -> list[Item]:
    """Items in which a compaction is undone whose summary is sealed, and not for this wire."""
    sealed, undone = False, list[Item]()
    for item in items:
        if isinstance(item, Hide):
            undone += [Undo(item.id)] if sealed else []
        elif not is_edit(item):
            state = item.state if isinstance(item, Reasoning) else None
            blocks = [] if state is None or state.provider == wire else unpack(state)
            sealed = any(text_in(block.get("type")).startswith("compaction") for block in blocks)
    return [*items, *undone]


class Stretch(NamedTuple):
    """The items of a window. The first `replacing` of them stand for all that was before."""

    items: list[Item]
    replacing: int = 0


def stretches(items: Sequence[Item]) -> list[Stretch]:
    """Everything recorded, cut where compactions have cut. The last window is what is shown now.

    What a compaction left shown of the past, such as a summary or a pinned item, begins the window after it.
    """
    log = Transcript(items)
    found, start, replacing, head = list[Stretch](), 0, 0, list[Item]()
    for end, revision in _cuts(log, items):
        found.append(Stretch([*head, *_content(items[start:end])], replacing))
        recent = {item.id for item in _content(items[end:])}
        head = [item for item in log.at(revision) if item.id not in recent]
        start, replacing = end, len(head) + len(_content(items[end:revision]))
    recent = {item.id for item in _content(items[start:])}
    shown = list(log.view)
    before = [item for item in shown if item.id not in recent]
    after = [item for item in shown if item.id in recent]
    return [*found, Stretch([*before, *after], max(replacing + len(before) - len(head), 0))]


def _cuts(log: Transcript, items: Sequence[Item]) -> list[tuple[int, int]]:
    """Where each compaction cut, behind the last item that it hid, and the revision after it."""
    cuts = list[tuple[int, int]]()
    for revision, edit in enumerate(items, 1):
        if is_edit(edit) and isinstance(edit, Hide | Summary | Undo):
            shown = {item.id for item in log.at(revision)}
            places = (at for at in reversed(range(revision)) if not is_edit(items[at]))
            cut = next((at + 1 for at in places if items[at].id not in shown), 0)
            cuts = [known for known in cuts if known[0] < cut] + ([(cut, revision)] if cut else [])
    return cuts


def _content(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if not is_edit(item)]


# Items as messages


def turns_of(items: Sequence[Item]) -> tuple[list[Item], list[Downgrade]]:
    """Items with each result behind its call, and what was changed for that. The last calls may be open."""
    known, lost = {item.id for item in items}, list[Downgrade]()
    paired = Pairing().pair(Scroll(tuple(items)))
    end = len(paired)
    while end and isinstance(paired[end - 1], ToolResult):
        end -= 1
    turns = [*paired[:end], *(item for item in paired[end:] if item.id in known)]
    written = {item.id: item for item in turns}
    for item in items:
        if item.id not in written and isinstance(item, ToolResult):
            reason = f"no open call {item.call_id!r} for this result"
            lost.append(Downgrade(item.id, "result_left_out", reason))
        elif item.id not in written:
            reason = "a record for the program, without text for a model"
            lost.append(Downgrade(item.id, "not_rendered", reason))
        elif isinstance(item, ToolResult) and isinstance(written[item.id], Message):
            lost.append(Downgrade(item.id, "text_moved", "the model had gone on without this result"))
    added = [item.id.removesuffix("/result") for item in turns if item.id not in known]
    return turns, lost + [Downgrade(own_id, "result_added", "the call has no result") for own_id in added]


def conversation_of(items: Sequence[Item], wire: str, target: Target) -> tuple[Conversation, list[Downgrade]]:
    """Items as messages of a wire, with their ids and times, and what those do not carry.

    With `target.whole` it is everything recorded, in windows; else what is shown, in one. The instructions at
    the start are in the head; for Anthropic's wire, whose program has its own, they are left out.
    """
    model, view = target.model or model_in(items, wire), list(Transcript(items).view)
    roles = ("system", "developer") if wire == "anthropic" else ("system",)
    told = list(takewhile(lambda item: _instructions(item, roles), _content(items)))
    apart, ids, windows = {item.id for item in told}, set[str](), list[Window]()
    lost = _masked(items, view) if target.whole else []
    if wire == "anthropic":
        lost += [Downgrade(item.id, "instructions_left_out", "the program has its own") for item in told]
    for shown, replacing in stretches(items) if target.whole else [Stretch(view)]:
        turns, changed = turns_of([item for item in shown if item.id not in apart])
        rendered = provider_for(wire).render(turns, model=model)
        pairs = list(_owned(wire, rendered.shared, turns))
        before = {item.id for item in shown[:replacing]}
        count = next((at for at, (_, item) in enumerate(pairs) if item and item.id not in before), len(pairs))
        time, entries = items[0].created_at, list[Entry]()
        for message, item in pairs:
            time = item.created_at if item else time
            entries.append(Entry(message, unused_id(item.id, ids) if item else None, time))
        windows.append(Window(entries, count if before else 0))
        lost += changed + [one for one in rendered.downgrades if one.change not in _OF_REQUESTS]
        if entries and _texts(entries[0].message) == [BEGIN]:
            lost.append(Downgrade(None, "turn_added", "the first message has to be one of the user"))
    text = "\n\n".join(_instructions(item, roles) for item in told)
    head = {"model": model, "instructions": text}
    head = {name: value for name, value in head.items() if value}
    return Conversation(wire, windows, head), list(dict.fromkeys(lost))


def model_in(items: Sequence[Item], wire: str) -> str | None:
    """The last model whose state a wire can take back."""
    states = (getattr(item, "state", None) for item in reversed(items))
    return next(
        (one.model for one in states if one and one.provider == wire and one.model != ANY_MODEL), None
    )


def _instructions(item: Item, roles: Sequence[str]) -> str:
    if own_origin(item) != "system":
        return ""
    if isinstance(item, ConfigChange):
        return item.instructions or ""
    return item.text if isinstance(item, Message) and item.role in roles else ""


def _masked(items: Sequence[Item], view: Sequence[Item]) -> list[Downgrade]:
    recorded = {item.id: item for item in items}
    reason = "a mask is in force: its stub is written in place of the whole"
    changed = [item for item in view if not isinstance(item, Summary) and recorded[item.id] is not item]
    return [Downgrade(item.id, "content_left_out", reason) for item in changed]


def _owned(wire: str, payload: Json, items: Sequence[Item]) -> Iterator[tuple[Json, Item | None]]:
    """The messages of a payload, each of one item where that can be told.

    What only a request needs is left out: a result for an open call, a turn to end with.
    """
    ids, pieces = {item.id for item in items}, list[tuple[str, Json, Item | None]]()
    owners = _Owners(Pairing().pair(Scroll(tuple(items))))
    for role, piece in _pieces(wire, payload):
        owner = owners.of(role, piece)
        if (owner is None and _texts(piece) == [CONTINUE]) or (owner and owner.id not in ids):
            continue
        pieces.append((role, piece, owner))
    if wire != "anthropic":
        yield from ((piece, owner) for _, piece, owner in pieces)
        return
    for (role, _), run in groupby(pieces, lambda one: (one[0], id(one[2]))):
        some = list(run)
        yield {"role": role, "content": [piece for _, piece, _ in some]}, some[0][2]


def _pieces(wire: str, payload: Json) -> Iterator[tuple[str, Json]]:
    """The smallest parts of a payload that are of one item, with their roles."""
    yield from (("system", fields_in(block)) for block in entries_in(payload.get("system")))
    for message in map(fields_in, entries_in(payload[HISTORY[wire]])):
        blocks = entries_in(message["content"]) if wire == "anthropic" else [message]
        yield from ((text_in(message.get("role")), fields_in(block)) for block in blocks)


class _Owners:
    """Finds the item that a piece of a payload is of. Pieces come in the order of the items."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._calls = iter([item for item in items if isinstance(item, ToolCall)])
        self._results = iter([item for item in items if isinstance(item, ToolResult)])
        self._rest = [item for item in items if not isinstance(item, ToolCall | ToolResult)]
        self._at, self._left = 0, 0

    def of(self, role: str, piece: Json) -> Item | None:
        """The item of a piece; None if it is of none."""
        if piece.get("type") in _CALLS:
            return next(self._calls, None)
        if piece.get("type") in _RESULTS:
            return next(self._results, None)
        current = self._rest[self._at - 1] if self._at else None
        if current is not None and self._left and _says(current, role, piece):
            self._left -= 1
            return current
        for at in range(self._at, len(self._rest)):
            if _says(self._rest[at], role, piece):
                self._at, self._left = at + 1, _size(self._rest[at]) - 1
                return self._rest[at]
        if self._left and role == "user":  # media that became text
            self._left -= 1
            return current
        return None


def _says(item: Item, role: str, piece: Json) -> bool:
    """Whether a piece may be of an item."""
    if not isinstance(item, Message | Summary | Note | Reasoning):
        return isinstance(item, ConfigChange) and item.instructions in _texts(piece)
    if isinstance(item, Reasoning | Message) and piece in unpack(item.state):
        return True
    is_of_model = isinstance(item, Message) and item.role == "assistant"
    if isinstance(item, Reasoning) or is_of_model != (role == "assistant"):
        return False
    content, texts = content_for_model(item), _texts(piece)
    if isinstance(content, str):
        return content in texts
    said = [part for part in content if isinstance(part, str)]
    return texts[0] in (*said, "\n".join(said)) if texts else len(said) < len(content)


def _texts(piece: Json) -> list[str]:
    """The texts of a block, or of a message."""
    content = piece.get("content", piece.get("text"))
    if isinstance(content, str):
        return [content]
    return [text for one in entries_in(content) if (text := text_in(fields_in(one).get("text")))]


def _size(item: Item) -> int:
    """How many pieces an item may have."""
    if isinstance(item, Message | Reasoning) and item.state is not None and item.state.data:
        return max(len(unpack(item.state)), 1)
    return len(item.parts) if isinstance(item, Message) else 1
