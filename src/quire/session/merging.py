"""What comes back from a fork into the conversation that it left."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from quire.compactors.telling import in_words
from quire.items import Item
from quire.session.ledger import Ledger
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
        return [entry for entry in drafted if entry.stream != RECEIPTS]
    return [
        Written(stream, shifted(item, began_at) if stream == RECEIPTS else item) for stream, item in drafted
    ]


async def summary_of(
    ledger: Ledger, child: Transcript, ask: Callable[[str], Awaitable[str]], agent_id: str | None
) -> tuple[Item, ...]:
    """Have a model write what a fork did, and record it; nothing where there is nothing new to tell."""
    plan = plan_summary(ledger.workspace.transcripts[MAIN], child, agent_id)
    if plan is None:
        return ()
    summary = plan.summary(await ask(_PROMPT.format(work=in_words(plan.items))))

    def recorded(workspace: Workspace) -> Sequence[Written]:
        if summary is None or summary.id in workspace.transcripts[MAIN]:
            return ()
        return [Written(MAIN, summary)]

    return tuple(item for _, item in ledger.commit(recorded))
