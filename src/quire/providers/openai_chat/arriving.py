"""Chat Completions: the calls of a stream as their pieces come, told apart by whatever the pieces say.

A piece names its call by an index, by an id or by both. Services that only speak the wire leave either out,
count every call as the first, give all calls one id or each piece an id of its own.
"""

from collections.abc import Sequence
from typing import Any

from quire.providers.json_values import fields_in, json_text
from quire.providers.openai_chat.blocks import fields
from quire.providers.openai_chat.states import signed_in
from quire.providers.pieces import is_placeholder, is_same, is_whole, joined
from quire.providers.provider import words_in
from quire.providers.sheet import Json

_CALLED = {"function": "arguments", "custom": "input"}
_PATH = "choices[0].delta.tool_calls[]"
_NO_ID = ("", "null")  # some services write out that there is none

_Place = int | str | None


class Calls:
    """The calls of one answer."""

    __slots__ = ("_all", "_ids", "_last", "_places")

    def __init__(self) -> None:
        self._all: list[Json] = []
        self._ids: dict[str, Json] = {}  # the latest that has an id
        self._places: dict[_Place, Json] = {}  # by the index that the pieces know them by, or by none
        self._last: Json | None = None  # the call that was spoken of last

    def take(self, pieces: Sequence[Json]) -> None:
        """Take the pieces of one list."""
        listed: list[Json] = []
        for piece in pieces:
            call = self._called(piece, listed)
            listed.append(call)
            self._last, known = call, call["id"]
            _grow(call, piece)
            if not known:
                self._ids[call["id"]] = call

    def named(self) -> list[Json]:
        """The calls that say what they are of, as a message has them."""
        return [call for call in self._all if call[call["type"]]["name"]]

    def has_unnamed(self) -> bool:
        """Whether nobody can tell what a call is of; a piece with nothing in it is none."""
        return any(
            call["id"] or inner[_CALLED[call["type"]]]
            for call in self._all
            if not (inner := call[call["type"]])["name"]
        )

    def _called(self, piece: Json, listed: list[Json]) -> Json:
        """The call that a piece is of, which may be a new one."""
        place, call_id = _place(piece), _id(piece)
        call = self._likeliest(place, call_id)
        if call is not None and call_id and call["id"] not in ("", call_id):
            call = self._with_other_id(call, piece, call_id)
        elif call is not None and _is_another(call, piece, listed):
            call = None
        if call is None:
            call = self._places[place] = _nothing_called()
            self._all.append(call)
        return call

    def _likeliest(self, place: _Place, call_id: str) -> Json | None:
        """The call at a place; where none is told, the one with an id, and else the one spoken of last."""
        if place is None:
            return self._with_id(call_id) or self._last
        # What began at no place began at the first.
        return self._places.get(place) or (self._places.get(None) if place == 0 else None)

    def _with_id(self, call_id: str) -> Json | None:
        return self._ids.get(call_id) if call_id else None

    def _with_other_id(self, call: Json, piece: Json, call_id: str) -> Json | None:
        """The call that a piece is of whose id is not that of the call at its place.

        Some services count every call as the first, so that another id is another call. Others make up an id
        for each piece; they name a call once, where it begins.
        """
        return None if _name(piece) else self._with_id(call_id) or call


def _is_another(call: Json, piece: Json, listed: list[Json]) -> bool:
    """Whether a piece that could be of a call begins another one: it is named, and the call is whole."""
    name, call_id, is_placed = _name(piece), _id(piece), _place(piece) is not None
    if not name:
        return False
    if listed and not is_placed and not call_id:
        return True  # nothing but its name tells of which call it is: of two in one list each is a call
    known, came, more = call["function"]["name"], call["function"]["arguments"], _arguments(piece)
    if not known or not is_whole(came):
        return False
    if name != known or not call_id or not call["id"]:
        return name != known or bool(more)
    if not is_whole(more):
        return False  # its name is said again
    is_beside = any(one is call for one in listed)
    if is_same(came, more):
        return is_beside and not is_placed
    # All calls may have one id: without a place, no call has two sorts of arguments.
    return is_beside or not (is_placed or is_placeholder(came))


def _grow(call: Json, piece: Json) -> None:
    call["id"] = call["id"] or words_in(piece.get("id"))
    call |= signed_in(fields_in(piece.get("function"))) | signed_in(piece)
    for kind, held in _CALLED.items():
        told = fields(piece.get(kind) or {}, f"{_PATH}.{kind}")
        call["type"] = kind if told else call["type"]
        name = words_in(told.get("name"))
        came, more = call[kind][held], _text(told.get(held), f"{_PATH}.{kind}.{held}")
        # A name comes whole or in pieces; some services say it again with each piece of the arguments.
        is_again = name == call[kind]["name"]
        call[kind]["name"] += "" if is_again else name
        if kind == "function" and name and is_again and is_whole(came) and is_whole(more):
            call[kind][held] = more  # the call is said again, and this is what it is now
        else:
            call[kind][held] = joined(came, more) if kind == "function" else came + more


def _nothing_called() -> Json:
    return {"type": "function", "id": "", **{kind: {"name": "", held: ""} for kind, held in _CALLED.items()}}


def _place(piece: Json) -> _Place:
    index = piece.get("index")
    return index if isinstance(index, int | str) else None


def _id(piece: Json) -> str:
    """The id by which a piece is told from those of other calls."""
    call_id = words_in(piece.get("id"))
    return "" if call_id in _NO_ID else call_id


def _name(piece: Json) -> str:
    told = [fields(piece.get(kind) or {}, f"{_PATH}.{kind}").get("name") for kind in _CALLED]
    return next((name for name in map(words_in, told) if name), "")


def _arguments(piece: Json) -> str:
    told = fields(piece.get("function") or {}, f"{_PATH}.function")
    return _text(told.get("arguments"), f"{_PATH}.function.arguments")


def _text(value: Any, path: str) -> str:
    """A piece of the arguments; some services give all of them at once, as a value."""
    return value if isinstance(value, str) else "" if value is None else json_text(value, path)
