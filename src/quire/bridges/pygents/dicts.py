"""Items, queues and pools as plain values, and back. What cannot be written or read is named by its place."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from quire.errors import Damaged
from quire.items import freeze, thaw, to_json


def written_fields(key: Any, description: Any, content: Any, path: str) -> dict[str, Any]:
    """The fields of an item, fit for JSON."""
    return {
        "id": to_json(key, f"{path}.id"),
        "description": to_json(description, f"{path}.description"),
        "content": to_json(freeze(content), f"{path}.content"),
    }


def read_fields(data: object, path: str) -> dict[str, Any]:
    """The fields of an item, from what was written."""
    fields = read_mapping(data, path)
    if "content" not in fields:
        raise Damaged("an item has a content", f"{path}.content")
    for name in ("id", "description"):
        if not isinstance(fields.get(name), str | None):
            raise Damaged(f"the {name} of an item is a text", f"{path}.{name}")
    content = thaw(freeze(fields["content"]))
    return {"content": content, "description": fields.get("description"), "id": fields.get("id")}


def read_limit(data: object) -> Any:
    """The limit of what was written; whether it can be kept is for its owner to say."""
    fields = read_mapping(data, "$")
    if "limit" not in fields:
        raise Damaged("the limit is not there", "$.limit")
    return fields["limit"]


def read_items(data: object) -> list[dict[str, Any]]:
    """The fields of every item of a queue or a pool."""
    found = read_list(read_mapping(data, "$").get("items"), "$.items")
    return [read_fields(fields, f"$.items[{index}]") for index, fields in enumerate(found)]


def read_hook_names(data: object) -> list[list[str]]:
    """The names of hooks, a list for each type."""
    by_type = read_mapping(read_mapping(data, "$").get("hooks") or {}, "$.hooks")
    lists = [read_list(names, "$.hooks") for names in by_type.values()]
    if not all(isinstance(name, str) for names in lists for name in names):
        raise Damaged("hooks are written by their names", "$.hooks")
    return cast(list[list[str]], lists)


def read_mapping(data: object, path: str) -> Mapping[str, Any]:
    """A dictionary, or an error that says where one was expected."""
    if not isinstance(data, Mapping):
        raise Damaged(f"expected a dictionary, got {type(data).__name__}", path)
    return cast(Mapping[str, Any], data)


def read_list(data: object, path: str) -> list[object]:
    """A list, or an error that says where one was expected."""
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        raise Damaged(f"expected a list, got {type(data).__name__}", path)
    return list(cast(Sequence[object], data))
