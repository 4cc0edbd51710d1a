"""Items to bytes and back, exactly: what goes in comes out, for every kind, also what a newer version made.

There are two formats with one contract: `JSON` (an array of items and nothing else) and `MSGPACK`. Both take
the native path of msgspec for whole batches and look closer only at items that have free values.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from quire.errors import Damaged, InvalidValue, QuireError, Unencodable, WrongType, cut
from quire.items.frozen import NOTHING
from quire.items.kinds import Note
from quire.items.newer import (
    KEPT,
    damaged,
    put_back,
    read_leniently,
    write_unknown,
)
from quire.items.portable import is_plain, portable, restored, verbatim
from quire.items.settle import HALF_A_PAIR
from quire.items.union import KINDS, Item, Known
from quire.items.unknown import Unknown

_CANNOT_WRITE = (TypeError, ValueError, OverflowError, RecursionError)
_UNWRITABLE = "a value that the format cannot say"
_extras_of = attrgetter("extras")


_WITHOUT_FREE_VALUES = KINDS - {Note, Unknown}


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
        items = _as_list(items)
        _check_kinds(items)
        batch: Sequence[Any] = items
        if _some_have_free_values(items):
            batch = [
                item if _is_native(item) else self._fields(item, f"$[{index}]")
                for index, item in enumerate(items)
            ]
        try:
            return self._encode(batch)
        except _CANNOT_WRITE:
            for index, item in enumerate(items):
                self._fields(item, f"$[{index}]")  # only typed values can still be at fault: find the one
            raise Unencodable(_UNWRITABLE, "$") from None

    def encode_item(self, item: Item) -> bytes:
        """One item."""
        if type(item) in _WITHOUT_FREE_VALUES and item.extras is NOTHING:  # what nearly all are
            try:
                return self._encode(item)
            except _CANNOT_WRITE:
                pass  # below it is said what of it cannot be written
        _check_kinds([item])
        try:
            return self._encode(item if _is_native(item) else self._fields(item, "$"))
        except _CANNOT_WRITE:
            self._fields(item, "$")
            raise Unencodable(_UNWRITABLE, "$") from None

    def decode(self, data: bytes) -> list[Item]:
        """The items of one array."""
        self._check_data(data)
        try:
            items = self._decode_all(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return self._decode_slowly(data)
        if _some_have_free_values(items):
            return [
                item if _is_native(item) else _writable(self._accept(item, f"$[{index}]"), f"$[{index}]")
                for index, item in enumerate(items)
            ]
        return items

    def decode_item(self, data: bytes) -> Item:
        """One item."""
        self._check_data(data)
        try:
            item = self._decode_one(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return _writable(self.read(self._raw(data)), "$")
        return item if _is_native(item) else _writable(self._accept(item, "$"), "$")

    def read(self, raw: Any) -> Item:
        """One item that was read from this format already, as plain values; free values are as they are."""
        return self._read_raw(raw, "$")

    def _check_data(self, data: Any) -> None:
        # A format that has no bytes of its own is text, and may be given as such.
        if not isinstance(data, bytes | bytearray | memoryview) and not (
            self._tag_bytes and isinstance(data, str)
        ):
            raise WrongType(f"a codec reads bytes, not {type(data).__name__}")

    def _fields(self, item: Item, path: str) -> dict[str, Any]:
        if isinstance(item, Unknown):
            return write_unknown(item, path, self._tag_bytes)
        free = _free_values(item)
        typed = msgspec.structs.replace(
            item, **{name: None for name in free if name != "extras"}, extras=NOTHING
        )
        try:
            written: dict[str, Any] = self._decode_raw(self._encode(typed))
        except _CANNOT_WRITE:
            _blame_text(typed, path)
            raise Unencodable(_UNWRITABLE, path) from None
        for name, value in free.items():
            written[name] = portable(value, f"{path}.{name}", self._tag_bytes)
        if KEPT in item.extras:
            put_back(item, written, path, self._tag_bytes)
        return written

    def _accept(self, item: Item, path: str) -> Item:
        if KEPT in item.extras:
            raise Damaged("this key is reserved", f"{path}.extras.{KEPT}")
        return self._restore(item, path)

    def _restore(self, item: Item, path: str) -> Item:
        if not self._tag_bytes:
            return item
        try:
            free = _free_values(item).items()
            changed = {name: restored(value, f"{path}.{name}") for name, value in free}
            if all(value == getattr(item, name) for name, value in changed.items()):
                return item
            return msgspec.structs.replace(item, **changed)
        except (WrongType, InvalidValue) as fault:
            raise Damaged(str(fault), path) from None
        except RecursionError:
            raise Damaged("nested too deep", path) from None

    def _decode_slowly(self, data: bytes) -> list[Item]:
        raws = self._raw(data)
        if not isinstance(raws, list):
            raise Damaged("expected an array of items", "$")
        row: list[Any] = raws  # pyright: ignore[reportUnknownVariableType]
        places = ((f"$[{index}]", raw) for index, raw in enumerate(row))
        return [_writable(self._read_raw(raw, path), path) for path, raw in places]

    def _raw(self, data: bytes) -> Any:
        try:
            return self._decode_raw(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as fault:
            raise damaged(str(fault), "$") from None
        except UnicodeEncodeError:  # it would quote the text
            raise Damaged(f"the text {HALF_A_PAIR}", "$") from None
        except RecursionError:
            raise Damaged("nested too deep", "$") from None

    def _read_raw(self, raw: Any, path: str) -> Item:
        if not isinstance(raw, dict):
            raise Damaged(f"expected an item, got {type(raw).__name__}", path)
        if not all(isinstance(name, str) for name in raw):  # pyright: ignore[reportUnknownVariableType]
            raise Damaged("a field whose name is no text", path)
        try:
            item: Item = msgspec.convert(raw, Known)
        except (msgspec.ValidationError, QuireError) as fault:
            return self._read_closer(raw, path, str(fault))  # pyright: ignore
        except UnicodeEncodeError:  # it would quote the text
            raise Damaged(f"a text {HALF_A_PAIR}", path) from None
        return item if _is_native(item) else self._accept(item, path)

    def _read_closer(self, raw: dict[str, Any], path: str, fault: str) -> Item:
        try:
            return read_leniently(raw, path, fault, self._tag_bytes)
        except RecursionError:
            raise Damaged("nested too deep", path) from None


def _some_have_free_values(items: Sequence[Item]) -> bool:
    # Two passes that stay in C: asking each item in turn would cost a tenth of the encoding.
    kinds = set(map(type, items))
    return Note in kinds or Unknown in kinds or any(map(_extras_of, items))


def _as_list(items: Sequence[Item]) -> list[Item]:
    try:
        return items if isinstance(items, list) else list(items)
    except TypeError:
        raise WrongType(f"a codec writes a sequence of items, not {type(items).__name__}") from None


def _check_kinds(items: Sequence[Item]) -> None:
    for kind in set(map(type, items)) - KINDS:
        raise WrongType(f"a codec writes items, not {kind.__name__}")


def _is_native(item: Item) -> bool:
    """Whether msgspec writes and reads an item exactly, because its free values need no care."""
    if item.extras is not NOTHING and (KEPT in item.extras or not _is_plain(item.extras)):
        return False
    return not (type(item) is Unknown or (isinstance(item, Note) and not _is_plain(item.content)))


def _is_plain(value: Any) -> bool:
    try:
        return is_plain(value)
    except RecursionError:
        return False


def _free_values(item: Item) -> dict[str, Any]:
    # What a newer version wrote is kept as it was read, so it is none of them.
    extras = {key: value for key, value in item.extras.items() if key != KEPT}
    free: dict[str, Any] = {"extras": extras} if extras else {}
    return {**free, "content": item.content} if isinstance(item, Note) else free


def _writable(item: Item, path: str) -> Item:
    """The item, if it can be written again, in any format: MSGPACK says more than that."""
    try:
        if isinstance(item, Unknown):
            verbatim(item.fields, path, False)
            return item
        for name, value in _free_values(item).items():
            portable(value, f"{path}.{name}", False)
        for fields in item.extras.get(KEPT, {}).values():
            for name, value in fields.items():
                verbatim(value, f"{path}.{cut(name)}", False)
    except Unencodable as fault:
        raise Damaged(str(fault.args[0]), fault.path) from None
    return item


def _blame_text(value: Any, path: str) -> None:
    if isinstance(value, str):
        portable(value, path, False)
    elif isinstance(value, tuple):
        for index, inner in enumerate(value):  # pyright: ignore
            _blame_text(inner, f"{path}[{index}]")
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            _blame_text(getattr(value, name), f"{path}.{name}")


JSON = Codec(msgspec.json, tag_bytes=True)
MSGPACK = Codec(msgspec.msgpack, tag_bytes=False)
