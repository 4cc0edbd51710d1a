"""The checks of OpenAI's Responses: `responses.create` arguments, or a list of input items."""

from typing import Any

from quire.providers import rules
from quire.providers.check.core import Fields, Pairing, check_texts, short
from quire.providers.check.openai_chat import check_function, check_image_url

_ROLES = ("user", "assistant", "system", "developer")
_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_OF_THE_CLIENT = ("mcp_approval_response", "additional_tools", "compaction_trigger")
_PAIRING = ("unanswered_call", "orphan_output", "orphan_output", "duplicate_output")
_HISTORIES = ("previous_response_id", "conversation")
_KINDS, _ITEM_ID = rules.NAMES["item type"].accepted, rules.NAMES["item"].accepted

Items = list[tuple[Fields, str]]


def check_request(body: Fields, _model: str) -> None:
    """Find what the Responses refuse or misread in a request."""
    body.check("request")
    if body.has("messages"):
        body.add("messages", "chat_field", "is called input here")
    if body.get("input") in (None, "", []):
        if not body.has(*_HISTORIES, "prompt", "messages"):
            body.add("input", "empty_input", "is empty, and there is nothing to continue")
    elif not isinstance(body.get("input"), str):
        _check_items(body)
    for tool in body.inners("tools"):
        tool.check(f"defined {tool.get('type')}")
        if tool.get("type") == "function":
            check_function(tool)
    check_texts(body)


def _check_items(body: Fields) -> None:
    items: Items = []
    for item in body.objects("input"):
        is_message = item.get("type") is None and item.has("role")
        kind = "message" if is_message else item.text("type")
        if kind is not None:
            _check_item(item, kind, is_stored=body.get("store") is not False)
            items.append((item, kind))
    _check_ids(items)
    _check_reasoning(items)
    if not body.findings.any_of(("shape", "unknown_item")):
        _check_pairs(body, items)


def _check_item(item: Fields, kind: str, *, is_stored: bool) -> None:
    item.check("item")
    item.check(kind)
    if not _KINDS.fullmatch(kind):
        item.add("type", "unknown_item", f"is {short(kind)}")
    elif kind == "message":
        _check_message(item)
    elif kind in _OUTPUTS:
        _check_parts(item, "output", "output")
    elif kind == "reasoning" and item.has("id") and not item.get("encrypted_content") and not is_stored:
        item.add("encrypted_content", "reasoning_unstored")


def _check_message(message: Fields) -> None:
    for key in ("tool_calls", "tool_call_id"):
        if message.has(key):
            message.add(key, "chat_field", "is a field of the Chat Completions")
    role = message.get("role")
    if role not in _ROLES:
        return
    if message.has("content"):
        _check_parts(message, "content", role)
    elif not message.has("tool_calls"):
        message.add("content", "content_missing", f"is null in a message with the role {short(role)}")


def _check_parts(item: Fields, key: str, place: str) -> None:
    for part in item.parts(key, place):
        if part.kind == "input_image":
            check_image_url(part, "image_url")


def _check_ids(items: Items) -> None:
    seen: dict[str, str] = {}
    for item, kind in items:
        item_id = item.get("id")
        if not isinstance(item_id, str) or not _ITEM_ID.fullmatch(item_id):
            continue
        # A message without a type has an id of the caller.
        prefix = rules.OPENAI_ITEM_PREFIXES.accepted.get(kind, "") if item.has("type") else ""
        if not item_id.startswith(prefix):
            item.add("id", "item_id_prefix", f"{short(item_id)} is the id of an item of type {kind}")
        elif item_id in seen:
            item.add("id", "duplicate_item_id", f"{short(item_id)} is also the id at {seen[item_id]}")
        else:
            seen[item_id] = item.at("id")


def _check_reasoning(items: Items) -> None:
    """Check that the item to which reasoning led follows it."""
    waiting: Fields | None = None
    for item, kind in items:
        if kind == "reasoning":
            waiting = item if item.has("id") else waiting
            continue
        is_asked = kind == "message" and item.get("role") != "assistant"
        if waiting and (is_asked or kind.endswith("_output") or kind in _OF_THE_CLIENT):
            waiting.add("", "reasoning_alone")
        waiting = None
    if waiting:
        waiting.add("", "reasoning_alone")


def _check_pairs(body: Fields, items: Items) -> None:
    """Pair calls and outputs by call_id; an output comes anywhere after its call."""
    pairing, called = Pairing(body.findings, *_PAIRING), dict[Any, str]()
    for item, kind in items:
        call_id, place = item.get("call_id"), item.at("call_id")
        if kind in _CALLS and (other := pairing.call(call_id, place)):
            item.add("call_id", "duplicate_call_id", f"{short(call_id)} is also the call_id at {other}")
        if kind.endswith("_call") and isinstance(call_id, str):
            called[call_id] = kind
        if kind not in _OUTPUTS:
            continue
        wanted, answered = kind.removesuffix("_output"), called.get(call_id, "")
        if answered in _CALLS and answered != wanted:
            item.add("call_id", "output_kind", f"the call {short(call_id)} is a {answered}")
        if answered in ("", *_CALLS):  # tools of the API have calls and outputs of their own kinds
            pairing.result(call_id, place)
    kinds, unseen = {kind for _, kind in items}, set[str]()
    if body.has(*_HISTORIES) or not kinds.isdisjoint(("item_reference", "compaction")):
        unseen.add("orphan_output")
    if "item_reference" in kinds:
        unseen.add("unanswered_call")
    pairing.end_round()
    pairing.end(without=unseen)
