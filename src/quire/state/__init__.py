"""Transcripts, views, groups, forks and merges, the pool, and the configuration of a conversation.

All of it is pure and incremental: a plain append costs the same whatever came before it.

Terms:

- head: the position in the log of the first item of a group. It names the group.
- area: sorted intervals of positions that do not touch, such as those that an edit covers.
- run: an interval of the log that is shown as it is, or one item in place of others (a mask, a summary).
- shape: the part of a log that is shown, as runs. An edit makes a new shape; an append does not.
- tail: the items since the last edit. They are shown, but are in no run of the shape.
- late: a result is late if it arrived after the model had moved on, to other output.
- scroll: the items of one request: a few items, a stretch of a view, and volatile items.
- volatile: may differ in the next request, such as the time of day. Volatile items come last.
"""

from quire.state.archive import (
    MAX_ITEMS as MAX_ITEMS,
    MAX_PAGES as MAX_PAGES,
    Loader as Loader,
    Outline as Outline,
    Page as Page,
    RecentCache as RecentCache,
    archived as archived,
    needed_positions as needed_positions,
    reopened as reopened,
)
from quire.state.cut import (
    Cut as Cut,
    keep_newest as keep_newest,
    newest as newest,
    newest_from as newest_from,
    newest_since as newest_since,
    truncate,
    view_of_list as view_of_list,
    without_last as without_last,
)
from quire.state.edits import view_after
from quire.state.groups import (
    MERGED as MERGED,
    Answers as Answers,
    Group,
    Grouping as Grouping,
    Output as Output,
    PackedGrouping as PackedGrouping,
    ReplySoFar as ReplySoFar,
    checked_items as checked_items,
    groups,
    in_one_reply as in_one_reply,
    index_of_call as index_of_call,
    is_edit as is_edit,
    is_instruction as is_instruction,
    is_output as is_output,
    is_structural,
    is_user_message as is_user_message,
    merge_of as merge_of,
    pending_calls,
    with_output as with_output,
)
from quire.state.layout import (
    Pair as Pair,
    Stretch as Stretch,
    laid_out as laid_out,
    side_by_side as side_by_side,
    subject as subject,
)
from quire.state.log import (
    EDIT as EDIT,
    MASKED as MASKED,
    PAGE as PAGE,
    IndexKind as IndexKind,
    Log as Log,
    Segment as Segment,
)
from quire.state.merge import (
    TASK as TASK,
    SummaryPlan,
    brief,
    fork_scoped,
    merge_all,
    merge_result,
    plan_summary,
)
from quire.state.origins import (
    ALL as ALL,
    ELSEWHERE as ELSEWHERE,
    SOURCES as SOURCES,
    as_imported as as_imported,
    derived_origin as derived_origin,
    distrusted as distrusted,
    is_untrusted as is_untrusted,
    origin_of,
    source_ids as source_ids,
)
from quire.state.pool import Inherit, Pool
from quire.state.shape import Run as Run
from quire.state.transcript import CLOSED as CLOSED, Config, Transcript, config_at
from quire.state.view import (
    Fate,
    Scroll as Scroll,
    View,
    keep_memo as keep_memo,
    memos as memos,
    protected_positions as protected_positions,
    spans_over as spans_over,
    undone_groups as undone_groups,
)

__all__ = [
    "Config",
    "Fate",
    "Group",
    "Inherit",
    "Pool",
    "SummaryPlan",
    "Transcript",
    "View",
    "brief",
    "config_at",
    "fork_scoped",
    "groups",
    "is_structural",
    "merge_all",
    "merge_result",
    "origin_of",
    "pending_calls",
    "plan_summary",
    "truncate",
    "view_after",
]
