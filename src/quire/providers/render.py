"""Renders items as a payload, continuing from the last rendering of the same transcript.

The memos of the transcript's last log segment (`quire.state.memos`) cache one draft for each wire and model.
If the view has only grown since, the draft takes just the new items. Each payload is finished on a branch of
the draft, which copies the list of messages but not the messages.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, cast

from quire.items import Item
from quire.providers.profiles import Profile
from quire.providers.tools import Tool
from quire.providers.turns import Turns, Writer
from quire.providers.types import CachePlan, Rendered
from quire.state import Scroll, View, checked_items, keep_memo, memos


class _CachedDraft(NamedTuple):
    """An earlier rendering: its items and tools, and its turns, of which the last reply may be incomplete."""

    scroll: Scroll
    tools: list[Tool]
    turns: Turns


def render(
    begin: Callable[[Profile, Sequence[Tool]], Writer],
    items: Sequence[Item],
    profile: Profile,
    tools: list[Tool],
    plan: CachePlan | None,
) -> Rendered:
    """Items and tools as a payload; `begin` makes an empty writer."""
    scroll, key = _as_scroll(items), (begin, profile.model)
    view, stable, volatile = scroll.view, scroll.stable_length, scroll.after
    if plan is not None and plan.slow is not None and plan.slow != stable:
        # A boundary at another place is rare: these items are rendered from scratch, without the cache.
        view, stable = None, plan.boundary(len(scroll))
        volatile = tuple(scroll[stable:])
    turns = None if view is None else _extend_cached(view, key, scroll, tools)
    if turns is None:
        turns = Turns(begin(profile, tools))
        turns.writer.draft.has_edits = scroll.was_edited
        turns.feed(scroll[:stable])
    rendered = _build_payload(turns, volatile, tools, plan)
    if view is not None:
        keep_memo(view, key, _CachedDraft(scroll, tools, turns))
    return rendered


def _as_scroll(items: Sequence[Item]) -> Scroll:
    if isinstance(items, Scroll):
        return items
    return Scroll(view=items) if isinstance(items, View) else Scroll(tuple(checked_items(items)))


def _extend_cached(view: View, key: Hashable, scroll: Scroll, tools: list[Tool]) -> Turns | None:
    """The turns of the cached draft, with the new items; None if the cache has no draft that fits.

    The draft is removed from the cache until the payload is finished, so that no other thread uses it.
    """
    cached = cast("_CachedDraft | None", memos(view).pop(key, None))
    if cached is None or [tool.exact for tool in cached.tools] != [tool.exact for tool in tools]:
        return None
    added = scroll.added_since(cached.scroll)
    if added is None:
        return None
    cached.turns.feed(added)
    return cached.turns


def _build_payload(
    turns: Turns, volatile: Sequence[Item], tools: list[Tool], plan: CachePlan | None
) -> Rendered:
    """Finish on a branch: close the open reply, record the stable end, add volatile items, build the payload.

    The cached draft keeps its reply open, so that later results can still join it.
    """
    main = turns.writer.draft
    if main.digest.is_wanted:
        # Later items may extend the message before the model's turn, so the digest does not include it yet.
        main.digest.advance(main.messages, main.turn_start() - 1)
    writer = turns.writer.branch()
    branch, draft, profile = turns.branch(writer), writer.draft, writer.profile
    fixed_count = max(len(main.messages) - 1, 0)  # messages that never change; the last may be extended
    branch.close()
    draft.mark_stable()
    rest = draft.messages[fixed_count:]
    if volatile:
        branch.feed(volatile)
        branch.close()
    uses_cache = plan is not None and plan.keep != "none"
    payload = writer.finish(plan if uses_cache else None)
    if profile.bound_thinking:
        rest = draft.messages[fixed_count:]

    def digest() -> str:
        main.digest.is_wanted = True  # only a hint for later renderings: another thread may use the draft now
        return draft.digest.of(main.messages, fixed_count, rest)

    return Rendered(
        payload,
        tuple(draft.downgrades),
        draft.names.originals(),
        digest,
        profile.model,
        tuple(tool.name for tool in tools),
        {tool: {alias: own for own, alias in names.items()} for tool, names in draft.parameters.items()},
        draft.wire,
    )
