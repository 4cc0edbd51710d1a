"""A few words in place of what is old: planned here, written by whoever can write."""

from bisect import bisect_right
from collections.abc import Sequence

from msgspec.structs import replace

from quire.compactors.cutting import cut
from quire.compactors.foreseeing import shown_tokens, view_after
from quire.compactors.limits import Extent, Limits, Unit
from quire.compactors.plan import Plan, Request, Room
from quire.compactors.reading import parts, readable
from quire.compactors.stretches import Stretch, may_be_told, old_turns, stretch_over
from quire.compactors.telling import CONVERSATION, USUAL_SIZE, told
from quire.errors import InvalidValue, Irreducible
from quire.items import Item, Summary
from quire.state import View, checked_view
from quire.tokens import Counter, named, whole

_ANY = "-"
"""What stands for words that nobody has written yet."""

_SHORTEST = 32
"""Tokens below which no summary says anything."""


class Summarize(Limits, frozen=True, kw_only=True):
    """Asks for a summary of the oldest turns once the view is above the ceiling; with it, it is at the floor.

    An earlier summary is told and folded in. More than can be read at once is told in several requests, the
    oldest first. Of the `size` as much is asked for as makes the view smaller and leaves room for more; where
    no words make it smaller, or nobody writes, there is nothing to do. Where what stays by messages or turns
    is above the room, it goes by tokens. The last `keep_turns` turns of the user stay as they are, whatever
    the floor; with none to keep, the cut falls inside the last turn where that alone is too long.
    `guidance` is added to the default prompt. A `prompt` of one's own stands in its place, with the
    conversation where it says `{conversation}`.
    """

    name = "summarize"

    unit: Unit = "messages"
    size: int = USUAL_SIZE
    keep_turns: int = 0
    guidance: str | None = None
    prompt: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        whole(self.size, "size", least=1)
        whole(self.keep_turns, "keep_turns", least=0)
        for words, what in ((self.guidance, "guidance"), (self.prompt, "the prompt")):
            if words is not None:
                named(words, what)
        if self.prompt is not None and self.guidance is not None:
            raise InvalidValue("guidance is for the default prompt; put it into the prompt of your own")
        if self.prompt is not None and CONVERSATION not in self.prompt:
            raise InvalidValue(f"the prompt has no {CONVERSATION}: where is the conversation to stand?")

    def plan(self, view: View, room: Room) -> Plan | None:
        """A request for the words that lead to the floor, or none up to the ceiling."""
        extent = self.extent(room)
        held = checked_view(view).tokens(extent.counter)
        if held <= (extent.floor if room.early else extent.ceiling) or room.reads == 0:
            return None
        size, chosen = self._chosen_with(view, extent, self._size_within(extent, room))
        if self.keep_turns:
            chosen = self._before_kept_turns(view, extent, size, chosen)
        stretch = stretch_over(view, chosen)
        before = view.tokens(room.counter)
        size, after = _size_and_after(view, stretch, size, Room(min(room.tokens, before - 1), room.counter))
        if after > room.tokens and self.unit != "tokens":
            return self._by_tokens().plan(view, room)
        if after >= before:
            return None
        plan = Plan(self.name, self.excess(held, extent), before, after)
        return self._of_what_is_read(plan, view, room, stretch, size)

    def _of_what_is_read(
        self, plan: Plan, view: View, room: Room, stretch: Stretch, size: int
    ) -> Plan | None:
        """The plan with a request for the words: for the oldest of a stretch that is too long to be read."""
        for items in parts(view, stretch.items, room, size, self._told((), size)):
            if len(items) == len(stretch.items):
                return plan._replace(request=self._request(view, room, stretch, size))
            part = stretch_over(view, items)
            asked, after = _size_and_after(view, part, size, replace(room, tokens=plan.before - 1))
            if after < plan.before:
                request = self._request(view, room, part, asked)._replace(is_part=True)
                return plan._replace(after=after, request=request)
        return None

    def plan_for(
        self,
        view: View,
        room: Room,
        stretch: Stretch,
        reason: str = "it was asked for",
        size: int | None = None,
    ) -> Plan:
        """A request for the words that stand for a stretch, be it due or not, shorter than it or not."""
        size, after = _size_and_after(view, stretch, self.size if size is None else size, room)
        request = self._request(view, room, stretch, size)._replace(asked_for=True)
        return Plan(self.name, reason, view.tokens(room.counter), after, request=request)

    def _request(self, view: View, room: Room, stretch: Stretch, size: int) -> Request:
        ids = tuple(item.id for item in stretch.items)
        prompt = readable(lambda shorter: self._told(stretch.items, size, shorter), room, size)
        return Request(prompt, size, stretch.spans, ids, view.revision, room)

    def _told(self, items: Sequence[Item], size: int, shorter: int = 1) -> tuple[Item, ...]:
        return told(items, size, self.guidance, self.prompt, shorter=shorter)

    def _size_within(self, extent: Extent, room: Room) -> int:
        """The size to ask for: a summary leaves some of the floor to what was said since, and can be read."""
        most = extent.floor // 2 if self.unit == "tokens" else self.size
        return min(self.size, max(most if room.reads is None else min(most, room.reads // 4), 1))

    def _by_tokens(self) -> "Summarize":
        """The same where what stays by messages or turns is more than there is room for."""
        return replace(self, unit="tokens", floor=None, ceiling=None)

    def _chosen_with(self, view: View, extent: Extent, size: int) -> tuple[int, list[Item]]:
        """What has to be told, and in how many tokens: fewer where there is no room for as many."""
        try:
            return size, self._chosen(view, extent, size)
        except Irreducible as fault:
            if size < 2 * _SHORTEST:
                # What a cut was asked for is not what the limits are: the summary to come is taken off.
                raise Irreducible(
                    f"what must stay leaves no room for a summary of {size:,} tokens: {extent.floor:,} "
                    f"{self.unit} are to be left of at most {extent.ceiling:,}",
                    fault.parts,
                ) from None
        return self._chosen_with(view, extent, size // 2)

    def _chosen(self, view: View, extent: Extent, size: int) -> list[Item]:
        """What has to be told for the view to be at the floor, earlier summaries included."""
        earlier = [item for item in view if isinstance(item, Summary) and may_be_told(view, item)]
        chosen = _gone_and_folded(view, _without(view, earlier, size, extent))
        known = {item.id for item in chosen}
        folded = [item for item in earlier if item.id in known]
        if folded != earlier:
            # One that stands after the cut stays, and more has to go in its place.
            chosen = _gone_and_folded(view, _without(view, folded, size, extent))
        return chosen

    def _before_kept_turns(self, view: View, extent: Extent, size: int, chosen: list[Item]) -> list[Item]:
        """What was chosen, but nothing of the turns to be kept; it must be enough without."""
        old = old_turns(view, self.keep_turns)
        known = {item.id for item in old.items} if old is not None else set[str]()
        if all(item.id in known for item in chosen):
            return chosen
        if old is None or _after(view, old, size, extent.counter) > extent.ceiling:
            parts = tuple(item.id for item in view if item.id not in known)
            raise Irreducible(
                f"with the last {self.keep_turns} turns more than {extent.ceiling:,} {self.unit} stay",
                parts,
            )
        return list(old.items)


def _without(view: View, earlier: Sequence[Item], size: int, extent: Extent) -> Extent:
    """The limits for a cut that knows of no summary: without the earlier ones, and with the one to come."""
    counter = extent.counter
    held = view.counted(counter)
    lighter = held - sum(shown_tokens(view, item, counter) for item in earlier)
    freed = counter.total(held) - counter.total(lighter) - _summary_tokens(counter, size)
    return extent._replace(floor=extent.floor + freed, ceiling=extent.ceiling + freed)


def _gone_and_folded(view: View, extent: Extent) -> list[Item]:
    """What a cut leaves out, and the summaries that stand before the end of it."""
    kept = {item.id for item in view_after(view, (cut(view, extent),))}
    shown = list(view)
    last = max(index for index, item in enumerate(shown) if item.id not in kept)
    return [
        item
        for item in shown[: last + 1]
        if item.id not in kept or (isinstance(item, Summary) and may_be_told(view, item))
    ]


def _size_and_after(view: View, stretch: Stretch, size: int, room: Room) -> tuple[int, int]:
    """The size to ask for in place of a stretch, and what is shown with words of that size.

    It is at most half of what there is room for: some write more than they are asked for, and what comes next
    needs room too.
    """
    total = room.counter.total
    left = view_after(view, (Summary(_ANY, stretch.spans),)).counted(room.counter)
    most = bisect_right(range(2 * size + 1), room.tokens, key=lambda words: total(left + words)) - 1
    asked = min(size, max((most + 1) // 2, 1))
    return asked, total(left + asked)


def _after(view: View, stretch: Stretch, size: int, counter: Counter) -> int:
    """What is left with a summary of the size asked for in place of a stretch."""
    left = view_after(view, (Summary(_ANY, stretch.spans),)).counted(counter)
    return counter.total(left - counter.count(Summary(_ANY)) + _summary_tokens(counter, size))


def _summary_tokens(counter: Counter, size: int) -> int:
    """What a summary of the size asked for counts, with what a provider wraps around it."""
    framed = counter.count(Summary(_ANY))
    return framed + size if framed else 0
