"""The structs inside items: what of them this version knows, and how their bytes are spelled."""

from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import msgspec

from quire.items.edits import Span
from quire.items.kinds import Address, Note, Opaque, Wording
from quire.items.parts import Audio, File, Image
from quire.items.union import Known

PARTS: dict[str, type[msgspec.Struct]] = {"image": Image, "audio": Audio, "file": File}
NESTED: dict[str, type[msgspec.Struct]] = {
    "state": Opaque,
    "address": Address,
    "wording": Wording,
    "spans": Span,
}


def pruned(kind: type[Known], name: str, value: Any) -> Any:
    """A field without what this version does not know inside it; a part it does not know is a short text."""
    if name == "content" and kind is not Note and isinstance(value, list):
        return [_pruned_part(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    struct = NESTED.get(name)
    if struct is None:
        return value
    if isinstance(value, list):
        return [_pruned_struct(struct, inner) for inner in value]  # pyright: ignore
    return _pruned_struct(struct, value)


def _pruned_part(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    name = str(part.get("part"))  # pyright: ignore
    return _pruned_struct(PARTS[name], part) if name in PARTS else f"[{name}]"


def _pruned_struct(kind: type[msgspec.Struct], value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ours = {*kind.__struct_fields__, "part"}
    return {name: inner for name, inner in value.items() if name in ours}  # pyright: ignore


def with_plain_data(content: Any) -> Any:
    """The parts of a content with their bytes as bytes, whichever format they were read from."""
    return _with_data(content, str, _plain)


def with_spelled_data(content: Any) -> Any:
    """The same parts with their bytes spelled as JSON spells them."""
    return _with_data(content, bytes, _spelled)


def _with_data(content: Any, kind: type, turned: Callable[[Any], Any]) -> Any:
    if not isinstance(content, list):
        return content
    return [
        {**part, "data": turned(part["data"])}
        if _is_known_part(part) and isinstance(part.get("data"), kind)  # pyright: ignore
        else part
        for part in content  # pyright: ignore
    ]


def _plain(text: str) -> bytes | str:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        return text


def _spelled(data: bytes) -> str:
    return b64encode(data).decode()


def _is_known_part(part: Any) -> bool:
    return isinstance(part, dict) and str(part.get("part")) in PARTS  # pyright: ignore
