"""What comes back from a child: everything, the final answer, or a summary that somebody has yet to write.

Nothing comes twice: an item that is in the parent already stays out. Another of the same id is refused.
"""

import logging
from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from quire.errors import DuplicateId, EditRefused, UnknownId, WrongType, cut
from quire.items import Edit, Item, Message, Summary, ToolCall, now
from quire.state.closing import is_closing
from quire.state.groups import Group, answers, is_edit
from quire.state.own_edits import marked, own_edits, own_ids
from quire.state.told import stays_behind
from quire.state.transcript import Transcript, checked_transcript

logger = logging.getLogger("quire.state")

_ASIDE = ("created_at", "agent_id", "extras")


def merge_all(parent: Transcript, child: Transcript, agent_id: str | None = None) -> list[Item]:
    """Record all that the child did, shown in the parent by its time; gives back what was new.

    The child's edits of its own items come along, also of items that an earlier merge brought. What it did to
    the view of inherited items was its own affair. What it was told stays behind: its instructions and
    configuration, the task of a brief, and results that only closed a call for it.
    """
    _check_agent(agent_id)
    since = _shared_length(checked_transcript(parent), checked_transcript(child))
    own = _as_shown(child, [item for item in own_items(parent, child) if not stays_behind(item)])
    marks = _marks(parent, child, own)
    new = [_merged(item, agent_id, marks[item.id]) for item in own]
    parent.extend(new)
    edits = own_edits(parent, child, since, stays_behind)
    while brought := [edit for edit in edits if _accepted(parent, edit)]:
        new += brought
        edits = own_edits(parent, child, since, stays_behind)  # what came may let another come
    _tell_of(edits)
    return new


def merge_result(parent: Transcript, child: Transcript, agent_id: str | None = None) -> list[Item]:
    """Record the child's final answer as said now; gives back what was new."""
    _check_agent(agent_id)
    checked_transcript(parent)
    spoken = reversed(checked_transcript(child).view.groups())
    answer = next((group.items[-1] for group in spoken if _is_answer(group)), None)
    if answer is None:
        return []
    recorded = child.get(answer.id)  # as it was said, should it be masked by now
    if _is_in(parent, recorded):
        return []
    said = msgspec.structs.replace(_merged(recorded, agent_id, answer.id), created_at=now())
    parent.append(said)
    return [said]


def _check_agent(agent_id: object) -> None:
    if agent_id is not None and not isinstance(agent_id, str):
        raise WrongType(f"the id of an agent is a text, not {type(agent_id).__name__}")


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
    _check_agent(agent_id)
    since = _shared_length(checked_transcript(parent), checked_transcript(child))
    recorded = child.recorded(since)
    told = [index for index, item in enumerate(recorded, 1) if _summary_id(item) in parent]
    known = {item.id for item in recorded[: told[-1] if told else 0]}
    items = [item for item in own_items(parent, child) if item.id not in known]
    return SummaryPlan(tuple(items), _summary_id(items[-1]), agent_id) if items else None


def _summary_id(last: Item) -> str:
    """The id of the summary of all up to an item: the same again, so that nothing is told twice."""
    return f"{last.id}-summary"


def own_items(parent: Transcript, child: Transcript) -> list[Item]:
    """What happened in the child and is not in the parent."""
    since = _shared_length(checked_transcript(parent), checked_transcript(child))
    recorded = child.recorded(since)
    return [i for i in recorded if not is_edit(i) and not is_closing(i) and not _is_in(parent, i)]


def _is_in(parent: Transcript, item: Item) -> bool:
    """Whether the parent has an item; `DuplicateId` where it has another of the same id."""
    if item.id not in parent:
        return False
    known = parent.get(item.id)
    if known.created_at != item.created_at and not _says_the_same(known, item):
        raise DuplicateId(
            f"item {cut(item.id)!r} of the child is another than the parent's: nothing is merged"
        )
    return True


def _says_the_same(known: Item, item: Item) -> bool:
    """Whether two items are one whose time was changed: a copy may give it the place that it was shown at.

    Whose it is and what is noted beside it is no part of what it says: merges and bridges write there.
    """
    if isinstance(known, Message) and isinstance(item, Message):
        return known.content == item.content
    aside = {name: getattr(known, name) for name in _ASIDE}
    return known == msgspec.structs.replace(item, **aside)


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


def _as_shown(child: Transcript, own: Sequence[Item]) -> list[Item]:
    """The child's own items in the order it shows them.

    What came late there would come late once more, and be placed anew among what the parent said meanwhile.
    """
    view = child.view
    places = {item.id: view.position(item.id) for item in own}
    return sorted(own, key=lambda item: (view.log.time(places[item.id]), places[item.id]))


def _marks(parent: Transcript, child: Transcript, own: Sequence[Item]) -> dict[str, str]:
    """For each of the child's own items the id it is marked by, so that what was kept apart stays apart."""
    view = child.view
    ours = own_ids(parent, child.recorded(_shared_length(parent, child))) | {item.id for item in own}
    marks: dict[str, str] = {}
    for item in own:
        if item.id not in marks:
            members = view.log.group(view.position(item.id), view.end)
            marks |= _marks_within([view.log.item(member) for member in members], ours)
    return marks


def _marks_within(group: Sequence[Item], ours: Collection[str]) -> dict[str, str]:
    """The marks of one group: its first own item or, for a result of a call that is not, that call."""
    first = next(item.id for item in group if item.id in ours)
    marks = {item.id: first for item in group}
    for result, call in answers(group)[0].items():
        if group[call].id not in ours:
            marks[group[result].id] = group[call].id
    return marks


def _merged(item: Item, agent_id: str | None, merge: str) -> Item:
    """The item with its agent, and with the mark that keeps it apart from the parent's own."""
    if agent_id is not None and item.agent_id is None:
        item = msgspec.structs.replace(item, agent_id=agent_id)
    return marked(item, merge)


def _tell_of(edits: Sequence[Edit]) -> None:
    if edits:
        behind = ", ".join(cut(edit.id) for edit in edits)
        logger.warning("edits of the child that do not fit the parent stay behind: %s", behind)


def _accepted(parent: Transcript, edit: Edit) -> bool:
    try:
        parent.append(edit)
    except (EditRefused, UnknownId):
        return False
    return True
