"""What a chat context keeps: a transcript, and what is shown of it under VideoSDK's names."""

from collections.abc import Hashable, Iterable
from typing import NoReturn, TypeVar

import msgspec

from quire.bridges.videosdk.entry import not_before
from quire.bridges.videosdk.items import ChatItem, shown_as
from quire.bridges.videosdk.messages import ChatMessage, ChatRole
from quire.bridges.videosdk.speaking import Change, Speech
from quire.errors import WrongType
from quire.items import Hide, Item, Mask, Pin, Summary, Undo
from quire.state import Transcript, View, added_since, was_edited
from quire.tokens import Counter

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
        return not self._picked and not was_edited(self.transcript.view)

    def append(self, item: Recorded) -> Recorded:
        """Record an item at the end, whatever its time; a summary stands for itself, not for other items."""
        if isinstance(item, Summary) and item.spans:
            item = msgspec.structs.replace(item, spans=())
        placed: Recorded = not_before(item, self._latest_time())
        self.transcript.append(placed)
        return placed

    def shown(self) -> list[ChatItem]:
        """All that is shown; what was shown the last time is not looked at again."""
        view = self.transcript.view
        added = None if self._view is None else added_since(view, self._view)
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
            if not _is_edit(item):
                self._latest = max(self._latest, item.created_at)
        self._seen = self.transcript.revision
        return self._latest


def _is_edit(item: Item) -> bool:
    return isinstance(item, Hide | Mask | Pin | Undo) or (isinstance(item, Summary) and bool(item.spans))


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
