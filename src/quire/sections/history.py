"""The history: what a transcript shows, all of it or the newest, some of it or changed."""

from collections.abc import Sequence
from itertools import islice
from typing import Unpack, cast

from quire.errors import InvalidValue
from quire.items import Item
from quire.sections.section import Ask, Options, Settings
from quire.sections.shown import without_last
from quire.sections.sifted import Sifted
from quire.sections.sifting import Change, Question, Sift, is_users
from quire.sections.waiting import function
from quire.state import View, keep_memo, memos
from quire.tokens import named, whole


class _Key:
    """What a history's work is kept under, together with that of its copies."""


class History(Settings):
    """The view of a transcript as it is; or its last `messages` or `turns`, or what `where` says yes to.

    Nothing ever splits a group. Of the last so many, a group is shown whole if any of it is among them, and
    instructions, summaries, pins, calls that wait and the user's last message stay in any case. An item of
    any kind counts as a message; a turn begins with a message of the user. A group goes whole if `where`
    refuses one of it, or if `transform`, which gives an item or None for each, leaves a call without its
    result; the user's last message is never refused. Both are asked once for an item, as a rule, and are
    taken to answer the same next time.
    """

    def __init__(
        self,
        transcript: str = "main",
        *,
        messages: int | None = None,
        turns: int | None = None,
        where: Question | None = None,
        transform: Change | None = None,
        name: str = "history",
        **options: Unpack[Options],
    ) -> None:
        if messages is not None and turns is not None:
            raise InvalidValue("a history is cut by messages or by turns, not by both")
        slides = messages is not None or turns is not None
        usual = Options(stability="volatile" if slides else "slow", keeps="newest")
        super().__init__(name, **(usual | options))
        if self.keeps != "newest":
            raise InvalidValue("a history keeps its newest, which the model is to answer")
        self.transcript = named(transcript, "the name of a transcript")
        self.leaves_input = False
        self._key = _Key()
        self._messages = None if messages is None else whole(messages, "messages", least=1)
        self._turns = None if turns is None else whole(turns, "turns", least=1)
        self._where = None if where is None else function(where, "where")
        self._transform = None if transform is None else function(transform, "transform")

    def without_input(self) -> "History":
        """The same history for a template that shows the input in another place.

        It leaves the input out for as long as nothing follows it. Once the model has begun to answer, the
        input has its place before the calls: shown after them it would be taken for another question.
        """
        twin = History.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.leaves_input = True
        return twin

    async def items(self, ask: Ask) -> View | Sequence[Item]:
        """The view itself where nothing is left out of it."""
        chosen = self._chosen(ask.view(self.transcript))
        if self.apart(ask) is None:
            return chosen
        return without_last(chosen) if isinstance(chosen, View) else chosen.without_last()

    def apart(self, ask: Ask) -> Item | None:
        """The input, where it is the last of this history and another section shows it.

        All else is chosen as if it were here, and so is what must stay: the next call has it in its place.
        """
        view, given = ask.view(self.transcript), ask.input
        if not self.leaves_input or given is None or not is_users(given) or not len(view):
            return None
        return view[-1] if view[-1].id == given.id else None

    def _chosen(self, view: View) -> View | Sifted:
        is_sifted = self._where is not None or self._transform is not None
        if not is_sifted and self._messages is None and self._turns is None:
            return view
        # What was worked out is taken away while it is taken further: another thread begins its own.
        earlier = cast("Sift | None", memos(view).pop(self._key, None))
        sift = earlier if earlier and earlier.goes_on_in(view) else Sift(self._where, self._transform)
        sift.read(view)
        chosen = sift.newest(view, self._cut(sift.kept))
        keep_memo(view, self._key, sift)
        return chosen if is_sifted or len(chosen) < len(view) else view

    def _cut(self, items: Sequence[Item]) -> int:
        """Where the last messages or turns begin."""
        if self._messages is not None:
            return max(len(items) - self._messages, 0)
        if self._turns is None:
            return 0
        users = (index for index in range(len(items) - 1, -1, -1) if is_users(items[index]))
        return next(islice(users, self._turns - 1, None), 0)
