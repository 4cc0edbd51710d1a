"""OpenAI Responses: items of input that no item of ours stands for, and that go back as they came."""

import re

from quire.providers.json_values import copied_fields
from quire.providers.names import Names
from quire.providers.sheet import Json

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def sendable(held: Json, ids: Names) -> Json | None:
    """An item that a client may send, if it is whole and has no id that another has."""
    item = copied_fields(held)
    match item:
        case {"type": "item_reference", "id": str()} | {
            "type": "mcp_approval_response",
            "approval_request_id": str(),
            "approve": bool(),
        }:
            return item if _is_new(item.get("id"), ids) else None
        case _:
            return None


def _is_new(item_id: object, ids: Names) -> bool:
    if item_id is None:
        return True
    good = isinstance(item_id, str) and _ID.fullmatch(item_id) is not None
    return good and ids.give(str(item_id)) == item_id
