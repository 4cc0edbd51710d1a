"""Repeats: a call that was made before, where the model does not see it any more, is told about that.

What was done before a cut or a summary is easily done again. A repeated call still runs, because the user may
want it; a line in its result says when it was made before, and what came of it. A tool that runs once gives
its earlier result instead, and a line that says so.
"""

from datetime import UTC, datetime
from typing import NamedTuple

from msgspec.structs import replace

from quire.agent.tools import Tool
from quire.compactors import call_key, is_read
from quire.items import ToolCall, ToolResult
from quire.session import Session, log_of
from quire.state import View, protected_positions
from quire.stores.streams import OF

_SEARCHED = 2_000
"""So many items before a call are searched for an earlier one."""

_LONGEST = 160
"""Characters of the outcome that are told."""

_COPY = "quire.copy"
"""The key of `extras` that marks a result that is that of an earlier call."""


class Earlier(NamedTuple):
    """The newest earlier call with the same arguments, its result, and whether the model sees them."""

    call: ToolCall
    result: ToolResult
    is_seen: bool

    @property
    def line(self) -> str:
        """What the model is told of it, where the call was made again."""
        came = next((line.strip() for line in self.result.text.splitlines() if line.strip()), "no output")
        came = f"{came[:_LONGEST]}…" if len(came) > _LONGEST else came
        outcome = f"{'it failed: ' if self.result.is_error else ''}{came}"
        return (
            "[Above is what came of this call now. "
            f"The same call was made before, at {self._when}, with this outcome: {outcome}]"
        )

    @property
    def copied_line(self) -> str:
        """What the model is told of it, where the call was not made again."""
        return f"[Not done again: above is what came of the same call at {self._when}.]"

    @property
    def _when(self) -> str:
        return f"{datetime.fromtimestamp(self.call.created_at, UTC):%Y-%m-%d %H:%M} UTC"


def may_repeat(session: Session, tool: Tool) -> bool:
    """Whether a call of a tool may repeat one that the model does not see, so that it is to be told."""
    if tool.once:
        return True
    is_harmless, view = tool.is_idempotent or is_read(tool.name), session.view()
    return not is_harmless and (view.was_edited or first_seen(session, view) > 0)


def earlier_call(session: Session, call: ToolCall) -> Earlier | None:
    """Return the newest earlier call with the same arguments; it may load what is kept."""
    view = session.view()
    first = first_seen(session, view)
    end = view.position(call.id)
    results = dict[str, ToolResult]()
    for item in reversed(view.log.items(max(end - _SEARCHED, 0), end)):
        if isinstance(item, ToolResult) and _COPY not in item.extras:
            results.setdefault(item.call_id, item)
        elif isinstance(item, ToolCall) and item.call_id in results and item.name == call.name:
            if call_key(item) != call_key(call):
                continue
            position, result = view.position(item.id), results[item.call_id]
            is_whole = view.run_at(position) is not None and view.fate(result.id).state != "masked"
            is_seen = is_whole and (position >= first or position in set(protected_positions(view)))
            return Earlier(item, result, is_seen)
    return None


def with_repeat(result: ToolResult, earlier: Earlier) -> ToolResult:
    """Return the result of a repeated call, with a line of its own that says so, and its sources."""
    return _with_line(result, earlier, earlier.line)


def given_again(call: ToolCall, earlier: Earlier) -> ToolResult:
    """Return the result of an earlier call as that of a call that is not made."""
    result = ToolResult(call.call_id, call.name, earlier.result.content, extras={_COPY: True})
    return _with_line(result, earlier, earlier.copied_line)


def _with_line(result: ToolResult, earlier: Earlier, line: str) -> ToolResult:
    sources = sorted({*result.extras.get(OF, ()), earlier.call.id, earlier.result.id})
    return replace(result, content=(*result.parts, line), extras={**result.extras, OF: sources})


def first_seen(session: Session, view: View) -> int:
    """Return the position of the last cut: what is before it is not in the request."""
    cuts = [cut.first for cut in log_of(session).state.cuts.values() if cut.first]
    return max((view.log.find(first, view.end) or 0 for first in cuts), default=0)
