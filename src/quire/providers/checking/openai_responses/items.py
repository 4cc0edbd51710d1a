"""The items of the input, each by itself and in their order."""

from quire.providers.checking.openai_chat.naming import check_call_id, check_tool_name
from quire.providers.checking.openai_responses.history import Calls, Ids, Trains
from quire.providers.checking.openai_responses.parts import check_content, check_output
from quire.providers.checking.reading import Fields, opened, short

ROLES = ("user", "assistant", "system", "developer")
LONGEST_NAME = 128
CALLS = ("function_call", "custom_tool_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output")
OTHER_KINDS = frozenset(
    {
        *(
            "item_reference",
            "compaction",
            "compaction_trigger",
            "additional_tools",
            "agent_message",
            "program",
        ),
        *("mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
    }
)
# The Responses gain new kinds of calls often, and all are named alike: one unknown here may be known there.
NEWER_KINDS = ("_call", "_output")
OF_THE_CLIENT = ("mcp_approval_response", "additional_tools", "compaction_trigger")


class Items:
    """Checks the items of one input as they come."""

    def __init__(self, body: Fields) -> None:
        self._body = body
        self._calls = Calls(body.findings)
        self._ids = Ids()
        self._trains = Trains(body.findings)
        self._stored = body.get("store") is not False
        self._kinds: set[str] = set()

    def check(self) -> None:
        """Every item, then what is missing."""
        for place, value in self._body.each("input"):
            item = opened(self._body.findings, place, value)
            if item:
                self._check_item(item)
            else:
                self._kinds.add("unreadable")
                self._trains.came()
        self._trains.stopped()
        # A reference may stand for a call or an output, and a compaction holds calls that nobody can read.
        within = bool({"item_reference", "unreadable"} & self._kinds)
        goes_on = any(self._body.get(key) is not None for key in ("previous_response_id", "conversation"))
        self._calls.end(more_before=within or goes_on or "compaction" in self._kinds, more_within=within)

    def _check_item(self, item: Fields) -> None:
        kind = "message" if item.get("type") is None and item.get("role") is not None else item.text("type")
        self._kinds.add(kind or "unreadable")
        if kind is None:
            self._trains.came()
            return
        # A message without a type is an easy one, and has no id of the server.
        self._ids.check(item, kind if item.get("type") else "")
        if kind == "message":
            self._check_message(item)
        elif kind == "reasoning":
            self._check_reasoning(item)
        elif kind.endswith("_output") or kind in OF_THE_CLIENT:
            self._trains.stopped()
            self._check_output(item, kind)
        else:
            self._trains.came()
            self._check_other(item, kind)

    def _check_message(self, item: Fields) -> None:
        role = item.text("role")
        for key in ("tool_calls", "tool_call_id"):
            if item.get(key) is not None:
                item.add(key, "chat_field", "is a field of the Chat Completions")
        if role == "assistant":
            self._trains.came()
        else:
            self._trains.stopped()
        if role is not None and role not in ROLES:
            item.add("role", "unknown_role", f"is {short(role)}")
        elif role is not None and not (item.get("content") is None and item.get("tool_calls") is not None):
            check_content(item, role)

    def _check_reasoning(self, item: Fields) -> None:
        self._trains.reasoning(item)
        if item.get("summary") is None:
            item.add("summary", "reasoning_summary", "is missing")
        else:
            for place, value in item.each("summary"):
                part = opened(item.findings, place, value)
                if part:
                    part.text("type")
        sealed = item.optional_text("encrypted_content")
        if item.get("id") is not None and not sealed and not self._stored:
            item.add("encrypted_content", "reasoning_unstored", "is missing, and store is false")

    def _check_output(self, item: Fields, kind: str) -> None:
        if kind in OUTPUTS:
            check_output(item)
            name = check_call_id(item, "call_id")
            if name is None:
                self._kinds.add("unreadable")
            else:
                self._calls.output(name, item.at("call_id"), kind.removesuffix("_output"))

    def _check_other(self, item: Fields, kind: str) -> None:
        if kind in CALLS:
            self._check_call(item, kind)
        elif kind.endswith(NEWER_KINDS):
            self._note_call(item, item.get("call_id"), kind, bound=False)
        elif kind not in OTHER_KINDS:
            item.add("type", "unknown_item", f"is {short(kind)}")
            self._kinds.add("unreadable")

    def _check_call(self, item: Fields, kind: str) -> None:
        if kind == "function_call":
            check_tool_name(item, LONGEST_NAME)
            item.text("arguments", rule="arguments_not_string")
        else:
            item.text("name")
            item.text("input")
        self._note_call(item, check_call_id(item, "call_id"), kind, bound=True)

    def _note_call(self, item: Fields, name: object, kind: str, *, bound: bool) -> None:
        if isinstance(name, str):
            self._calls.call(name, item.at("call_id"), kind, bound)
        elif bound:
            self._kinds.add("unreadable")
