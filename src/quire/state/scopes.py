"""What a fork sees."""
from quire.items import Item, ToolResult
from quire.state.view import View

def closing_results(view: View) -> list[Item]:
    return [ToolResult(call.call_id, call.name, "closed", extras={"quire.closed": "fork"}) for call in view.pending()]
