"""Forks with a scope, and merges of a child: everything, the final answer, or a summary.

Merged items are appended to the parent in the order in which the child recorded them. Items that the parent
has already are skipped; another item with the same id is refused.
"""

import logging
from collections.abc import Collection, Iterator
from itertools import takewhile
from typing import Final, NamedTuple

import msgspec

from quire.errors import DuplicateId, EditRefused, InvalidValue, UnknownId, WrongType, cut
from quire.items import (
    ConfigChange,
    Hide,
    Item,
    Message,
    Summary,
    ToolCall,
    ToolResult,
    Unknown,
    now,
    own_origin,
)
from quire.state.groups import MERGED, Answers, Group, is_edit, is_instruction
from quire.state.log import Segment
from quire.state.origins import origin_of
from quire.state.shape import Interval, singles, united, without
from quire.state.transcript import CLOSED, Transcript
from quire.state.view import EditsInForce, View, spans_over
from quire.tokens import named, whole

logger = logging.getLogger("quire.state")

TASK: Final = "quire.task"
"""The key of `extras` that marks the task of a brief, which no user of the parent wrote."""

_CALLS_AND_RESULTS = (ToolCall, ToolResult)


def brief(instructions: str, task: str | None = None, agent_id: str | None = None) -> Transcript:
    """A new transcript with instructions and perhaps a task, neither of which is ever merged back."""
    if not named(instructions, "the instructions of a brief").strip():
        raise InvalidValue("a brief needs instructions")
    items: list[Item] = [Message("system", instructions, agent_id=agent_id)]
    if task:
        items.append(Message("user", task, agent_id=agent_id, extras={TASK: True}))
    return Transcript(items)


def fork_scoped(
    parent: Transcript, *, turns: int | None = None, tools: Collection[str] | None = None
) -> Transcript:
    """A fork that shows the instructions, the last `turns` turns, and calls of these tools only.

    Pins stay shown. A reply that called any other tool is left out whole, with its results. The fork shares
    the whole log, and hides what is outside its scope.
    """
    if isinstance(tools, str):
        raise WrongType("tools must be a collection of names, not a single name")
    child = parent.fork()
    if turns is None and tools is None:
        return child
    view = child.view
    start = 0 if turns is None else _start_of_turns(view, whole(turns, "turns", least=1))
    spans = view.log.spans(_outside(view, start, tools))
    if spans:
        child.append(Hide(spans))
    return child


def _start_of_turns(view: View, turns: int) -> int:
    """The position of the user message that begins the last `turns` turns; 0 if there are no more."""
    users: list[int] = []
    for run in reversed(view.runs()):
        users += reversed(view.log.positions("users", run.start, run.stop))
        if len(users) > turns:
            return users[turns - 1]
    return 0


def _outside(view: View, start: int, tools: Collection[str] | None) -> list[Interval]:
    """The area to hide: what is shown before `start`, except setup, and groups with tools not in `tools`.

    A summary that also covers part of a later turn stays.
    """
    log, end = view.log, view.end
    before = united((run.start, min(run.stop, start)) for run in view.runs() if run.start < start)
    setup = singles(p for p in log.positions("marks", 0, start) if _is_setup(log.item(p)))
    # A group that began before `start` is outside, also its later members.
    heads = {head for head in log.detached_members(start, end) if head < start}
    if tools is not None:
        later = enumerate(log.items(start, end), start)
        calls = ((position, item) for position, item in later if isinstance(item, _CALLS_AND_RESULTS))
        heads.update(log.head(position) for position, item in calls if item.name not in tools)
    shown = (head for head in heads if view.run_at(head) is not None)
    groups = singles(p for head in shown for p in log.group(head, end))
    summaries = (log.area(item, end) for item in view.summaries() if item.spans)
    earlier = (interval for area in summaries if area[-1][1] <= start for interval in area)
    return united([*without(before, setup), *groups, *earlier])


def merge_all(parent: Transcript, child: Transcript, agent_id: str | None = None) -> list[Item]:
    """Append the items of the child to the parent, and return those that were new.

    Edits in force that concern only the child's own items are appended too, even if an earlier merge brought
    these items. Not merged are the child's instructions and configuration, the task of a brief, and results
    that only closed a call. An edit that the parent refuses is skipped with a warning.
    """
    since = _fork_point(parent, child)
    marks = _merge_marks(child, since)
    own = (item for item in _own_items(parent, child, since) if TASK not in item.extras)
    new = [_merged(item, agent_id, marks[item.id]) for item in own if not _is_setup(item)]
    parent.extend(new)
    for edit in _own_edits(parent, child, since):
        try:
            parent.append(edit)
        except (EditRefused, UnknownId) as refusal:
            logger.warning("edit %s of the child stays behind: %s", cut(edit.id), refusal)
        else:
            new.append(edit)
    return new


def merge_result(parent: Transcript, child: Transcript, agent_id: str | None = None) -> list[Item]:
    """Append the child's final answer with the current time, and return it if it was new."""
    groups = reversed(child.view.groups())
    answer = next((group.items[-1] for group in groups if _is_answer(group)), None)
    if answer is None:
        return []
    recorded = child.get(answer.id)  # the view may mask it
    if _has(parent, recorded):
        return []
    origin = origin_of(child.view, recorded)
    changes = {"origin": origin} if origin != own_origin(recorded) else {}
    merged = msgspec.structs.replace(_merged(recorded, agent_id, answer.id), created_at=now(), **changes)
    parent.append(merged)
    return [merged]


