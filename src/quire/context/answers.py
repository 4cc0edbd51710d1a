"""What rendering adds for calls that wait: no wire takes a call without an answer, so one is made up."""

from collections.abc import Iterable

from quire.context.cutting import Count
from quire.context.gathering import Content
from quire.items import ToolCall, ToolResult
from quire.providers import NO_RESULT
from quire.sections import Sifted
from quire.state import View, answers


def answers_counted(content: Content, count: Count) -> int:
    """The counts of the answers that are made up for what is shown of some content, added up.

    No cut takes a call that waits from a history, so they are those of all of it.
    """
    return sum(count(made_up(call)) for call in _waiting(content))


def made_up(call: ToolCall) -> ToolResult:
    """What stands for the result of a call that waits; of one call it is the same in each turn."""
    return ToolResult(call.call_id, call.name, NO_RESULT, id=f"{call.id}/no-result", created_at=0.0)


def _waiting(content: Content) -> Iterable[ToolCall]:
    if isinstance(content, View):
        return content.pending()
    if isinstance(content, Sifted):
        return [call for call in content.view.pending() if content.has(call.id)]
    if not any(isinstance(item, ToolCall) for item in content):
        return ()
    items = list(content)
    return [call for place in answers(items)[1] if isinstance(call := items[place], ToolCall)]
