"""What comes back from a fork into the conversation that it left."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from quire.compactors.telling import in_words
from quire.errors import Conflict, cut
from quire.items import Item, Summary, ToolCall, ToolResult
from quire.session.receipts import shifted
from quire.session.streams import MAIN, RECEIPTS
from quire.session.workspace import Workspace, Written
from quire.state import Transcript, merge_all, merge_result, plan_summary

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

    Receipts name what the model saw by versions of the draft. Where others wrote meanwhile it cannot be shown
    again from here, so they stay behind.
    """
    if workspace.version != began_at:
        _check_answers(drafted, workspace)
        return [entry for entry in drafted if entry.stream != RECEIPTS]
    return [
        Written(stream, shifted(item, began_at) if stream == RECEIPTS else item) for stream, item in drafted
    ]


def _check_answers(drafted: Sequence[Written], workspace: Workspace) -> None:
    """A call that the draft answers must still wait, or be its own."""
    waiting = workspace.waiting() | {item.call_id for _, item in drafted if isinstance(item, ToolCall)}
    for _, item in drafted:
        if isinstance(item, ToolResult) and item.call_id not in waiting:
            raise Conflict(f"call {cut(item.call_id)!r} was answered by another first")


async def summary_of(
    workspace: Workspace, child: Transcript, ask: Callable[[str], Awaitable[str]], agent_id: str | None
) -> Summary | None:
    """What a model writes of what a fork did; none where there is nothing new to tell."""
    plan = plan_summary(workspace.transcripts[MAIN], child, agent_id)
    return None if plan is None else plan.summary(await ask(_PROMPT.format(work=in_words(plan.items))))


def told_once(workspace: Workspace, summary: Item) -> list[Written]:
    """A summary, unless another was quicker to tell the same."""
    return [] if summary.id in workspace.transcripts[MAIN] else [Written(MAIN, summary)]
