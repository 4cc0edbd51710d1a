"""Converts items to the windows of a log: lists of a provider's messages, cut at compactions."""

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
_REQUEST_CHANGES = ("result_added", "tools_added", "turn_added")
"""Changes that only a request needs; a log is written without them."""


def without_sealed(items: Sequence[Item], wire: str) -> list[Item]:
    """Items with an `Undo` for each compaction whose summary is encrypted for another wire."""
    sealed, undone = False, list[Item]()
    for item in items:
        if isinstance(item, Hide):
            undone += [Undo(item.id)] if sealed else []
        elif not is_edit(item):
            state = item.state if isinstance(item, Reasoning) else None
            blocks = [] if state is None or state.provider == wire else unpack(state)
            sealed = any(text_in(block.get("type")).startswith("compaction") for block in blocks)
    return [*items, *undone]


class ItemWindow(NamedTuple):
    """The items of a window. The first `replacing` of them replace all earlier windows."""

    items: list[Item]
    replacing: int = 0


def item_windows(items: Sequence[Item]) -> list[ItemWindow]:
    """Everything recorded, cut at the compactions. The last window has the items that are shown now.

    Earlier items that a compaction leaves shown, such as a summary or a pinned item, begin the next window.
    """
    log = Transcript(items)
    windows, start, replacing, head = list[ItemWindow](), 0, 0, list[Item]()
    for end, revision in _cuts(log, items):
        windows.append(ItemWindow([*head, *_content(items[start:end])], replacing))
        later_ids = {item.id for item in _content(items[end:])}
        head = [item for item in log.at(revision) if item.id not in later_ids]
        start, replacing = end, len(head) + len(_content(items[end:revision]))
    later_ids = {item.id for item in _content(items[start:])}
    earlier = [item for item in log.view if item.id not in later_ids]
    later = [item for item in log.view if item.id in later_ids]
    replacing += len(earlier) - len(head)  # a later edit may have shown or hidden earlier items
    return [*windows, ItemWindow([*earlier, *later], max(replacing, 0))]


def _cuts(log: Transcript, items: Sequence[Item]) -> list[tuple[int, int]]:
    """For each compaction: the index after the last item that it hid, and the revision after its edit."""
    cuts = list[tuple[int, int]]()
    for revision, edit in enumerate(items, 1):
        if is_edit(edit) and isinstance(edit, Hide | Summary | Undo):
            shown = {item.id for item in log.at(revision)}
            backwards = (index for index in reversed(range(revision)) if not is_edit(items[index]))
            cut = next((index + 1 for index in backwards if items[index].id not in shown), 0)
            cuts = [earlier for earlier in cuts if earlier[0] < cut]  # others are undone or repeated
            cuts += [(cut, revision)] if cut else []
    return cuts


def _content(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if not is_edit(item)]


# Items as messages


def turns_of(items: Sequence[Item]) -> tuple[list[Item], list[Downgrade]]:
    """Items with each result after its call, and the changes made for this. The last calls may be open."""
    recorded_ids, downgrades = {item.id for item in items}, list[Downgrade]()
    paired = Pairing().pair(Scroll(tuple(items)))
    end = len(paired)
    while end and isinstance(paired[end - 1], ToolResult):
        end -= 1
    turns = [*paired[:end], *(item for item in paired[end:] if item.id in recorded_ids)]
    turn_by_id = {item.id: item for item in turns}
    for item in items:
        if item.id not in turn_by_id and isinstance(item, ToolResult):
            reason = f"no open call {item.call_id!r} for this result"
            downgrades.append(Downgrade(item.id, "result_left_out", reason))
        elif item.id not in turn_by_id:
            reason = "a record for the program, without text for a model"
            downgrades.append(Downgrade(item.id, "not_rendered", reason))
        elif isinstance(item, ToolResult) and isinstance(turn_by_id[item.id], Message):
            downgrades.append(Downgrade(item.id, "text_moved", "the model had gone on without this result"))
    added = [item.id.removesuffix("/result") for item in turns if item.id not in recorded_ids]
    downgrades += [Downgrade(own_id, "result_added", "the call has no result") for own_id in added]
    return turns, downgrades


def conversation_of(items: Sequence[Item], wire: str, target: Target) -> tuple[Conversation, list[Downgrade]]:
    """Items as messages of a wire with ids and times, and the downgrades for what the messages cannot hold.

    With `target.whole`, all that was recorded is written, in windows; otherwise the items that are shown, in
    one window. Instructions at the start are in the head. On Anthropic's wire they are left out, because its
    program has its own.
    """
    model, view = target.model or model_in(items, wire), list(Transcript(items).view)
    roles = ("system", "developer") if wire == "anthropic" else ("system",)
    leading = list(takewhile(lambda item: _instructions(item, roles), _content(items)))
    leading_ids, ids, windows = {item.id for item in leading}, set[str](), list[Window]()
    downgrades = _mask_downgrades(items, view) if target.whole else []
    if wire == "anthropic":
        reason = "the program has its own"
        downgrades += [Downgrade(item.id, "instructions_left_out", reason) for item in leading]
    for shown, replacing in item_windows(items) if target.whole else [ItemWindow(view)]:
        turns, turn_downgrades = turns_of([item for item in shown if item.id not in leading_ids])
        rendered = provider_for(wire).render(turns, model=model)
        pairs = list(_with_items(wire, rendered.shared, turns))
        replacing_ids = {item.id for item in shown[:replacing]}
        is_later = (item is not None and item.id not in replacing_ids for _, item in pairs)
        replacing_count = next((index for index, later in enumerate(is_later) if later), len(pairs))
        time, entries = items[0].created_at, list[Entry]()
        for message, item in pairs:
            time = item.created_at if item else time
            entries.append(Entry(message, unused_id(item.id, ids) if item else None, time))
        windows.append(Window(entries, replacing_count if replacing_ids else 0))
        downgrades += turn_downgrades
        downgrades += [loss for loss in rendered.downgrades if loss.change not in _REQUEST_CHANGES]
        if entries and _texts(entries[0].message) == [BEGIN]:
            downgrades.append(Downgrade(None, "turn_added", "the first message must be one of the user"))
    text = "\n\n".join(_instructions(item, roles) for item in leading)
    head = {"model": model, "instructions": text}
    head = {name: value for name, value in head.items() if value}
    return Conversation(wire, windows, head), list(dict.fromkeys(downgrades))


