"""What comes back from a child: everything, the final answer, or a summary that somebody has yet to write.

Nothing comes twice: an item whose id is in the parent already stays out.
"""

import logging
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from quire.errors import EditRefused, UnknownId, WrongType
from quire.items import Item, Mask, Message, Pin, Summary, ToolCall, now
from quire.state.active import ActiveEdits
from quire.state.closing import is_closing
from quire.state.groups import MERGED, Group, is_edit, is_output
from quire.state.positions import positions
from quire.state.transcript import Transcript, checked_transcript
from quire.state.view import View

logger = logging.getLogger("quire.state")


def merge_all(parent: Transcript, child: Transcript, agent_id: str | None = None) -> list[Item]:
    """Record all that the child did, shown in the parent by its time; gives back what was new.

    The child's edits of its own items come along. What it did to the view of inherited items was its own
    affair, and results that only closed a call for it stay behind.
    """
    own = own_items(parent, child)
    new = [_merged(item, agent_id, own[0].id) for item in own]
    parent.extend(new)
    return [*new, *(edit for edit in _own_edits(parent, child, new) if _accepted(parent, edit))]


def merge_result(parent: Transcript, child: Transcript, agent_id: str | None = None) -> list[Item]:
    """Record the child's final answer as said now; gives back what was new."""
    spoken = reversed(checked_transcript(child).view.groups())
    answer = next((group.items[-1] for group in spoken if _is_answer(group)), None)
    if answer is None or answer.id in checked_transcript(parent):
        return []
    recorded = child.get(answer.id)  # as it was said, should it be masked by now
    said = msgspec.structs.replace(_merged(recorded, agent_id, answer.id), created_at=now())
    parent.append(said)
    return [said]


def _is_answer(group: Group) -> bool:
    """Whether a group is something said by the assistant, and not the opening of a call."""
    last = group.items[-1]
    calls = any(isinstance(item, ToolCall) for item in group.items)
    return isinstance(last, Message) and last.role == "assistant" and not calls


class SummaryPlan(NamedTuple):
    """What is to be summarised, for whoever can write. `summary` makes the item to append to the parent."""

    items: tuple[Item, ...]
    summary_id: str
    agent_id: str | None

    def summary(self, text: str) -> Summary | None:
        """The item that records a summary; an empty text makes none."""
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the text of a summary is a text, not {type(text).__name__}")
        return Summary(text, id=self.summary_id, agent_id=self.agent_id) if text.strip() else None


def plan_summary(parent: Transcript, child: Transcript, agent_id: str | None = None) -> SummaryPlan | None:
    """A plan to record what the child did in a few words; none where there is nothing new to tell."""
    items = own_items(parent, child)
    told = [index for index, item in enumerate(items, 1) if _summary_id(item) in parent]
    items = items[told[-1] if told else 0 :]
    return SummaryPlan(tuple(items), _summary_id(items[-1]), agent_id) if items else None


def _summary_id(last: Item) -> str:
    """The id of the summary of all up to an item: the same again, so that nothing is told twice."""
    return f"{last.id}-summary"


def own_items(parent: Transcript, child: Transcript) -> list[Item]:
    """What happened in the child and is not in the parent."""
    since = _shared_length(checked_transcript(parent), checked_transcript(child))
    recorded = child.recorded(since)
    return [i for i in recorded if not is_edit(i) and not is_closing(i) and i.id not in parent]


def _shared_length(parent: Transcript, child: Transcript) -> int:
    """A length up to which the two are surely the same."""
    shared = 0
    ours, theirs = parent.view.log, child.view.log
    for index, (mine, yours) in enumerate(zip(ours.segments, theirs.segments, strict=False)):
        if mine is not yours:
            break
        ends = [log.starts[index + 1] for log in (ours, theirs) if index + 1 < len(log.starts)]
        shared = min(ends) if ends else min(len(parent), len(child))
    return min(shared, len(parent), len(child))


def _merged(item: Item, agent_id: str | None, merge: str) -> Item:
    """The item with its agent; a model's output also with the mark that keeps it apart from the parent's."""
    agent_id = agent_id if item.agent_id is None else item.agent_id
    if not is_output(item) or MERGED in item.extras:
        return item if agent_id == item.agent_id else msgspec.structs.replace(item, agent_id=agent_id)
    return msgspec.structs.replace(item, agent_id=agent_id, extras={**item.extras, MERGED: merge})


def _own_edits(parent: Transcript, child: Transcript, new: Sequence[Item]) -> list[Item]:
    """The child's edits in force, if any, that concern only what is new."""
    ids = {item.id for item in new}
    view = child.view
    active = ActiveEdits(view.log, view.end)
    own: list[Item] = []
    for position in positions(view.log, "edits", _shared_length(parent, child), view.end):
        edit = view.log.item(position)
        if (
            position not in active.undone
            and edit.id not in parent
            and _targets(active, position, view) <= ids
        ):
            own.append(edit)
            ids.add(edit.id)
    return own


def _targets(active: ActiveEdits, position: int, view: View) -> set[str]:
    """The ids of all that an edit concerns."""
    edit = view.log.item(position)
    if isinstance(edit, Mask | Pin):
        return {edit.target}
    cover = active.covers.get(position)
    if cover is None:
        return {""}  # an undo: what it took back is not in force and does not come along
    content = (i for start, stop in cover.area for i in view.log.items(start, stop) if not is_edit(i))
    return {item.id for item in content} | {view.log.item(p).id for p in cover.summaries}


def _accepted(parent: Transcript, edit: Item) -> bool:
    try:
        parent.append(edit)
    except (EditRefused, UnknownId):
        logger.debug("edit %s of the child does not fit the parent and stays behind", edit.id)
        return False
    return True