class SummaryPlan(NamedTuple):
    """The items that a caller summarises; `summary` makes the item to append to the parent."""

    items: tuple[Item, ...]
    summary_id: str
    agent_id: str | None

    def summary(self, text: str) -> Summary | None:
        """The item that records a summary; `None` for an empty text."""
        return Summary(text, id=self.summary_id, agent_id=self.agent_id) if text.strip() else None

    def was_carried_out_in(self, parent: Transcript) -> bool:
        """Whether the parent has a summary of these items, or of the first few of them."""
        return any(_summary_id(item) in parent for item in self.items)


def plan_summary(parent: Transcript, child: Transcript, agent_id: str | None = None) -> SummaryPlan | None:
    """A plan to record what the child did as a summary; `None` where there is nothing new."""
    since = _fork_point(parent, child)
    for revision, item in enumerate(child.recorded(since), since + 1):
        if _summary_id(item) in parent:
            since = revision
    items = _own_items(parent, child, since)
    return SummaryPlan(tuple(items), _summary_id(items[-1]), agent_id) if items else None


def _summary_id(last: Item) -> str:
    """The id of a summary up to an item; always the same, so that nothing is summarised twice."""
    return f"{last.id}-summary"


def _own_items(parent: Transcript, child: Transcript, since: int) -> list[Item]:
    """The items of the child since a revision that the parent does not have."""
    happened = (item for item in child.recorded(since) if not is_edit(item) and CLOSED not in item.extras)
    return [item for item in happened if not _has(parent, item)]


def _fork_point(parent: Transcript, child: Transcript) -> int:
    """The length of the common beginning of two transcripts; shared segments are not compared."""
    shared = 0
    for (segment, end), (other, other_end) in zip(_ends(parent), _ends(child), strict=False):
        if segment is not other:
            break
        shared = min(end, other_end)
        if end != other_end:
            break
    pairs = zip(parent.recorded(shared), child.recorded(shared), strict=False)
    return shared + sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))


def _ends(transcript: Transcript) -> Iterator[tuple[Segment, int]]:
    """The segments of a transcript, and where each ends."""
    view = transcript.view
    return zip(view.log.segments, (*view.log.starts[1:], view.end), strict=True)


def _has(parent: Transcript, item: Item) -> bool:
    """Whether the parent has an item; `DuplicateId` where it has another with the same id."""
    if item.id not in parent:
        return False
    known = parent.get(item.id)
    if known.created_at != item.created_at:
        # A merge may have set the agent and a mark, and `merge_result` the time and the origin.
        expected = {name: getattr(known, name) for name in ("agent_id", "created_at", "extras", "origin")}
        if known != msgspec.structs.replace(item, **expected):
            raise DuplicateId(f"the child's item {cut(item.id)!r} is not the parent's: nothing is merged")
    return True


def _is_setup(item: Item) -> bool:
    """Whether an item is instructions or configuration."""
    return isinstance(item, ConfigChange) or is_instruction(item)


def _merge_marks(child: Transcript, since: int) -> dict[str, str]:
    """Merge marks by item id: for each own item of the child, the id of the first own item of its group.

    A result of a call that is not the child's own has the id of that call, so that it still answers the call.
    """
    view = child.view
    marks: dict[str, str] = {}
    for position, item in enumerate(view.log.items(since, view.end), since):
        if item.id in marks or is_edit(item):
            continue
        members = view.log.group(position, view.end)
        group = [view.log.item(member) for member in members]
        call_of = Answers(group).call_of
        for index, member in enumerate(members):
            if member >= since:
                call = call_of.get(index, index)
                marks[group[index].id] = item.id if members[call] >= since else group[call].id
    return marks


def _merged(item: Item, agent_id: str | None, mark: str) -> Item:
    """The item as a parent records it: with its agent, and the mark that separates it from other replies."""
    if agent_id is not None and item.agent_id is None:
        item = msgspec.structs.replace(item, agent_id=agent_id)
    if isinstance(item, Unknown):  # it has no place for a mark
        return item
    return msgspec.structs.replace(item, extras={**item.extras, MERGED: mark})


def _is_answer(group: Group) -> bool:
    """Whether a group is a message of the assistant without calls."""
    last = group.items[-1]
    calls = any(isinstance(item, ToolCall) for item in group.items)
    return isinstance(last, Message) and last.role == "assistant" and not calls


def _own_edits(parent: Transcript, child: Transcript, since: int) -> Iterator[Item]:
    """The child's edits in force that concern only its own items, and that the parent does not have.

    They are yielded one by one, because the parent records each before the next is checked. Their spans cover
    the items that the parent has, and nothing that it has in between.
    """
    view = child.view
    undone = EditsInForce(view.log, view.end).undone
    for position in view.log.positions("edits", since, view.end):
        edit = view.log.item(position)
        assert is_edit(edit)
        if position in undone or edit.id in parent:
            continue
        if not isinstance(edit, Hide | Summary):
            if view.position(edit.target) >= since and edit.target in parent:
                yield edit
            continue
        area = view.log.area(edit, view.end)
        if area[0][0] < since:  # it covers items of the parent
            continue
        covered = (item for start, stop in area for item in view.log.items(start, stop))
        items = [item for item in covered if not is_edit(item) and item.id in parent]
        if items:
            yield msgspec.structs.replace(edit, spans=spans_over(parent.view, items))
