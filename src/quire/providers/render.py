"""From items to a payload, going on from where the last rendering of the same transcript stopped.

The cache is in the memos of the transcript's last log segment (`quire.state.memos`): one draft for each wire
and model. A view that only grew feeds the draft the new items. Each payload is finished on a branch of the
draft, which copies the list of messages and nothing else.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

from quire.items import Item
from quire.providers.profiles import Profile, profile_for
from quire.providers.tools import Tool, read_tools
from quire.providers.turns import CacheBounds, Turns, Writer
from quire.providers.types import CachePlan, Rendered, refuse_losses
from quire.state import Scroll, View, checked_items, keep_memo, memos
from quire.tokens import Definition

Begin = Callable[[Profile, Sequence[Tool]], Writer]


class _Job(NamedTuple):
    """One rendering: what is written, for which model, and up to where items are stable."""

    begin: Begin
    wire: str
    scroll: Scroll
    profile: Profile
    tools: list[Tool]
    boundary: int

    @property
    def key(self) -> tuple[object, ...]:
        """The key of the cached draft: wire, model, and whether it holds all stable items.

        A plan may put some of them among the volatile ones. Its drafts have their own key, so that renderings
        with and without the plan do not replace each other's.
        """
        part = "all" if self.boundary == self.scroll.stable_length else "slow"
        return self.wire, self.profile.model, part


class _Kept(NamedTuple):
    """The cached draft of an earlier rendering: what was rendered, and the turns, whose reply may be open."""

    job: _Job
    turns: Turns


def render(
    begin: Begin,
    wire: str,
    items: Sequence[Item],
    *,
    model: str | None,
    tools: Sequence[Definition],
    plan: CachePlan | None,
    strict: bool,
) -> Rendered:
    """Items and tools as a payload of a wire."""
    scroll = _scroll(items)
    boundary = scroll.stable_length if plan is None or plan.slow is None else plan.boundary(len(scroll))
    job = _Job(begin, wire, scroll, profile_for(wire, model), read_tools(tools), boundary)
    static = _static_messages(job, plan.static) if plan and plan.static else 0
    turns = _draft_for(job)
    rendered = _build_payload(turns, job, plan, static)
    if scroll.view is not None and boundary <= scroll.stable_length:
        keep_memo(scroll.view, job.key, _Kept(job, turns))
    if strict:
        refuse_losses(rendered.downgrades)
    return rendered


def _scroll(items: Sequence[Item]) -> Scroll:
    if isinstance(items, Scroll):
        return items
    return Scroll(view=items) if isinstance(items, View) else Scroll(tuple(checked_items(items)))


def _draft_for(job: _Job) -> Turns:
    """All turns up to the boundary, going on from an earlier rendering where there is one.

    The earlier one is taken away until the payload is finished, so that another thread begins its own.
    """
    scroll, boundary = job.scroll, job.boundary
    memo = None if scroll.view is None else memos(scroll.view)
    kept = cast("_Kept | None", memo.pop(job.key, None)) if memo else None
    if kept is not None and kept.job.boundary <= boundary and _same_tools(kept.job.tools, job.tools):
        before, turns = kept
        added = scroll.added_since(before.scroll)
        if added is not None:
            turns.feed(added if boundary == scroll.stable_length else scroll[before.boundary : boundary])
            return turns
    turns = Turns(job.begin(job.profile, job.tools))
    turns.writer.draft.edited = scroll.was_edited
    turns.feed(scroll[:boundary])
    return turns


def _same_tools(some: list[Tool], others: list[Tool]) -> bool:
    return some is others or [tool.exact for tool in some] == [tool.exact for tool in others]


def _static_messages(job: _Job, count: int) -> int:
    """How many messages the static items become; they are few, so they are written once more to see."""
    turns = Turns(job.begin(job.profile, job.tools))
    turns.feed(job.scroll[:count])
    turns.close()
    return len(turns.writer.draft.messages)


def _build_payload(turns: Turns, job: _Job, plan: CachePlan | None, static: int) -> Rendered:
    """Finish on a branch: close the open reply, record the stable end, add volatile items, build the payload.

    The cached draft keeps its reply open, so that later results can still join it.
    """
    main = turns.writer
    if main.draft.digest.is_wanted:
        # The message before the turn of the model may still be extended, so it is not counted for good.
        main.draft.digest.advance(main.draft.messages, main.draft.turn_start() - 1)
    writer = main.branch()
    rest, draft = turns.branch(writer), writer.draft
    rest.close()
    draft.mark_stable()
    slow = len(draft.stable_messages)
    if job.boundary < len(job.scroll):
        rest.feed(job.scroll[job.boundary :])
        rest.close()
    payload = writer.finish(None if plan is None else CacheBounds(static, slow, plan))
    sent = len(draft.messages)

    def digest() -> str:
        main.draft.digest.is_wanted = True  # a hint for later renderings; the draft may be in other hands
        messages = draft.messages[:sent] if job.profile.bound_thinking else draft.stable_messages
        return draft.digest.of(messages, len(messages))

    parameters = {
        tool: {name: original for original, name in names.items()} for tool, names in draft.parameters.items()
    }
    offered = tuple(tool.name for tool in job.tools)
    return Rendered(
        payload,
        tuple(draft.downgrades),
        draft.names.originals(),
        digest,
        job.profile.model,
        offered,
        parameters,
    )
