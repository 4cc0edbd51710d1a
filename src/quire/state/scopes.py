"""What a fork sees of its parent: all, the instructions and the last turns, some tools, or a fresh brief.

A narrower fork has the whole log beneath it and hides what is outside its scope. The last turns cost no more
than these; a choice of tools looks at all that is shown, or at the last turns where both are asked for.
"""

from collections.abc import Collection, Iterable, Iterator

from quire.errors import InvalidValue, WrongType
from quire.items import ConfigChange, Hide, Item, Message, ToolCall, ToolResult
from quire.state.active import area_of_summary, spans_of
from quire.state.astride import shown_astride
from quire.state.bounds import bounds
from quire.state.judging import last_user
from quire.state.positions import last_positions, positions
from quire.state.selection import instructions as instructions_of, of_kind
from quire.state.shape import Interval, Place, contains, first_after, subtracted, united
from quire.state.told import TASK
from quire.state.transcript import Transcript, checked_transcript
from quire.state.view import View
from quire.tokens import named, whole

_TRAFFIC = (ToolCall, ToolResult)
_IN_EVERY_SCOPE = instructions_of | of_kind(ConfigChange)


def fork_scoped(
    parent: Transcript, *, turns: int | None = None, tools: Collection[str] | None = None
) -> Transcript:
    """A fork that shows the instructions, the last so many turns of the user, and calls of these tools only.

    Pins stay shown. A reply that called any other tool is left out whole, with its results.
    """
    checked_transcript(parent)
    if isinstance(tools, str | bytes | bytearray) or not isinstance(tools, Collection | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"tools is a collection of names, not {type(tools).__name__}")
    for name in tools or ():
        named(name, "the name of a tool")
    child = parent.fork()
    view = child.view
    cut = None if turns is None else _start_of_turns(view, turns)
    away = _other_tools(view, tools, cut)
    if cut is not None:
        away += _content_before(view, cut)
    spans = spans_of(
        view.log, _shown_content(view, away), () if cut is None else _summaries_before(view, cut)
    )
    if spans:
        child.append(Hide(spans))
    return child


def brief(instructions: str, task: str | None = None, agent_id: str | None = None) -> Transcript:
    """A transcript without a past: instructions and, where given, a task, which no merge brings back."""
    if not isinstance(instructions, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"instructions are a text, not {type(instructions).__name__}")
    if not instructions.strip():
        raise InvalidValue("a brief needs instructions")
    if not isinstance(task, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a task is a text, not {type(task).__name__}")
    items: list[Item] = [Message("system", instructions, agent_id=agent_id)]
    if task:
        items.append(Message("user", task, agent_id=agent_id, extras={TASK: True}))
    return Transcript(items)


def _content_before(view: View, cut: Place) -> list[Interval]:
    log = view.log
    kept = {p for p in positions(log, "marks", 0, view.end) if _IN_EVERY_SCOPE(log.item(p))}
    before: list[Interval] = []
    for run in view.runs():
        if (log.time(run.start), run.start) >= cut:
            break
        if run.stop > run.start:
            before.append((run.start, first_after(run.start, run.stop, cut, log.time)))
    area = [
        part for interval in united(before) for part in subtracted(interval, united((p, p + 1) for p in kept))
    ]
    return _with_whole_groups(view, area, cut)


def _start_of_turns(view: View, turns: int) -> Place | None:
    """The place of the message that opens the last so many turns, unless there are no more."""
    whole(turns, "turns", least=1)
    users: list[int] = []
    for run in view.runs(backwards=True):
        users += reversed(last_positions(view.log, "users", run.start, run.stop, turns + 1 - len(users)))
        if len(users) > turns:
            return (view.log.time(users[turns - 1]), users[turns - 1])
    return None


def _summaries_before(view: View, cut: Place) -> Iterator[int]:
    """The summaries of nothing but what was said before a place; others tell of a turn that is kept."""
    for position in view.shape.summaries:
        if max(bounds(view.log, area_of_summary(view.log, position, view.end)))[:2] < cut:
            yield position


def _with_whole_groups(view: View, area: list[Interval], cut: Place) -> list[Interval]:
    """An area without groups that it holds in part, or with all of them: a group belongs where it begins."""
    out: list[Interval] = []
    for group in shown_astride(view.log, view.end, cut):
        members = [(p, p + 1) for p in group]
        if contains(area, group[0]):
            area = united([*area, *members])
        else:
            out += members
    return [part for interval in area for part in subtracted(interval, united(out))]


def _other_tools(view: View, tools: Collection[str] | None, cut: Place | None) -> list[Interval]:
    """The groups with a call of another tool, of those that are shown from a place on."""
    if tools is None:
        return []
    log, heads = view.log, set[int]()
    for run in view.runs(backwards=True):
        start = run.start if cut is None else first_after(run.start, run.stop, cut, log.time)
        for position, item in enumerate(log.items(start, run.stop), start):
            if isinstance(item, _TRAFFIC) and item.name not in tools:
                heads.add(log.head(position))
        if cut is not None and run.stop > run.start and (log.time(run.start), run.start) < cut:
            break
    return [(p, p + 1) for head in heads for p in log.group(head, view.end)]


def _shown_content(view: View, away: Iterable[Interval]) -> list[Interval]:
    last = last_user(view.log, view.end)
    area = united(away)
    return area if last is None else [p for i in area for p in subtracted(i, [(last, last + 1)])]
