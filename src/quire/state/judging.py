"""What an edit is refused for.

A history that no provider would take, or one that lost what it is asked to answer.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from quire.errors import CallPending, EditRefused, LastUserMessage, SplitsGroup, cut
from quire.items import Summary
from quire.state.active import Cover, resolved
from quire.state.folding import some_meet
from quire.state.log import EDIT, Log
from quire.state.positions import far_groups, first_position, positions
from quire.state.shape import Interval, contains, subtracted


def judge(log: Log, end: int, cover: Cover, open_calls: Iterable[int]) -> None:
    """Refuse to take away a call that waits, part of a group, or the last message of the user."""
    if not cover.area and (cover.is_summary or not cover.summaries):
        raise EditRefused("the edit takes nothing away")
    for position in open_calls:
        if any(contains(cover.area, member) for member in log.group(position, end)):
            raise CallPending(f"call {cut(log.item(position).id)!r} still waits for its result")
    last = last_user(log, end)
    if last is not None and contains(cover.area, last):
        raise LastUserMessage(f"{cut(log.item(last).id)!r} is the message to be answered")
    for position in _at_the_edges(log, end, cover.area):
        if len({contains(cover.area, member) for member in log.group(position, end)}) > 1:
            raise SplitsGroup(f"the edit takes part of the group of {cut(log.item(position).id)!r}")


def judge_mask(log: Log, end: int, position: int) -> None:
    """Refuse to put a stub in place of the last message of the user."""
    if position == last_user(log, end):
        raise LastUserMessage(f"{cut(log.item(position).id)!r} is the message to be answered")


def folded(log: Log, end: int, cover: Cover, summaries: Iterable[int]) -> list[int]:
    """The summaries that a new one folds in; one that it would overlap in part is a reason to refuse it."""
    return [p for p in summaries if _folds(log, end, cover, p)]


def _folds(log: Log, end: int, cover: Cover, position: int) -> bool:
    older = log.item(position)
    assert isinstance(older, Summary)
    area = resolved(log, older, end).area
    outside = [part for interval in area for part in subtracted(interval, cover.area)]
    if outside == area and position not in cover.summaries:
        return False
    if outside:
        raise EditRefused(f"the summary must cover all that {cut(older.id)!r} covers, or nothing of it")
    return True


def judge_return(back: Collection[int], shown: Iterable[int], covers: Mapping[int, Cover]) -> None:
    """Refuse to bring a summary back beside one that covers some of the same: never two piled up."""
    if back and some_meet({position: covers[position].area for position in shown}, back):
        raise EditRefused("the summary that would come back overlaps another that is shown")


def last_user(log: Log, end: int) -> int | None:
    """The position of the user's message that is shown last."""
    some_late = any(segment.late for segment in log.segments)
    if some_late and first_position(log, "late", 0, end) is not None:
        users = positions(log, "users", 0, end)
        return max(users, key=lambda p: (log.time(p), p), default=None)
    for segment in reversed(log.segments):
        index = bisect_left(segment.users, end)
        if index:
            return segment.users[index - 1]
        end = min(end, segment.start)
    return None


def _at_the_edges(log: Log, end: int, area: Sequence[Interval]) -> Iterator[int]:
    """Items whose group may reach over the edge of an area."""
    for start, stop in area:
        for position in (start, stop - 1):
            if log.head(position) != EDIT:
                yield position
    for head, members in far_groups(log, end):
        if any(contains(area, p) for p in (head, *members)):
            yield head
