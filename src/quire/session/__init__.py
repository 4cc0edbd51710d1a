"""Sessions write conversations; with their pools, receipts, compaction, spending, jobs and hooks."""

from quire.session.aio import (
    check_names as check_names,
    checked_type as checked_type,
    lasting as lasting,
    wait_for as wait_for,
)
from quire.session.branches import Branch, family, free_name as free_name, labelled as labelled
from quire.session.calls import (
    NOT_APPROVED as NOT_APPROVED,
    Calls,
    Cancelled as Cancelled,
    begun_at as begun_at,
    not_run as not_run,
)
from quire.session.compaction import Attempt, Compaction, Metrics as Metrics
from quire.session.compared import (
    Cause,
    Comparison,
    FirstChange,
    before_of as before_of,
    compare_requests,
    first_change,
)
from quire.session.entries import (
    AcceptedJob as AcceptedJob,
    ClaimedJob as ClaimedJob,
    EndedJob as EndedJob,
    JobEntry as JobEntry,
    job_entry as job_entry,
)
from quire.session.erasure import (
    remove_conversation as remove_conversation,
    remove_conversations as remove_conversations,
)
from quire.session.hooks import (
    Added,
    Adding,
    Building,
    Built,
    Called,
    Calling,
    Compacted,
    Compacting,
    Dropped,
    Dropping,
    Event,
    Hook,
    HookFailure as HookFailure,
    Hooks,
    Recalled,
    Recalling,
    Replied,
    Replying,
    Requested,
    Requesting,
    hook,
)
from quire.session.jobs import (
    Behind as Behind,
    Job,
    Jobs as Jobs,
    OpenJob,
    Outcome,
    RunningJob as RunningJob,
    accept_job as accept_job,
    claim_job as claim_job,
    digest_of_job as digest_of_job,
    find_outcome as find_outcome,
    list_outcomes as list_outcomes,
    open_jobs,
    open_jobs_of as open_jobs_of,
    said_since as said_since,
    version_before_job as version_before_job,
    version_before_work as version_before_work,
)
from quire.session.log import (
    RunningTurn as RunningTurn,
    close_stores as close_stores,
    open_log as open_log,
    open_store as open_store,
    read_entries as read_entries,
)
from quire.session.metering import hooked_recall as hooked_recall, hooked_request as hooked_request
from quire.session.pool import SessionPool, handle_of as handle_of
from quire.session.provenance import (
    add_sources as add_sources,
    link_quotes as link_quotes,
    places_quoting as places_quoting,
    tracing as tracing,
)
from quire.session.receipts import StoredReceipt, request_named as request_named
from quire.session.scopes import (
    ScopeContents,
    erase_scopes,
    survey_scopes,
)
from quire.session.session import (
    AioSession,
    Session,
    beside_loop as beside_loop,
    current_session,
    find_items,
    hooks_of as hooks_of,
    log_of as log_of,
    new_transcript,
    parts_of as parts_of,
    rewrite_with as rewrite_with,
    timeline,
    transcript_with as transcript_with,
    turn_of as turn_of,
)
from quire.session.spending import Caps, Spending, price_of as price_of
from quire.session.state import Written
from quire.session.trials import Trial
from quire.session.turn import Outdated as Outdated, Turn as Turn
from quire.session.turns import BuildOptions as BuildOptions, Request as Request

__all__ = [
    "Added",
    "Adding",
    "AioSession",
    "Attempt",
    "Branch",
    "Building",
    "Built",
    "Called",
    "Calling",
    "Calls",
    "Caps",
    "Cause",
    "Compacted",
    "Compacting",
    "Compaction",
    "Comparison",
    "Dropped",
    "Dropping",
    "Event",
    "FirstChange",
    "Hook",
    "Hooks",
    "Job",
    "OpenJob",
    "Outcome",
    "Recalled",
    "Recalling",
    "Replied",
    "Replying",
    "Requested",
    "Requesting",
    "ScopeContents",
    "Session",
    "SessionPool",
    "Spending",
    "StoredReceipt",
    "Trial",
    "Written",
    "compare_requests",
    "current_session",
    "erase_scopes",
    "family",
    "find_items",
    "first_change",
    "hook",
    "new_transcript",
    "open_jobs",
    "survey_scopes",
    "timeline",
]
