"""Repeated calls: the model is told if it made the same call before and can no longer see it.

A model easily repeats what it did before a cut or a summary. The repeated call still runs, because the user
may want it; a line in its result says when it was made before, and with what outcome. A tool that runs once
returns its earlier result instead, with a line that says so.
"""

from datetime import UTC, datetime
from typing import NamedTuple

from msgspec.structs import replace

from quire.agent.tools import Tool
from quire.compactors import call_key, only_reads
from quire.errors import cut
from quire.items import ToolCall, ToolResult
from quire.session import Session, log_of
from quire.state import View, protected_positions
from quire.stores.streams import SOURCES

_MAX_SEARCHED = 2_000
"""Items before a call that are searched for an earlier one."""

_MAX_OUTCOME = 160
"""Characters of the earlier outcome that the line quotes."""

_COPY = "quire.copy"
"""The key of `extras` that marks a copy of an earlier result."""


class Earlier(NamedTuple):
    """The newest earlier call with the same arguments, its result, and whether the model sees them."""

    call: ToolCall
    result: ToolResult
    is_visible: bool

    @property
    def repeat_line(self) -> str:
        """The line in the result of a call that ran again."""
        summary = next((line.strip() for line in self.result.text.splitlines() if line.strip()), "no output")
        outcome = f"{'it failed: ' if self.result.is_error else ''}{cut(summary, _MAX_OUTCOME)}"
        return (
            "[Above is the result of this call. "
            f"The same call was made before, at {self._when}, with this outcome: {outcome}]"
        )

    @property
    def copy_line(self) -> str:
        """The line in the result of a call that did not run again."""
        return f"[Not done again: above is the result of the same call at {self._when}.]"

    @property
    def _when(self) -> str:
        return f"{datetime.fromtimestamp(self.call.created_at, UTC):%Y-%m-%d %H:%M} UTC"


def must_report_repeats(session: Session, tool: Tool) -> bool:
    """Whether the model has to be told if a call of a tool repeats one that it no longer sees."""
    if tool.once:
        return True
    is_harmless, view = tool.is_idempotent or only_reads(tool.name), session.view()
    return not is_harmless and (view.was_edited or first_seen(session, view) > 0)


def earlier_call(session: Session, call: ToolCall) -> Earlier | None:
    """Return the newest earlier call with the same arguments; may load old items from the store."""
    view = session.view()
    first = first_seen(session, view)
    end = view.position(call.id)
    results = dict[str, ToolResult]()
    for item in reversed(view.log.items(max(end - _MAX_SEARCHED, 0), end)):
        if isinstance(item, ToolResult) and _COPY not in item.extras:
            results.setdefault(item.call_id, item)
        elif isinstance(item, ToolCall) and item.call_id in results and item.name == call.name:
            if call_key(item) != call_key(call):
                continue
            position, result = view.position(item.id), results[item.call_id]
            is_whole = view.run_at(position) is not None and view.fate(result.id).state != "masked"
            is_visible = is_whole and (position >= first or position in set(protected_positions(view)))
            return Earlier(item, result, is_visible)
    return None


def repeated_result(result: ToolResult, earlier: Earlier) -> ToolResult:
    return _add_line(result, earlier, earlier.repeat_line)


def copied_result(call: ToolCall, earlier: Earlier) -> ToolResult:
    """The result of an earlier call, as the result of a call that does not run again."""
    result = ToolResult(call.call_id, call.name, earlier.result.content, extras={_COPY: True})
    return _add_line(result, earlier, earlier.copy_line)


def _add_line(result: ToolResult, earlier: Earlier, line: str) -> ToolResult:
    sources = sorted({*result.extras.get(SOURCES, ()), earlier.call.id, earlier.result.id})
    return replace(result, content=(*result.parts, line), extras={**result.extras, SOURCES: sources})


def first_seen(session: Session, view: View) -> int:
    """Return the position of the last cut: requests do not show the items before it."""
    cuts = [cut.first for cut in log_of(session).state.cuts.values() if cut.first]
    return max((view.log.find(first, view.end) or 0 for first in cuts), default=0)
