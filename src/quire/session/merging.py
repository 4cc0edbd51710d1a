"""What comes back from a fork into the conversation that it left."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal

from msgspec.structs import replace

from quire.compactors import transcript_text
from quire.errors import Conflict, cut
from quire.items import Item, Note, Summary, ToolCall, ToolResult
from quire.session.receipts import bare, is_receipt, shifted
from quire.session.workspace import Workspace, Written
from quire.session.writing import Redact, redacted
from quire.state import Transcript, View, merge_all, merge_result, plan_summary
from quire.stores.streams import MAIN, POOL, RECEIPTS, USAGE
from quire.stores.tombstones import TOLD

_PROMPT = """\
Another agent worked on a part of this conversation. Say in a few sentences what it did and what came of it.
Keep names, numbers and decisions. Do not add anything of your own.

{work}"""


def kept_of(
    workspace: Workspace, child: Transcript, keep: Literal["all", "result"], agent_id: str | None
) -> list[Written]:
    """What a merge writes: tried on a copy, since only what is stored has happened."""
    merge = merge_all if keep == "all" else merge_result
    return [Written(MAIN, item) for item in merge(workspace.transcripts[MAIN].copy(), child, agent_id)]


def joined(drafted: Sequence[Written], workspace: Workspace, began_at: int) -> list[Written]:
    """What a draft wrote, as it is written to the conversation that it left at a version.

    Receipts name what the model saw by versions of the draft. Where others said or kept something meanwhile
    it cannot be shown again from here, so of them stays only that something was sent.
    """
    if is_changed(workspace, began_at):
        _check_answers(drafted, workspace)
        return [*(entry for entry in drafted if entry.stream != RECEIPTS), *_sent_in(drafted)]
    return [
        Written(stream, shifted(item, workspace.version) if stream == RECEIPTS else item)
        for stream, item in drafted
    ]


def is_changed(workspace: Workspace, since: int) -> bool:
    """Whether a transcript or the pool was written to since a version; a draft sees nothing else."""
    streams = () if workspace.version == since else (*workspace.transcripts, POOL)
    return any(found[-1] > since for found in map(workspace.versions, streams) if found)


def left_behind(drafted: Sequence[Written]) -> list[Written]:
    """What stays of a draft that came to nothing: what it spent, and that it sent something."""
    return [*(entry for entry in drafted if entry.stream == USAGE), *_sent_in(drafted)]


def _sent_in(drafted: Sequence[Written]) -> list[Written]:
    return [
        Written(RECEIPTS, bare(item)) for _, item in drafted if isinstance(item, Note) and is_receipt(item)
    ]


def _check_answers(drafted: Sequence[Written], workspace: Workspace) -> None:
    """A call that the draft answers must still wait, or be its own."""
    waiting = workspace.waiting() | {item.call_id for _, item in drafted if isinstance(item, ToolCall)}
    for _, item in drafted:
        if isinstance(item, ToolResult) and item.call_id not in waiting:
            raise Conflict(f"call {cut(item.call_id)!r} was answered by another first")


async def summary_of(
    workspace: Workspace,
    child: Transcript,
    ask: Callable[[str], Awaitable[str]],
    agent_id: str | None,
    redact: Redact | None,
    recalled: Iterable[str] = (),
) -> Summary | None:
    """What a model writes of what a fork did; none where there is nothing new to tell.

    It says what it tells of, so that it can be forgotten with that; `recalled` are the ids of what the fork
    knew from elsewhere.
    """
    plan = plan_summary(workspace.transcripts[MAIN], child, agent_id)
    if plan is None:
        return None
    summary = plan.summary(
        await ask(_PROMPT.format(work=transcript_text([redacted(redact, i) for i in plan.items])))
    )
    return summary and replace(summary, extras={TOLD: [*(item.id for item in plan.items), *recalled]})


def told_once(workspace: Workspace, summaries: Sequence[Item]) -> list[Item]:
    """Summaries, but for those that another was quicker to tell."""
    return [summary for summary in summaries if summary.id not in workspace.transcripts[MAIN]]


def woven(views: Sequence[View]) -> list[Item]:
    """What several views show, woven by time, each item once; none comes after what it precedes in its view.

    A summary was made late and stands early: it counts as of the time of what comes after it.
    """
    found: dict[str, tuple[float, Item]] = {}
    for view in views:
        earliest, row = float("inf"), list[tuple[float, Item]]()
        for item in reversed(list(view)):
            earliest = min(earliest, item.created_at)
            row.append((earliest, item))
        for time, item in reversed(row):
            found.setdefault(item.id, (time, item))
    return [item for _, item in sorted(found.values(), key=lambda pair: pair[0])]
