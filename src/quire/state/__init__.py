"""What a session holds: transcripts and views, groups, forks and merges, the pool, the configuration.

All of it is pure and incremental: a plain append costs the same whatever came before.
"""

from quire.state.closing import CLOSED, closing_results, is_closing
from quire.state.config import Config, config_at
from quire.state.groups import Group, groups, pending_calls
from quire.state.merging import SummaryPlan, merge_all, merge_result, plan_summary
from quire.state.pool import Inherit, Pool
from quire.state.scopes import brief, fork_scoped
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
from quire.state.transcript import Transcript
from quire.state.truncation import truncate
from quire.state.view import Fate, View
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
