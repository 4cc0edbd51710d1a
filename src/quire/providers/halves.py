"""Halves of surrogate pairs in answers: those that belong together are joined, a lone one is replaced.

JSON may hold half of a pair, where an answer was cut in a character; no store and no request can.
"""

from collections.abc import Sequence
from operator import is_
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from quire.errors import Damaged, InvalidValue
from quire.items import Item, freeze
from quire.providers.json_values import field_name
from quire.providers.wording import mended

I = TypeVar("I", bound=Item)  # noqa: E741


def without_halves(item: I) -> I:
    """An item whose texts can be written as UTF-8: the same one, where they can.

    What has fields that no JSON has is refused.
    """
    try:
        whole: I = _whole(item)
    except InvalidValue as fault:
        raise Damaged(f"it cannot be kept: {fault}", "$") from None
    return whole


class Words:
    """Words that come in pieces: half of a pair at the end of one waits for the next."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def heard(self, piece: str) -> str:
        """What can be said now; of a half that nothing follows nobody hears."""
        if piece.isascii() and not (piece and self._half):
            return piece
        text, self._half = self._half + piece, ""
        if _is_first_half(text[-1]):
            text, self._half = text[:-1], text[-1]
        return mended(text)


def _is_first_half(letter: str) -> bool:
    return "\ud800" <= letter <= "\udbff"


def _whole(value: Any) -> Any:
    """A value whose texts are mended: the same one, where there was nothing to mend."""
    if isinstance(value, str):
        return mended(value)
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        whole = {name: _whole(inner) for name, inner in fields.items()}
        changed = {name: inner for name, inner in whole.items() if inner is not fields[name]}
        return replace(value, **changed) if changed else value
    if isinstance(value, dict):
        return _whole_dict(cast("dict[str, Any]", value))
    return _whole_list(cast("Any", value)) if isinstance(value, tuple | list) else value


def _whole_dict(value: dict[str, Any]) -> dict[str, Any]:
    whole = {field_name(key): _whole(inner) for key, inner in value.items()}
    is_same = _are_same([*value, *value.values()], [*whole, *whole.values()])
    return value if is_same else cast("dict[str, Any]", freeze(whole))


def _whole_list(value: Sequence[Any]) -> Sequence[Any]:
    whole = [*map(_whole, value)]
    if _are_same(value, whole):
        return value
    return cast("Sequence[Any]", freeze(whole)) if isinstance(value, list) else tuple(whole)


def _are_same(before: Sequence[Any], after: Sequence[Any]) -> bool:
    return len(before) == len(after) and all(map(is_, before, after))
