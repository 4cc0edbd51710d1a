"""Items to bytes and back, exactly: what goes in comes out, for every kind, also what a newer version made.

There are two formats with one contract: `JSON` (an array of items and nothing else) and `MSGPACK`. Both take the native
path of msgspec for whole batches and look closer only at items that have free values.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from quire.errors import Damaged, QuireError, Unencodable
from quire.items.frozen import NOTHING
from quire.items.kinds import Note
from quire.items.newer import KEPT, put_back, read_leniently, write_unknown
from quire.items.portable import portable, restored, with_tagged_bytes
from quire.items.union import Item, Known
from quire.items.unknown import Unknown

_extras_of = attrgetter("extras")
Struct = TypeVar("Struct", bound=msgspec.Struct)


class Codec:
    """One format. `tag_bytes` says whether free bytes need a tag, because the format has none of its own."""

    def __init__(self, library: Any, *, tag_bytes: bool) -> None:
        self._encode: Callable[[Any], bytes] = library.Encoder().encode
        self._decode_all: Callable[[bytes], list[Item]] = library.Decoder(list[Known]).decode
        self._decode_one: Callable[[bytes], Item] = library.Decoder(Known).decode
        self._decode_raw: Callable[[bytes], Any] = library.Decoder().decode
        self._tag_bytes = tag_bytes

    def encode(self, items: Sequence[Item]) -> bytes:
        """Items as one array."""
        batch: Sequence[Any] = items
        if _some_have_free_values(items):
            batch = [
                self._fields(item, f"$[{index}]") if _has_free_values(item) else item
                for index, item in enumerate(items)
            ]
        return self._write(batch, items)

    def encode_item(self, item: Item) -> bytes:
        """One item."""
        return self._write(self._fields(item, "$") if _has_free_values(item) else item, [item])

    def decode(self, data: bytes) -> list[Item]:
        """The items of one array."""
        try:
            items = self._decode_all(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            return self._decode_slowly(data, fault)
        if _some_have_free_values(items):
            return [
                self._restore(item, f"$[{index}]") if _has_free_values(item) else item
                for index, item in enumerate(items)
            ]
        return items

    def decode_item(self, data: bytes) -> Item:
        """One item."""
        try:
            item = self._decode_one(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            return self._read_raw(self._raw(data), "$", str(fault))
        return self._restore(item, "$") if _has_free_values(item) else item

    def _write(self, value: Any, items: Sequence[Item]) -> bytes:
        try:
            return self._encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError):
            # Only typed texts can still be at fault: find the one.
            for index, item in enumerate(items):
                self._fields(item, f"$[{index}]" if items is value or len(items) > 1 else "$")
            raise

    def _fields(self, item: Item, path: str) -> dict[str, Any]:
        if isinstance(item, Unknown):
            fields = write_unknown(item)
            return with_tagged_bytes(fields) if self._tag_bytes else fields
        free = _free_names(item)
        typed = msgspec.structs.replace(
            item, **{name: None for name in free if name != "extras"}, extras=NOTHING
        )
        try:
            written = self._decode_raw(self._encode(typed))
        except UnicodeEncodeError:
            _blame_text(item, path)
            raise
        for name in free:
            written[name] = portable(getattr(item, name), f"{path}.{name}", self._tag_bytes)
        return put_back(item, written) if KEPT in item.extras else written

    def _restore(self, item: Item, path: str) -> Item:
        if not self._tag_bytes or isinstance(item, Unknown):
            return item
        found = {name: restored(getattr(item, name), f"{path}.{name}") for name in _free_names(item)}
        changed = {name: value for name, value in found.items() if value != getattr(item, name)}
        return msgspec.structs.replace(item, **changed) if changed else item

    def _decode_slowly(self, data: bytes, fault: Exception) -> list[Item]:
        raws = self._raw(data)
        if not isinstance(raws, list):
            raise Damaged("expected an array of items", "$")
        return [self._read_raw(raw, f"$[{index}]", str(fault)) for index, raw in enumerate(raws)]  # pyright: ignore

    def _raw(self, data: bytes) -> Any:
        try:
            return self._decode_raw(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as fault:
            raise Damaged(str(fault), "$") from None
        except RecursionError:
            raise Damaged("nested too deep", "$") from None

    def _read_raw(self, raw: Any, path: str, _fault: str) -> Item:
        if not isinstance(raw, dict):
            raise Damaged(f"expected an item, got {type(raw).__name__}", path)
        try:
            item: Item = msgspec.convert(raw, Known)
        except (msgspec.ValidationError, QuireError) as fault:
            item = read_leniently(raw, path, str(fault))  # pyright: ignore[reportUnknownArgumentType]
        return self._restore(item, path) if _has_free_values(item) else item


def _some_have_free_values(items: Sequence[Item]) -> bool:
    # Two passes that stay in C: asking each item in turn would cost a tenth of the encoding.
    kinds = set(map(type, items))
    return Note in kinds or Unknown in kinds or list(map(_extras_of, items)).count(NOTHING) != len(items)


def _has_free_values(item: Item) -> bool:
    return item.extras is not NOTHING or type(item) is Note or type(item) is Unknown


def _free_names(item: Item) -> tuple[str, ...]:
    names: tuple[str, ...] = ("extras",) if item.extras is not NOTHING else ()
    return (*names, "content") if isinstance(item, Note) else names


def _blame_text(item: msgspec.Struct, path: str) -> None:
    for name in item.__struct_fields__:
        try:
            msgspec.json.encode(getattr(item, name))
        except UnicodeEncodeError:
            raise Unencodable("the text holds half of a surrogate pair", f"{path}.{name}") from None
        except TypeError:
            continue  # a free value, written elsewhere


JSON = Codec(msgspec.json, tag_bytes=True)
MSGPACK = Codec(msgspec.msgpack, tag_bytes=False)


def to_builtins(value: Any) -> Any:
    """An item or a part as plain JSON values."""
    if type(value).__struct_config__.tag_field == "kind":
        return msgspec.json.decode(JSON.encode_item(value))
    return msgspec.to_builtins(value)


def from_builtins(raw: dict[str, Any], kind: type[Struct]) -> Struct:
    """The item or part that these plain JSON values describe."""
    if kind.__struct_config__.tag_field != "kind":
        return msgspec.convert(raw, kind)
    item = JSON.decode_item(msgspec.json.encode(raw))
    if not isinstance(item, kind):
        raise Damaged(f"expected {kind.__name__}, got {type(item).__name__}")
    return item
