"""What an edit is refused for.

A history that no provider would take, or one that lost what it is asked to answer.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from quire.errors import CallPending, EditRefused, LastUserMessage, SplitsGroup, cut
from quire.state.active import Cover, area_of_summary
from quire.state.astride import recorded_astride
from quire.state.folding import some_meet
from quire.state.log import EDIT, Log
from quire.state.shape import Interval, contains, subtracted


def judge(log: Log, end: int, cover: Cover, open_calls: Iterable[int]) -> None:
    """Refuse to take away a call that waits, part of a group, or the last message of the user."""
    if not cover.area and (cover.is_summary or not cover.summaries):
        raise EditRefused("the edit takes nothing away")
    for head, position in one_per_group(log, open_calls).items():
        if any(contains(cover.area, member) for member in log.group(head, end)):
            raise CallPending(f"call {cut(log.item(position).id)!r} still waits for its result")
    last = last_user(log, end)
    if last is not None and contains(cover.area, last):
        raise LastUserMessage(f"{cut(log.item(last).id)!r} is the message to be answered")
    for position in _at_the_edges(log, end, cover.area):
        if len({contains(cover.area, member) for member in log.group(position, end)}) > 1:
            raise SplitsGroup(f"the edit takes part of the group of {cut(log.item(position).id)!r}")


def one_per_group(log: Log, open_calls: Iterable[int]) -> dict[int, int]:
    """For the heads of the groups that wait, one of the calls they wait for: there may be many."""
    return {log.head(position): position for position in open_calls}


def judge_mask(log: Log, end: int, position: int) -> None:
    """Refuse to put a stub in place of the last message of the user."""
    if position == last_user(log, end):
        raise LastUserMessage(f"{cut(log.item(position).id)!r} is the message to be answered")


def folded(log: Log, end: int, cover: Cover, summaries: Iterable[int]) -> list[int]:
    """The summaries that a new one folds in; one that it would overlap in part is a reason to refuse it."""
    return [p for p in summaries if _folds(log, end, cover, p)]


def _folds(log: Log, end: int, cover: Cover, position: int) -> bool:
    area = area_of_summary(log, position, end)
    if position not in cover.summaries and (
        area[0][0] >= cover.area[-1][1] or area[-1][1] <= cover.area[0][0]
    ):
        return False
    outside = [part for interval in area for part in subtracted(interval, cover.area)]
    if outside == area and position not in cover.summaries:
        return False
    if outside:
        older = cut(log.item(position).id)
        raise EditRefused(f"the summary must cover all that {older!r} covers, or nothing of it")
    return True


def judge_return(back: Collection[int], shown: Iterable[int], covers: Mapping[int, Cover]) -> None:
    """Refuse to bring a summary back beside one that covers some of the same: never two piled up."""
    if back and some_meet({position: covers[position].area for position in shown}, back):
        raise EditRefused("the summary that would come back overlaps another that is shown")


def last_user(log: Log, end: int) -> int | None:
    """The position of the user's message that is shown last."""
    users: list[int] = []
    for segment, stop in log.seen(end):
        index = bisect_left(segment.users, stop)
        if index:
            users.append(segment.last_users[index - 1])
    return max(users, key=lambda p: (log.time(p), p), default=None)


def _at_the_edges(log: Log, end: int, area: Sequence[Interval]) -> Iterator[int]:
    """Items whose group may reach over the edge of an area."""
    for start, stop in area:
        for position in (start, stop - 1):
            if log.head(position) != EDIT:
                yield position
        for edge in (start, stop):
            yield from recorded_astride(log, end, edge)
