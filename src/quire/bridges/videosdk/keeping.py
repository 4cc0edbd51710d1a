"""What a chat context keeps: a transcript, and what is shown of it under VideoSDK's names."""

import logging
from collections.abc import Callable, Hashable, Iterable
from typing import NoReturn, TypeVar

import msgspec

from quire.bridges.videosdk.entry import not_before
from quire.bridges.videosdk.items import ChatItem, shown_as
from quire.bridges.videosdk.messages import ChatMessage, ChatRole
from quire.bridges.videosdk.speaking import Change, Speech
from quire.errors import EditRefused, WrongType, cut
from quire.items import Edit, Hide, Item, Summary
from quire.state import EDIT, Transcript, View, is_edit, merge_all, spans_over
from quire.tokens import Counter

logger = logging.getLogger("quire.bridges.videosdk")

Recorded = TypeVar("Recorded", bound=Item)

_SORTS = 4
"""How many sorts of what is said are kept: one for each provider and model that is in use at a time."""


def _refuse(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise WrongType("this list only shows what a context holds; change the context, or copy the list first")


class ShownItems(list[ChatItem]):
    """What a context showed when it was asked, and where it came from.

    A change of the list would be lost without a word, so it is refused.
    """

    __slots__ = ("kept",)

    def __init__(self, items: Iterable[ChatItem], kept: "Kept") -> None:
        super().__init__(items)
        self.kept = kept

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse


class Kept:
    """A transcript, and the counter it is measured by. A context and its read-only views share one."""

    __slots__ = (
        *("_latest", "_picked", "_seen", "_shown", "_speeches", "_turns", "_view"),
        *("counter", "transcript"),
    )

    def __init__(self, transcript: Transcript, counter: Counter, *, picked: bool = False) -> None:
        self.counter = counter
        self.begin(transcript)
        self._picked = picked

    def begin(self, transcript: Transcript) -> None:
        """Keep another transcript from now on."""
        self.transcript = transcript
        self._picked = False  # whether it began with only some of what another context shows
        self._seen = 0  # the revision up to which the times are known
        self._latest = float("-inf")
        self._view: View | None = None
        self._shown: list[ChatItem] = []
        self._turns = 0
        self._speeches: dict[Hashable, Speech] = {}

    def child(self, fork: Transcript) -> "Kept":
        """The same for a fork of the transcript, with what is known of its past."""
        twin = Kept(fork, self.counter, picked=self._picked)
        twin._seen, twin._latest = self._seen, self._latest
        return twin

    def is_whole(self) -> bool:
        """Whether what is shown is all that was said, in the order it was said."""
        return not self._picked and not self.transcript.view.was_edited

    def append(self, item: Recorded) -> Recorded:
        """Record an item at the end, whatever its time; a summary stands for itself, not for other items."""
        if isinstance(item, Summary) and item.spans:
            item = msgspec.structs.replace(item, spans=())
        placed: Recorded = not_before(item, self._latest_time())
        self.transcript.append(placed)
        return placed

    def insert(self, items: Iterable[Item]) -> None:
        """Record items where their times put them, all or none."""
        ordered = sorted(items, key=lambda item: item.created_at)
        self._record(lambda transcript: transcript.extend(ordered))

    def merge(self, other: Transcript) -> None:
        """Record all that happened in another transcript where its times put it; nothing comes twice."""
        self._record(lambda transcript: merge_all(transcript, other))

    def _record(self, change: Callable[[Transcript], object]) -> None:
        """Append to the transcript, or rebuild it in order of time where something new is earlier."""
        trial, since, latest = self.transcript.copy(), len(self.transcript), self._latest_time()
        change(trial)
        if all(item.created_at >= latest for item in trial.recorded(since) if not is_edit(item)):
            change(self.transcript)
        else:
            self.begin(in_time_order(trial, since))
            self._picked = True  # what stands before a reply is no longer what it was an answer to

    def shown(self) -> list[ChatItem]:
        """All that is shown; what was shown the last time is not looked at again."""
        view = self.transcript.view
        added = None if self._view is None else view.added_since(self._view)
        if added is None:
            self._shown, self._turns, added = [], 0, list(view)
        new = [shown for item in added if (shown := shown_as(item)) is not None]
        self._shown += new
        self._turns += sum(isinstance(item, ChatMessage) and item.role is ChatRole.USER for item in new)
        self._view = view
        return self._shown

    def turns(self) -> int:
        """How often the user spoke in what is shown."""
        self.shown()
        return self._turns

    def said(self, sort: Hashable, change: Change) -> View:
        """What is said in what is shown, each item as `change` makes it, under the name of a sort."""
        speech = self._speeches.pop(sort, None) or Speech(change)
        self._speeches[sort] = speech
        for older in list(self._speeches)[:-_SORTS]:
            del self._speeches[older]
        return speech.of(self.transcript.view)

    def _latest_time(self) -> float:
        for item in self.transcript.recorded(self._seen):
            if not is_edit(item):
                self._latest = max(self._latest, item.created_at)
        self._seen = self.transcript.revision
        return self._latest


def in_time_order(transcript: Transcript, since: int) -> Transcript:
    """A transcript with what was recorded since a revision where its time puts it, and the edits at the end.

    Whole groups move. One stands after what is as old, and never between a call and its result.
    """
    view = transcript.view
    order = [position for position in range(since) if view.log.head(position) != EDIT]
    for members in _late_groups(view, since):
        place = _place(view, order, members)
        order[place:place] = members
    ordered = Transcript(map(view.log.item, order))
    for position in view.log.positions("edits", 0, view.end):
        try:
            ordered.append(_fitted(view, position, ordered))
        except EditRefused as refusal:
            logger.warning("edit %s is left out: %s", cut(view.log.item(position).id), refusal)
    return ordered


def _late_groups(view: View, since: int) -> list[list[int]]:
    """The positions recorded since a revision in groups, the earliest first."""
    groups: dict[int, list[int]] = {}
    for position in range(since, view.end):
        head = view.log.head(position)
        if head != EDIT:
            groups.setdefault(head if head >= since else position, []).append(position)
    return sorted(groups.values(), key=lambda members: view.log.item(members[0]).created_at)


def _place(view: View, order: list[int], members: list[int]) -> int:
    """The index in an order of positions at which a group belongs."""
    item, heads = view.log.item, view.log.head
    time, own, place = item(members[0]).created_at, heads(members[0]), len(order)
    while place and item(order[place - 1]).created_at > time and heads(order[place - 1]) != own:
        place -= 1
    while 0 < place < len(order) and heads(order[place - 1]) == heads(order[place]):
        place += 1
    return place


def _fitted(view: View, position: int, ordered: Transcript) -> Edit:
    """An edit with spans over the same items, wherever they are now."""
    edit = view.log.item(position)
    assert is_edit(edit)
    if not isinstance(edit, Hide | Summary):
        return edit
    area = view.log.area(edit, view.end)
    covered = [item for start, stop in area for item in view.log.items(start, stop) if not is_edit(item)]
    return msgspec.structs.replace(edit, spans=spans_over(ordered.view, covered))


class Holding:
    """What all parts of a context have: what it keeps."""

    _kept: Kept

    @property
    def transcript(self) -> Transcript:
        """The engine's transcript: all that ever happened, so that what was left out can be brought back."""
        return self._kept.transcript

    @property
    def items(self) -> list[ChatItem]:
        """All that is shown, oldest first."""
        return ShownItems(self._kept.shown(), self._kept)