def model_in(items: Sequence[Item], wire: str) -> str | None:
    """The model of the last opaque state for a wire; None if there is none."""
    for item in reversed(items):
        state = getattr(item, "state", None)
        if state and state.provider == wire and state.model != ANY_MODEL:
            return str(state.model)
    return None


def _instructions(item: Item, roles: Sequence[str]) -> str:
    if own_origin(item) != "system":
        return ""
    if isinstance(item, ConfigChange):
        return item.instructions or ""
    return item.text if isinstance(item, Message) and item.role in roles else ""


def _mask_downgrades(items: Sequence[Item], view: Sequence[Item]) -> list[Downgrade]:
    recorded_by_id = {item.id: item for item in items}
    reason = "a mask is in force: its stub is written in place of the whole"
    stubs = (item for item in view if not isinstance(item, Summary) and recorded_by_id[item.id] is not item)
    return [Downgrade(item.id, "content_left_out", reason) for item in stubs]


def _with_items(wire: str, payload: Json, items: Sequence[Item]) -> Iterator[tuple[Json, Item | None]]:
    """The messages of a payload, each with its item (None if not found).

    Additions that only a request needs are left out: results for open calls, and a last turn of the user.
    """
    ids, pieces = {item.id for item in items}, list[tuple[str, Json, Item | None]]()
    finder = _ItemFinder(Pairing().pair(Scroll(tuple(items))))
    for role, piece in _pieces(wire, payload):
        item = finder.find(role, piece)
        if (item is None and _texts(piece) == [CONTINUE]) or (item and item.id not in ids):
            continue
        pieces.append((role, piece, item))
    if wire != "anthropic":
        yield from ((piece, item) for _, piece, item in pieces)
        return
    for (role, _), group in groupby(pieces, lambda entry: (entry[0], id(entry[2]))):
        run = list(group)
        yield {"role": role, "content": [piece for _, piece, _ in run]}, run[0][2]


def _pieces(wire: str, payload: Json) -> Iterator[tuple[str, Json]]:
    """The roles and pieces of a payload. A piece comes from one item: a message, or a block of Anthropic."""
    yield from (("system", fields_in(block)) for block in entries_in(payload.get("system")))
    for message in map(fields_in, entries_in(payload[HISTORY[wire]])):
        blocks = entries_in(message["content"]) if wire == "anthropic" else [message]
        yield from ((text_in(message.get("role")), fields_in(block)) for block in blocks)


class _ItemFinder:
    """Finds the item from which a piece of a payload was made. Pieces come in the order of the items."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._calls = iter([item for item in items if isinstance(item, ToolCall)])
        self._results = iter([item for item in items if isinstance(item, ToolResult)])
        self._others = [item for item in items if not isinstance(item, ToolCall | ToolResult)]
        self._next = 0  # an index in `_others`
        self._pieces_left = 0  # pieces that the item before `_next` may still have

    def find(self, role: str, piece: Json) -> Item | None:
        """The item of a piece; None if no item matches."""
        if piece.get("type") in _CALLS:
            return next(self._calls, None)
        if piece.get("type") in _RESULTS:
            return next(self._results, None)
        current = self._others[self._next - 1] if self._next else None
        if current is not None and self._pieces_left and _matches(current, role, piece):
            self._pieces_left -= 1
            return current
        for index in range(self._next, len(self._others)):
            item = self._others[index]
            if _matches(item, role, piece):
                self._next, self._pieces_left = index + 1, _max_pieces(item) - 1
                return item
        if self._pieces_left and role == "user":  # the piece is a text in place of media
            self._pieces_left -= 1
            return current
        return None


def _matches(item: Item, role: str, piece: Json) -> bool:
    """Whether a piece may be made from an item."""
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
    item_texts = [part for part in content if isinstance(part, str)]
    return texts[0] in (*item_texts, "\n".join(item_texts)) if texts else len(item_texts) < len(content)


def _texts(piece: Json) -> list[str]:
    """The texts of a block, or of a message."""
    content = piece.get("content", piece.get("text"))
    if isinstance(content, str):
        return [content]
    return [text for block in entries_in(content) if (text := text_in(fields_in(block).get("text")))]


def _max_pieces(item: Item) -> int:
    """The greatest number of pieces that an item may have."""
    if isinstance(item, Message | Reasoning) and item.state is not None and item.state.data:
        return max(len(unpack(item.state)), 1)
    return len(item.parts) if isinstance(item, Message) else 1
