"""What a session holds: transcripts and views, groups, forks and merges, the pool, the configuration.

All of it is pure and incremental: a plain append costs the same whatever came before.
"""

from quire.state.active import area_of_summary as area_of_summary
from quire.state.closing import CLOSED, closing_results, is_closing
from quire.state.config import Config, config_at
from quire.state.cut import (
    is_user_message as is_user_message,
    largest_sum as largest_sum,
    newest as newest,
    newest_from as newest_from,
    newest_items as newest_items,
    newest_items_from as newest_items_from,
    protected_items as protected_items,
    truncate,
    without_last as without_last,
)
from quire.state.editing import MASKED as MASKED
from quire.state.folding import held_by_later as held_by_later
from quire.state.foreseeing import foreseen as foreseen
from quire.state.groups import (
    MERGED as MERGED,
    Answers as Answers,
    Group,
    answered as answered,
    answers as answers,
    checked_items as checked_items,
    groups,
    is_edit as is_edit,
    is_output as is_output,
    merge_of as merge_of,
    pending_calls,
)
from quire.state.growing import (
    added_since as added_since,
    keep as keep,
    memos as memos,
    was_edited as was_edited,
)
from quire.state.judging import last_user as last_user, one_per_group as one_per_group
from quire.state.log import EDIT as EDIT, Log as Log, Segment as Segment
from quire.state.merging import SummaryPlan, merge_all, merge_result, plan_summary
from quire.state.pool import Inherit, Pool
from quire.state.positions import positions as positions
from quire.state.row import ItemRow as ItemRow
from quire.state.scopes import brief, fork_scoped
from quire.state.scroll import Scroll as Scroll
from quire.state.selection import (
    Where,
    by_agent,
    by_role,
    empty,
    instructions,
    of_kind,
    select,
    structural,
    tool_traffic,
    using_tool,
)
from quire.state.shape import Run as Run
from quire.state.spanning import spans_over as spans_over
from quire.state.staying import must_stay as must_stay
from quire.state.told import TASK as TASK
from quire.state.transcript import Transcript
from quire.state.view import Fate, View, checked_view as checked_view
from quire.state.window import Window

__all__ = [
    "CLOSED",
    "Config",
    "Fate",
    "Group",
    "Inherit",
    "Pool",
    "SummaryPlan",
    "Transcript",
    "View",
    "Where",
    "Window",
    "brief",
    "by_agent",
    "by_role",
    "closing_results",
    "config_at",
    "empty",
    "fork_scoped",
    "groups",
    "instructions",
    "is_closing",
    "merge_all",
    "merge_result",
    "of_kind",
    "pending_calls",
    "plan_summary",
    "select",
    "structural",
    "tool_traffic",
    "truncate",
    "using_tool",
]
