"""From items to a payload, going on from where the last rendering of the same transcript stopped.

The cache is in the memos of the transcript's last log segment (`quire.state.memos`): one draft for each wire
and model. A view that only grew feeds the draft the new items. Each payload is finished on a branch of the
draft, which copies the list of messages and nothing else.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, cast

from quire.items import Item
from quire.providers.profiles import Profile
from quire.providers.tools import Tool
from quire.providers.turns import Turns, Writer
from quire.providers.types import CachePlan, Rendered
from quire.state import Scroll, View, checked_items, keep_memo, memos


class _Kept(NamedTuple):
    """The cached draft of an earlier rendering: what was rendered, and the turns, whose reply may be open."""

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
    """Items and tools as a payload; `begin` makes a writer with nothing written."""
    scroll, key = _scroll(items), (begin, profile.model)
    view, stable, volatile = scroll.view, scroll.stable_length, scroll.after
    if plan is not None and plan.slow is not None and plan.slow != stable:
        # Such a boundary is rare, so that these items are rendered from scratch.
        view, stable = None, plan.boundary(len(scroll))
        volatile = tuple(scroll[stable:])
    turns = None if view is None else _continued(view, key, scroll, tools)
    if turns is None:
        turns = Turns(begin(profile, tools))
        turns.writer.draft.edited = scroll.was_edited
        turns.feed(scroll[:stable])
    rendered = _build_payload(turns, volatile, tools, plan)
    if view is not None:
        keep_memo(view, key, _Kept(scroll, tools, turns))
    return rendered


def _scroll(items: Sequence[Item]) -> Scroll:
    if isinstance(items, Scroll):
        return items
    return Scroll(view=items) if isinstance(items, View) else Scroll(tuple(checked_items(items)))


def _continued(view: View, key: Hashable, scroll: Scroll, tools: list[Tool]) -> Turns | None:
    """The turns of an earlier rendering with what was added since; None if there is none to go on from.

    The earlier one is taken away until the payload is finished, so that another thread begins its own.
    """
    kept = cast("_Kept | None", memos(view).pop(key, None))
    if kept is None or [tool.exact for tool in kept.tools] != [tool.exact for tool in tools]:
        return None
    added = scroll.added_since(kept.scroll)
    if added is None:
        return None
    kept.turns.feed(added)
    return kept.turns


def _build_payload(
    turns: Turns, volatile: Sequence[Item], tools: list[Tool], plan: CachePlan | None
) -> Rendered:
    """Finish on a branch: close the open reply, record the stable end, add volatile items, build the payload.

    The cached draft keeps its reply open, so that later results can still join it.
    """
    main = turns.writer.draft
    if main.digest.is_wanted:
        # The message before the turn of the model may still be extended, so it is not counted for good.
        main.digest.advance(main.messages, main.turn_start() - 1)
    writer = turns.writer.branch()
    rest, draft, profile = turns.branch(writer), writer.draft, writer.profile
    fixed = max(len(main.messages) - 1, 0)  # messages that never change; the last may be extended
    rest.close()
    draft.mark_stable()
    own = draft.messages[fixed:]
    if volatile:
        rest.feed(volatile)
        rest.close()
    caches = plan is not None and plan.keep != "none"
    payload = writer.finish(plan if caches else None)
    if profile.bound_thinking:
        own = draft.messages[fixed:]

    def digest() -> str:
        main.digest.is_wanted = True  # a hint for later renderings; the draft may be in other hands
        return draft.digest.of(main.messages, fixed, own)

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
