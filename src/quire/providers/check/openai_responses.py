"""The checks of OpenAI's Responses: `responses.create` arguments, or a list of input items."""

from collections.abc import Callable

from quire.providers import rules
from quire.providers.check.core import (
    Fields,
    Findings,
    ToolNames,
    as_list,
    check_texts,
    objects_in,
    short,
)
from quire.providers.check.openai_chat import (
    check_audio,
    check_breakpoints,
    check_cache_key,
    check_call_id,
    check_choice,
    check_file_data,
    check_image_url,
    check_parameters,
    check_tool_name,
)

_WIRE = "openai-responses"
_ROLES = ("user", "assistant", "system", "developer")
_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_OTHER_ITEMS = frozenset(
    (
        *(
            "item_reference",
            "compaction",
            "compaction_trigger",
            "additional_tools",
            "agent_message",
            "program",
        ),
        *("mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
    )
)
_NEWER_ITEMS = ("_call", "_output")
"""Endings of the calls and outputs of the API's own tools; new ones appear often, and all are named alike."""
_OF_THE_CLIENT = ("mcp_approval_response", "additional_tools", "compaction_trigger")
_HISTORIES = ("previous_response_id", "conversation")
_FROM_MODEL = frozenset(("output_text", "refusal"))
_TO_MODEL = frozenset(("input_text", "input_image", "input_audio", "input_file"))
_FROM_TOOL = frozenset(("input_text", "input_image", "input_file"))
_OPAQUE = frozenset(("computer_screenshot", "summary_text", "scoped_content", "encrypted_content"))
"""Parts that the API's answers name; their content is not checked."""


def check_request(body: Fields, model: str | None) -> None:
    """Find what the Responses refuse or misread in a request."""
    body.optional_text("previous_response_id")
    if body.has("messages"):
        body.add("messages", "chat_field", "is called input here")
    if all(body.has(key) for key in _HISTORIES):
        body.add("conversation", "two_histories", "is given beside previous_response_id")
    if body.get("input") in (None, "", [], ()):
        if not body.has(*_HISTORIES, "prompt", "messages"):
            body.add("input", "empty_input", "is empty, and there is nothing to continue")
    elif not isinstance(body.get("input"), str):
        _Items(body).check()
    _check_tools(body)
    check_cache_key(body)
    check_breakpoints(body, "input", (model or "").lower())
    check_texts(body)


class _Items:
    """Checks the items of the input, one after the other."""

    def __init__(self, body: Fields) -> None:
        self._body = body
        self._findings = body.findings
        self._is_stored = body.get("store") is not False
        self._calls = _Calls(body.findings)
        self._ids: dict[str, str] = {}
        self._reasoning: str | None = None
        """The path of reasoning that waits for the item it led to."""
        self._is_unclear = False
        """Whether an item could not be read, which may be a call or an output."""

    def check(self) -> None:
        """Check every item, then what is missing."""
        kinds: set[str] = set()
        for item in self._body.each_object("input"):
            kind = self._check_item(item) if item else None
            if kind is None:
                self._is_unclear, self._reasoning = True, None
            else:
                kinds.add(kind)
        self._expect_no_reasoning()
        unseen = self._is_unclear or not kinds.isdisjoint(("item_reference", "compaction"))
        self._calls.end(
            has_more_before=unseen or self._body.has(*_HISTORIES),
            has_more_within=self._is_unclear or "item_reference" in kinds,
        )

    def _check_item(self, item: Fields) -> str | None:
        is_message = item.get("type") is None and item.has("role")
        kind = "message" if is_message else item.text("type")
        if kind is None:
            return None
        self._check_id(item, "" if is_message else kind)  # a message without a type has an id of the caller
        if kind == "message":
            self._check_message(item)
        elif kind == "reasoning":
            self._check_reasoning(item)
        elif kind.endswith("_output") or kind in _OF_THE_CLIENT:
            self._expect_no_reasoning()
            self._check_output(item, kind)
        else:
            self._reasoning = None
            self._check_call(item, kind)
        return kind

    def _check_id(self, item: Fields, kind: str) -> None:
        item_id = item.text("id") if kind == "item_reference" else item.optional_text("id")
        if item_id is None:
            return
        prefix = rules.OPENAI_ITEM_PREFIXES.accepted.get(kind, "")
        if not rules.OPENAI_ITEM_ID.accepted.fullmatch(item_id):
            item.add("id", "item_id", f"{short(item_id)}, with {len(item_id)} characters, is no id")
        elif not item_id.startswith(prefix):
            item.add("id", "item_id_prefix", f"{short(item_id)} is the id of an item of type {kind}")
        elif item_id in self._ids:
            item.add("id", "duplicate_item_id", f"{short(item_id)} is also the id at {self._ids[item_id]}")
        else:
            self._ids[item_id] = item.at("id")

    def _check_message(self, item: Fields) -> None:
        role = item.text("role")
        for key in ("tool_calls", "tool_call_id"):
            if item.has(key):
                item.add(key, "chat_field", "is a field of the Chat Completions")
        if role == "assistant":
            self._reasoning = None
        else:
            self._expect_no_reasoning()
        if role is not None and role not in _ROLES:
            item.add("role", "unknown_role", f"is {short(role)}")
        elif role is not None and (item.has("content") or not item.has("tool_calls")):
            _check_content(item, role)

    def _check_reasoning(self, item: Fields) -> None:
        if item.has("id"):
            self._reasoning = item.place
        if not item.has("summary"):
            item.add("summary", "reasoning_summary")
        else:
            for part in item.each_object("summary"):
                if part:
                    part.text("type")
        sealed = item.optional_text("encrypted_content")
        if item.has("id") and not sealed and not self._is_stored:
            item.add("encrypted_content", "reasoning_unstored")

    def _expect_no_reasoning(self) -> None:
        if self._reasoning is not None:
            self._findings.add(self._reasoning, "reasoning_alone")
        self._reasoning = None

    def _check_output(self, item: Fields, kind: str) -> None:
        if kind not in _OUTPUTS:
            return
        if not isinstance(item.get("output"), str):
            _check_parts(item, "output", _FROM_TOOL | _OPAQUE, "the output of a tool")
        call_id = check_call_id(item, "call_id", rules.OPENAI_CALL_ID_LENGTH.accepted)
        if call_id is None:
            self._is_unclear = True
        else:
            self._calls.output(call_id, item.at("call_id"), kind.removesuffix("_output"))

    def _check_call(self, item: Fields, kind: str) -> None:
        if kind in _CALLS:
            check_tool_name(item, _WIRE, is_custom=kind == "custom_tool_call")
            key, rule = (
                ("arguments", "arguments_not_string") if kind == "function_call" else ("input", "shape")
            )
            item.text(key, rule)
            call_id = check_call_id(item, "call_id", rules.OPENAI_CALL_ID_LENGTH.accepted)
            self._is_unclear = self._is_unclear or call_id is None
        elif kind.endswith(_NEWER_ITEMS):
            call_id = item.get("call_id")
        else:
            call_id = None
            if kind not in _OTHER_ITEMS:
                item.add("type", "unknown_item", f"is {short(kind)}")
                self._is_unclear = True
        if isinstance(call_id, str):
            self._calls.call(call_id, item.at("call_id"), kind)


class _Calls:
    """Pairs calls and outputs by call_id; an output comes anywhere after its call."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._places: dict[str, str] = {}
        self._kinds: dict[str, str] = {}
        self._open: dict[str, int] = {}
        self._answered: set[str] = set()
        self._early: dict[str, str] = {}

    def call(self, call_id: str, place: str, kind: str) -> None:
        """A call of some kind."""
        self._kinds[call_id] = kind
        if call_id in self._places:
            text = f"{short(call_id)} is also the call_id at {self._places[call_id]}"
            self._findings.add(place, "duplicate_call_id", text)
        else:
            self._places[call_id] = place
        self._open[call_id] = self._open.get(call_id, 0) + 1

    def output(self, call_id: str, place: str, kind: str) -> None:
        """An output for some kind of call."""
        called = self._kinds.get(call_id, kind)
        if called in _CALLS and called != kind:
            self._findings.add(place, "output_kind", f"the call {short(call_id)} is a {called}")
        if self._open.get(call_id, 0):
            self._open[call_id] -= 1
            self._answered.add(call_id)
        elif call_id in self._answered or call_id in self._early:
            self._findings.add(place, "duplicate_output", f"{short(call_id)} has an output already")
        else:
            self._early[call_id] = place

    def end(self, *, has_more_before: bool, has_more_within: bool) -> None:
        """Find what is missing, unless it may be in items that the input only refers to."""
        for call_id, place in () if has_more_before else self._early.items():
            self._findings.add(place, "orphan_output", f"no call before it has the call_id {short(call_id)}")
        for call_id, place in () if has_more_within else self._places.items():
            is_answered = call_id in self._answered or call_id in self._early
            if self._kinds[call_id] in _CALLS and not is_answered:
                self._findings.add(place, "unanswered_call", f"no output has the call_id {short(call_id)}")


def _check_content(message: Fields, role: str) -> None:
    if not message.has("content"):
        message.add("content", "content_missing", f"is null in a message with the role {short(role)}")
    elif not isinstance(message.get("content"), str):
        allowed = _FROM_MODEL if role == "assistant" else _TO_MODEL | _OPAQUE
        _check_parts(message, "content", allowed, f"a message with the role {short(role)}")


def _check_parts(item: Fields, key: str, allowed: frozenset[str], where: str) -> None:
    if as_list(item.get(key)) is None:
        item.must_be(key, "a string or a list of parts")
        return
    for part in item.each_object(key):
        kind = part.text("type") if part else None
        if part is None or kind is None:
            continue
        if kind not in _FROM_MODEL | _TO_MODEL | _OPAQUE:
            part.add("type", "unknown_part", f"is {short(kind)}")
        elif kind not in allowed:
            part.add("type", "part_for_role", f"is {kind} in {where}")
        elif kind in _PART_CHECKS:
            _PART_CHECKS[kind](part)


def _check_image(part: Fields) -> None:
    part.optional_text("file_id")
    if part.has("image_url"):
        check_image_url(part, "image_url")
    elif not part.has("file_id"):
        part.add("", "image_source", "has neither image_url nor file_id")


def _check_file(part: Fields) -> None:
    if not part.has("file_id", "file_url", "file_data"):
        part.add("", "file_source", "has neither file_id nor file_url nor file_data")
    part.optional_text("file_id")
    part.optional_text("file_url")
    check_file_data(part)


_PART_CHECKS: dict[str, Callable[[Fields], object]] = {
    "input_text": lambda part: part.text("text"),
    "output_text": lambda part: part.text("text"),
    "refusal": lambda part: part.text("refusal"),
    "input_image": _check_image,
    "input_audio": check_audio,
    "input_file": _check_file,
}


def _check_tools(body: Fields) -> None:
    names, later = ToolNames(), ("additional_tools", "tool_search_output")
    for tool in body.each_object("tools") if body.has("tools") else ():
        kind = tool.text("type") if tool else None
        if tool is None or kind is None or kind == "namespace":  # a namespace names its tools within
            names.complete = False
        elif kind in ("function", "custom"):
            names.read(check_tool_name(tool, _WIRE, is_custom=kind == "custom"))
        if tool and kind == "function":
            check_parameters(tool)
    if body.has("prompt") or any(item.get("type") in later for item in objects_in(body.get("input"))):
        names.complete = False
    if body.get("tool_choice") == "required" and not body.get("tools") and names.complete:
        body.add("tool_choice", "tool_choice", "is required without tools")
    check_choice(body, names, _chosen)


def _chosen(choice: Fields) -> Fields | None:
    return choice if choice.text("type") in ("function", "custom") else None
