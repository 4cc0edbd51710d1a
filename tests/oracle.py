"""A transcript in the plainest form: lists, everything computed anew. The real one is held to it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from quire.items import (
    ConfigChange,
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


def is_edit(item: Item) -> bool:
    return isinstance(item, Hide | Mask | Pin | Undo) or (isinstance(item, Summary) and bool(item.spans))


def stand_in(item: Message | ToolResult, mask: Mask) -> Message | ToolResult:
    if isinstance(item, Message) and item.role == "assistant":
        whose = (item.state.provider, item.state.model, item.state.data) if item.state else ("quire", "", "")
        return msgspec.structs.replace(item, content=mask.stub, state=Opaque(*whose, prefix="masked"))
    return msgspec.structs.replace(item, content=mask.stub)


def is_output(item: Item) -> bool:
    return isinstance(item, ToolCall | Reasoning) or (isinstance(item, Message) and item.role == "assistant")


def merge_of(item: Item) -> object:
    return item.extras.get("quire.merged")


def last_merge(item: Item) -> str | None:
    mark = merge_of(item)
    return mark.split("/")[0] if isinstance(mark, str) else None


def begins(one: Item, other: Item) -> bool:
    return one is not other and one.id == last_merge(one) == last_merge(other)


@dataclass
class PlainTranscript:
    """What the laws say, word for word, without a thought for speed."""

    log: list[Item] = field(default_factory=list[Item])
    heads: list[int] = field(default_factory=list[int])
    times: list[float] = field(default_factory=list[float])
    reply: int | None = None  # the last item recorded, if it is a model's output that the next may join

    def copy(self) -> "PlainTranscript":
        return PlainTranscript(list(self.log), list(self.heads), list(self.times), self.reply)

    def append(self, item: Item) -> None:
        position = len(self.log)
        time, head = item.created_at, position
        if not is_edit(item):
            time, head = self._place(item)
            self.reply = position if is_output(item) else None
            early = self.early_result(item, time) if isinstance(item, ToolCall) else None
            if early is not None:
                head, self.reply = early, None
        self.log.append(item)
        self.heads.append(-1 if is_edit(item) else head)
        self.times.append(time)
        if self.reply is not None and self.reply not in self.shown_positions():
            self.reply = None

    def _place(self, item: Item) -> tuple[float, int]:
        position, time = len(self.log), item.created_at
        content = [p for p in range(position) if not is_edit(self.log[p])]
        latest = max((self.times[p] for p in content), default=float("-inf"))
        head = self._head(item)
        members = [self.times[p] for p in content if self.heads[p] == head]
        if self.reply is not None and head == self.heads[self.reply] and is_output(item):
            last = self.times[content[-1]]
            time = last if last < latest else max(time, latest)
        elif members and time < latest:
            time = max([time, *members])
        while time < latest:
            before = max((p for p in content if self.times[p] <= time), key=self._place_of, default=None)
            after = min((p for p in content if self.times[p] > time), key=self._place_of, default=None)
            if before is None or after is None or not self.heads[before] == self.heads[after] != head:
                break
            time = max(time, self.times[after])
        return time, head

    def _place_of(self, position: int) -> tuple[float, int]:
        return self.times[position], position

    def _head(self, item: Item) -> int:
        position = len(self.log)
        if isinstance(item, ToolResult):
            call = self.call_for(item, self.open_calls())
            return self.heads[call] if call is not None else position
        if not is_output(item):
            return position
        if self.reply is not None and self._goes_on(self.log[self.reply], item):
            return self.heads[self.reply]
        first = (p for p, other in enumerate(self.log) if begins(other, item) and not is_edit(other))
        return next((self.heads[p] for p in first), position)

    def _goes_on(self, last: Item, item: Item) -> bool:
        """Whether an output belongs to the reply that the one recorded before it is of."""
        members = [p for p in range(len(self.log)) if self.heads[p] == self.heads[self.log.index(last)]]
        said = any(isinstance(self.log[p], Message) for p in members)
        called = any(isinstance(self.log[p], ToolCall) for p in members)
        same = item.agent_id == last.agent_id and merge_of(item) == merge_of(last)
        return same and (called or not said or isinstance(item, ToolCall))

    def config(self) -> tuple[str | None, tuple[str, ...] | None]:
        """The instructions and the tools that were set last, whatever is shown of them."""
        told: str | None = None
        tools: tuple[str, ...] | None = None
        for position in sorted(range(len(self.log)), key=self._place_of):
            item = self.log[position]
            if isinstance(item, ConfigChange):
                told = told if item.instructions is None else item.instructions
                tools = tools if item.tools is None else item.tools
            elif isinstance(item, Message) and item.role in ("system", "developer"):
                told = item.text
        return told, tools

    def call_for(self, result: ToolResult, waiting: Sequence[int]) -> int | None:
        """Of the calls of this id that wait: merged with it, of its name, of the latest reply, the first.

        What was merged is for what came with it, or for the call that it was marked by.
        """
        calls = [(p, call) for p in sorted(waiting) if isinstance(call := self.log[p], ToolCall)]
        alike = [(p, call) for p, call in calls if call.call_id == result.call_id]
        merge = last_merge(result)
        beside = [] if merge else alike
        alike = [(p, c) for p, c in alike if last_merge(c) == merge or c.id == merge] or beside
        alike = [(p, call) for p, call in alike if call.name == result.name] or alike
        latest = max((self.heads[p] for p, _ in alike), default=None)
        return min((p for p, _ in alike if self.heads[p] == latest), default=None)

    def early_result(self, call: ToolCall, time: float) -> int | None:
        """The first result that is shown after a new call of its id, with which no call stands yet."""
        alone = [
            p
            for p, item in enumerate(self.log)
            if isinstance(item, ToolResult)
            and item.call_id == call.call_id
            and self.group(p) == {p}
            and last_merge(item) == last_merge(call)
        ]
        shown = [p for p in alone if self.times[p] > time and p in self.shown_positions()]
        return min(shown, key=self._place_of, default=None)

    def open_calls(self) -> list[int]:
        waiting: set[int] = set()
        for position, item in enumerate(self.log):
            if isinstance(item, ToolCall):
                first = self.log[self.heads[position]]
                if not (isinstance(first, ToolResult) and first.call_id == item.call_id):
                    waiting.add(position)
            elif isinstance(item, ToolResult):
                waiting.discard(-1 if (call := self.call_for(item, sorted(waiting))) is None else call)
        return sorted(waiting)

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
        """Content that a hide or a summary takes away."""
        edit = self.log[position]
        assert isinstance(edit, Hide | Summary)
        every = set[int]().union(*(self.span(span) for span in edit.spans))
        return {p for p in every if not is_edit(self.log[p])}

    def folded_by(self, position: int) -> set[int]:
        edit = self.log[position]
        assert isinstance(edit, Hide | Summary)
        return {
            self.find(s.first)
            for s in edit.spans
            if s.first == s.last and is_edit(self.log[self.find(s.first)])
        }

    def group(self, position: int) -> set[int]:
        return {p for p, head in enumerate(self.heads) if head == self.heads[position]}

    def pinned(self) -> set[int]:
        pins = [self.log[p] for p in self.active()]
        return set[int]().union(*(self.group(self.find(pin.target)) for pin in pins if isinstance(pin, Pin)))

    def away(self) -> set[int]:
        covers = [p for p in self.active() if isinstance(self.log[p], Hide | Summary)]
        return set[int]().union(*(self.covered_by(p) for p in covers)) - self.pinned()

    def shown_positions(self) -> list[int | None]:
        """Positions of what is shown, in order; `None` for a summary that stands for others."""
        return [position for position, _ in self._entries()]

    def shown(self) -> list[Item]:
        return [item for _, item in self._entries()]

    def _entries(self) -> list[tuple[int | None, Item]]:
        active = self.active()
        away, pinned = self.away(), self.pinned()
        masks: dict[int, Mask] = {}
        for p in active:
            edit = self.log[p]
            if isinstance(edit, Mask):
                masks[self.find(edit.target)] = edit
        entries: list[tuple[tuple[float, int, int], int | None, Item]] = []
        for p, item in enumerate(self.log):
            if not is_edit(item) and p not in away:
                if p in masks and p not in pinned:
                    assert isinstance(item, Message | ToolResult)
                    item = stand_in(item, masks[p])
                entries.append(((self.times[p], p, 1), p, item))
        for p in self._summaries(active):
            first = min(self.covered_by(p), key=lambda covered: (self.times[covered], covered))
            entries.append(((self.times[first], first, 0), None, self.log[p]))
        return [(p, item) for _, p, item in sorted(entries, key=lambda entry: entry[0])]

    def _summaries(self, active: Sequence[int]) -> Iterable[int]:
        covers = [p for p in active if isinstance(self.log[p], Hide | Summary)]
        named = set[int]().union(*(self.folded_by(p) for p in covers))
        summaries = [p for p in covers if isinstance(self.log[p], Summary)]
        for p in summaries:
            folded = any(later > p and self.covered_by(p) <= self.covered_by(later) for later in summaries)
            if p not in named and not folded:
                yield p
