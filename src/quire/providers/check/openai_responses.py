"""The checks of OpenAI's Responses: `responses.create` arguments, or a list of input items."""

from typing import Any

from quire.providers import rules
from quire.providers.check.core import Fields, PairCheck, check_texts, short
from quire.providers.check.openai_chat import check_function, check_image_url

_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_OF_THE_CLIENT = ("mcp_approval_response", "additional_tools", "compaction_trigger")
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
    for tool in body.children("tools"):
        tool.check(f"defined {tool.get('type')}")
        if tool.get("type") == "function":
            check_function(tool)
    for part in body.findings.parts:
        if part.kind == "input_image":
            check_image_url(part, "image_url")
    check_texts(body)


def _check_items(body: Fields) -> None:
    items: Items = []
    if not isinstance(body.get("input"), list):
        body.must_be("input", "a string or a list of items")
    for item in body.children("input"):
        is_message = item.get("type") is None and item.has("role")
        kind = "message" if is_message else item.get("type")
        if isinstance(kind, str):
            _check_item(item, kind, is_stored=body.get("store") is not False)
            items.append((item, kind))
        else:
            item.must_be("type", "a string")
    _check_ids(items)
    _check_reasoning(items)
    if not body.findings.any_of(("shape", "unknown_item")):
        _check_pairs(body, items)


def _check_item(item: Fields, kind: str, *, is_stored: bool) -> None:
    item.check("item")
    item.check(kind)
    if not _KINDS.fullmatch(kind):
        item.add("type", "unknown_item", f"is {short(kind)}")
    elif kind == "reasoning" and item.has("id") and not item.get("encrypted_content") and not is_stored:
        item.add("encrypted_content", "reasoning_unstored")


def _check_ids(items: Items) -> None:
    seen: dict[str, str] = {}
    for item, kind in items:
        item_id = item.get("id")
        if not isinstance(item_id, str) or not _ITEM_ID.fullmatch(item_id):
            continue
        # A message without a type has an id of the caller.
        prefix = rules.OPENAI_ITEM_PREFIXES.get(kind, "") if item.has("type") else ""
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
    pairing, called, kinds = PairCheck(body.findings), dict[Any, str](), {kind for _, kind in items}
    # The call may be in a history that is not seen here.
    is_continued = body.has(*_HISTORIES) or not kinds.isdisjoint(("item_reference", "compaction"))
    for item, kind in items:
        call_id = item.get("call_id")
        if kind in _CALLS:
            pairing.call(item, "call_id")
        if kind.endswith("_call") and isinstance(call_id, str):
            called[call_id] = kind
        elif kind in _OUTPUTS:
            call = called.get(call_id, "")
            if call in _CALLS and kind != f"{call}_output":
                item.add("call_id", "output_kind", f"the call {short(call_id)} is a {call}")
            if call in _CALLS or not (call or is_continued):  # the API's own tools have outputs of their own
                pairing.result(item, "call_id")
    if "item_reference" not in kinds:
        pairing.end()
