"""Questions to the API's own tools and to those of MCP servers, and the results that answer them.

A result may come later than in the turn that asked: a turn that was paused goes on, and a question is put off
while tools of the caller are run. Until then the user gives results and says nothing.
"""

from quire.providers.checking.anthropic.history import Block, Turn
from quire.providers.checking.anthropic.programs import caller_of
from quire.providers.checking.faults import Findings
from quire.providers.checking.reading import short

_ASKING = ("server_tool_use", "mcp_tool_use")
_ANSWERING = "_tool_result"


class Questions:
    """The questions of a conversation, by their ids, and where those stand that wait."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._asked: set[str] = set()
        self._waiting: dict[str, str] = {}
        self._passed_over: dict[str, str] = {}  # those that waited when the user spoke

    def check(self, turns: list[Turn]) -> None:
        """Note results without a question, and questions that the user spoke after and nothing answers."""
        for turn in turns:
            for block in turn.blocks():
                self._follow(block)
            if turn.role == "user" and any(block.kind != "tool_result" for block in turn.blocks()):
                self._passed_over |= self._waiting
        for call_id, place in self._passed_over.items():
            text = f"server tool use {short(call_id)} has no result, and the user speaks after it"
            self._findings.add(place, "unanswered_server_call", text)

    def _follow(self, block: Block) -> None:
        asks = block.kind in _ASKING
        call_id = block.fields.get("id" if asks else "tool_use_id")
        program = caller_of(block)
        if program is not None:
            self._answered(program)  # it has a rule of its own, and one cause is one fault
        if not isinstance(call_id, str):
            return
        if asks:
            self._asked.add(call_id)
            if program is None:
                self._waiting[call_id] = block.place
        elif block.kind.endswith(_ANSWERING):
            self._answered(call_id)
            if call_id not in self._asked:
                text = f"there is no server tool use {short(call_id)} before"
                self._findings.add(block.place, "orphan_server_result", text)

    def _answered(self, call_id: str) -> None:
        self._waiting.pop(call_id, None)
        self._passed_over.pop(call_id, None)
