"""A plain counter and a plain transcript, to compare with: lists, without caches."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from quire.items import (
    ConfigChange,
    Distrust,
    Edit,
    Hide,
    Item,
    Mask,
    Message,
    Opaque,
    Pin,
    Reasoning,
    Span,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
)


class FourCharacters:
    """Counts four characters as a token."""

    key = "four-characters"

    def count(self, item: Item) -> int:
        if isinstance(item, Message | ToolResult | Summary):
            return 4 + len(item.text) // 4
        return 4 + (len(item.arguments) // 4 if isinstance(item, ToolCall) else 0)

    def total(self, counted: int) -> int:
        return counted + 3


def is_edit(item: Item) -> bool:
    return isinstance(item, Edit) and not (isinstance(item, Summary) and not item.spans)


def apply_mask(item: Message | ToolResult, mask: Mask) -> Message | ToolResult:
    if isinstance(item, Message) and item.role == "assistant":
        return msgspec.structs.replace(item, content=mask.stub, state=_foreign_state(item))
    return msgspec.structs.replace(item, content=mask.stub)


def apply_distrust(item: Message | ConfigChange) -> Message | ConfigChange:
    """A message after a `Distrust`."""
    state = {"state": _foreign_state(item)} if isinstance(item, Message) and item.role == "assistant" else {}
    return msgspec.structs.replace(item, origin="external", **state)


def _foreign_state(item: Message) -> Opaque:
    owner = (item.state.provider, item.state.model, item.state.data) if item.state else ("quire", "", "")
    return Opaque(*owner, prefix="masked")


def is_output(item: Item) -> bool:
    return isinstance(item, ToolCall | Reasoning) or (isinstance(item, Message) and item.role == "assistant")


def merge_of(item: Item) -> object:
    return item.extras.get("quire.merged")


def reply_of(item: Item) -> str | None:
    return item.reply_id if isinstance(item, Message | Reasoning | ToolCall) else None


@dataclass
class PlainTranscript:
    """A transcript that follows the laws literally, without regard to speed."""

    log: list[Item] = field(default_factory=list[Item])
    heads: list[int] = field(default_factory=list[int])  # where each item's group begins; -1 for an edit
    reply: int | None = None  # the last position, if its item is an output that the next one may join

    def copy(self) -> "PlainTranscript":
        return PlainTranscript(list(self.log), list(self.heads), self.reply)

    def append(self, item: Item) -> None:
        position = len(self.log)
        head = -1 if is_edit(item) else self._head(item)
        if not is_edit(item):
            self.reply = position if is_output(item) else None
        self.log.append(item)
        self.heads.append(head)
        if self.reply is not None and self.reply not in self.shown_positions():
            self.reply = None

    def _head(self, item: Item) -> int:
        position = len(self.log)
        if isinstance(item, ToolResult):
            call = self.call_for(item, self.open_calls())
            return self.heads[call] if call is not None else position
        if is_output(item) and self.reply is not None and self._joins(self.reply, item):
            return self.heads[self.reply]
        return position

    def _joins(self, last: int, item: Item) -> bool:
        """Whether an output belongs to the reply of the one recorded before it."""
        members = [self.log[p] for p in self.group(last)]
        spoke = any(isinstance(member, Message) for member in members)
        called = any(isinstance(member, ToolCall) for member in members)
        before = self.log[last]
        if reply_of(item) or reply_of(before):
            return reply_of(item) == reply_of(before)
        same = item.agent_id == before.agent_id and merge_of(item) == merge_of(before)
        return same and (called or not spoke or isinstance(item, ToolCall))

    def config(self) -> tuple[str | None, tuple[str, ...] | None]:
        """The instructions and the tools that were set last, whether shown or not."""
        instructions: str | None = None
        tools: tuple[str, ...] | None = None
        for item in self.log:
            if isinstance(item, ConfigChange):
                instructions = instructions if item.instructions is None else item.instructions
                tools = tools if item.tools is None else item.tools
            elif isinstance(item, Message) and item.role in ("system", "developer"):
                instructions = item.text
        return instructions, tools

    def call_for(self, result: ToolResult, unanswered: Sequence[int]) -> int | None:
        """The open call of a result: by id, then merge, then name, then latest reply, then order.

        A merged result belongs to a call of its own merge, or to the call that its mark names.
        """
        calls = [(p, call) for p in sorted(unanswered) if isinstance(call := self.log[p], ToolCall)]
        matches = [(p, call) for p, call in calls if call.call_id == result.call_id]
        merge = merge_of(result)
        others = [] if merge else matches
        matches = [(p, c) for p, c in matches if merge_of(c) == merge or c.id == merge] or others
        matches = [(p, c) for p, c in matches if merge_of(c) == merge] or matches
        matches = [(p, call) for p, call in matches if call.name == result.name] or matches
        latest = max((self.heads[p] for p, _ in matches), default=None)
        return min((p for p, _ in matches if self.heads[p] == latest), default=None)

    def open_calls(self) -> list[int]:
        unanswered: set[int] = set()
        for position, item in enumerate(self.log):
            if isinstance(item, ToolCall):
                unanswered.add(position)
            elif isinstance(item, ToolResult):
                unanswered -= {self.call_for(item, sorted(unanswered))}
        return sorted(unanswered)

    def find(self, item_id: str) -> int:
        return next(p for p, item in enumerate(self.log) if item.id == item_id)

    def active(self) -> list[int]:
        undone: set[int] = set()
        for position in reversed(range(len(self.log))):
            edit = self.log[position]
            if isinstance(edit, Undo) and position not in undone:
                undone.add(self.find(edit.target))
        return [p for p, item in enumerate(self.log) if is_edit(item) and p not in undone]

    def span(self, span: Span) -> set[int]:
        return set(range(self.find(span.first), self.find(span.last) + 1))

    def covered_by(self, position: int) -> set[int]:
        """Positions of the content that a hide or a summary covers."""
        edit = self.log[position]
        assert isinstance(edit, Hide | Summary)
        positions = set[int]().union(*(self.span(span) for span in edit.spans))
        named = [self.find(s.first) for s in edit.spans if s.first == s.last]
        summaries = [self.covered_by(p) for p in named if is_edit(self.log[p])]
        return {p for p in positions if not is_edit(self.log[p])}.union(*summaries)

    def group(self, position: int) -> set[int]:
        return {p for p, head in enumerate(self.heads) if head == self.heads[position]}

    def pinned(self) -> set[int]:
        pins = [self.log[p] for p in self.active()]
        return set[int]().union(*(self.group(self.find(pin.target)) for pin in pins if isinstance(pin, Pin)))

    def hidden(self) -> set[int]:
        covers = [p for p in self.active() if isinstance(self.log[p], Hide | Summary)]
        return set[int]().union(*(self.covered_by(p) for p in covers)) - self.pinned()

    def shown_positions(self) -> list[int | None]:
        """The positions of shown items, in order; `None` for a summary."""
        return [position for position, _ in self._entries()]

    def shown(self) -> list[Item]:
        return [item for _, item in self._entries()]

    def _entries(self) -> list[tuple[int | None, Item]]:
        active = self.active()
        hidden, pinned = self.hidden(), self.pinned()
        masks: dict[int, Mask] = {}
        for p in active:
            edit = self.log[p]
            if isinstance(edit, Mask):
                masks[self.find(edit.target)] = edit
        edits = [self.log[p] for p in active]
        distrusted = {self.find(edit.target) for edit in edits if isinstance(edit, Distrust)}
        entries: list[tuple[tuple[int, int], int | None, Item]] = []
        for p, item in enumerate(self.log):
            if not is_edit(item) and p not in hidden:
                if p in masks and p not in pinned:
                    assert isinstance(item, Message | ToolResult)
                    item = apply_mask(item, masks[p])
                elif p in distrusted and isinstance(item, Message | ConfigChange):
                    item = apply_distrust(item)
                entries.append(((p, 1), p, item))
        for p in self._summaries(active):
            entries.append(((min(self.covered_by(p)), 0), None, self.log[p]))
        return [(p, item) for _, p, item in sorted(entries, key=lambda entry: entry[0])]

    def _summaries(self, active: Sequence[int]) -> Iterable[int]:
        covers = [p for p in active if isinstance(self.log[p], Hide | Summary)]
        for p in covers:
            folded = any(later > p and self.covered_by(p) <= self.covered_by(later) for later in covers)
            if isinstance(self.log[p], Summary) and not folded:
                yield p
