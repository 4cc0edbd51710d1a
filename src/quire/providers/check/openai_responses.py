"""The checks of OpenAI's Responses: `responses.create` arguments, or a list of input items."""

from typing import Any

from quire.providers import rules
from quire.providers.check.core import Fields, PairCheck, check_texts, short
from quire.providers.check.openai_chat import check_function, check_image_url

_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_CLIENT_ITEMS = ("mcp_approval_response", "additional_tools", "compaction_trigger")
_HISTORY_FIELDS = ("previous_response_id", "conversation")
_KINDS, _ITEM_ID = rules.NAMES["item type"].accepted, rules.NAMES["item"].accepted

Items = list[tuple[Fields, str]]


def check_request(body: Fields, _model: str) -> None:
    """Find what the Responses API refuses or misreads in a request."""
    body.check("request")
    if body.has("messages"):
        body.add("messages", "chat_field", "is called input here")
    if body.get("input") in (None, "", []):
        if not body.has(*_HISTORY_FIELDS, "prompt", "messages"):
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
    if not body.findings.has_any(("shape", "unknown_item")):
        _check_pairs(body, items)


def _check_item(item: Fields, kind: str, *, is_stored: bool) -> None:
    item.check("item")
    item.check(kind)
    if not _KINDS.fullmatch(kind):
        item.add("type", "unknown_item", f"is {short(kind)}")
    elif kind == "reasoning" and item.has("id") and not item.get("encrypted_content") and not is_stored:
        item.add("encrypted_content", "reasoning_unstored")


def _check_ids(items: Items) -> None:
    place_by_id: dict[str, str] = {}
    for item, kind in items:
        item_id = item.get("id")
        if not isinstance(item_id, str) or not _ITEM_ID.fullmatch(item_id):
            continue
        # The id of a message without a type may be the caller's.
        prefix = rules.OPENAI_ITEM_PREFIXES.get(kind, "") if item.has("type") else ""
        if not item_id.startswith(prefix):
            item.add("id", "item_id_prefix", f"{short(item_id)} is the id of an item of type {kind}")
        elif item_id in place_by_id:
            item.add("id", "duplicate_item_id", f"{short(item_id)} is also the id at {place_by_id[item_id]}")
        else:
            place_by_id[item_id] = item.at("id")


def _check_reasoning(items: Items) -> None:
    """Check that reasoning is followed by an item of the model."""
    reasoning: Fields | None = None  # the last reasoning with an id, if nothing followed it yet
    for item, kind in items:
        if kind == "reasoning":
            reasoning = item if item.has("id") else reasoning
            continue
        is_input = kind == "message" and item.get("role") != "assistant"
        if reasoning and (is_input or kind.endswith("_output") or kind in _CLIENT_ITEMS):
            reasoning.add("", "reasoning_alone")
        reasoning = None
    if reasoning:
        reasoning.add("", "reasoning_alone")


def _check_pairs(body: Fields, items: Items) -> None:
    """Pair calls and outputs by call_id; an output may be anywhere after its call."""
    pairing, kind_by_call, kinds = PairCheck(body.findings), dict[Any, str](), {kind for _, kind in items}
    # The call may be in a history that the service holds, and that this request continues.
    is_continued = body.has(*_HISTORY_FIELDS) or not kinds.isdisjoint(("item_reference", "compaction"))
    for item, kind in items:
        call_id = item.get("call_id")
        if kind in _CALLS:
            pairing.call(item, "call_id")
        if kind.endswith("_call") and isinstance(call_id, str):
            kind_by_call[call_id] = kind
        elif kind in _OUTPUTS:
            call_kind = kind_by_call.get(call_id, "")
            if call_kind in _CALLS and kind != f"{call_kind}_output":
                item.add("call_id", "output_kind", f"the call {short(call_id)} is a {call_kind}")
            # Outputs of the API's own tools are not paired.
            if call_kind in _CALLS or not (call_kind or is_continued):
                pairing.result(item, "call_id")
    if "item_reference" not in kinds:
        pairing.end()
