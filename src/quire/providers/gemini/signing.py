"""Gemini: thought signatures, as items keep them.

A signature goes back on the part that it came with. An item of one part keeps it as `signature`; a message of
several keeps `signatures`, one for each part or none. Where a text of ours was several parts of the wire,
`pieces` has for each of our parts the lengths and the signatures of those. What the provider's own tools left
in an answer is kept as `part`, and goes back as it came or not at all.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from quire.items import Opaque, Part
from quire.providers.gemini.blocks import PLACEHOLDER as PLACEHOLDER, field, goes_back, kept
from quire.providers.gemini.speech import Speech
from quire.providers.json_values import entries_in, json_text
from quire.providers.routes import cloud_of
from quire.providers.sheet import Json
from quire.tokens import facts_for

NAME = "gemini"

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{2,}={0,2}")

Signatures = Sequence[str | None]


def wants_calls_signed(model: str) -> bool:
    """Whether a model refuses a call that is not signed."""
    return "thought_signatures" in facts_for(model).features


def wants_words_signed(model: str) -> bool:
    """Whether a model refuses what it is said to have said or drawn before, if that is not signed.

    Those do that draw, from Gemini 3 on: the first part of what was said, and each image. Vertex AI does not
    look.
    """
    return "image" in model.lower() and wants_calls_signed(model) and cloud_of(model) != "vertex"


def sealed(signatures: Signatures, model: str | None, prefix: str | None) -> Opaque | None:
    """The state of an item, with the signatures of its parts in order; none where no part has one."""
    if not any(signatures):
        return None
    held = {"signature": signatures[0]} if len(signatures) == 1 else {"signatures": list(signatures)}
    return Opaque(NAME, model or "", json_text(held, "thoughtSignature"), prefix)


def spoken(speech: Speech, model: str | None, prefix: str | None) -> Opaque | None:
    """The state of what was said, none where no part of it is signed."""
    pieces = speech.pieces
    if all(len(of_part) == 1 for of_part in pieces):
        return sealed([of_part[0].signature for of_part in pieces], model, prefix)
    if not any(piece.signature for of_part in pieces for piece in of_part):
        return None
    return Opaque(NAME, model or "", json_text({"pieces": pieces}, "thoughtSignature"), prefix)


def signed_parts(state: Opaque, parts: Sequence[Part]) -> tuple[list[tuple[Part, str | None]], bool]:
    """Parts as they came, each with its signature, and whether a signature has no part to go on."""
    found: list[tuple[Part, str | None]] = []
    given = _pieces(_held(state))
    lost = any(signature for of_part in given[len(parts) :] for _, signature in of_part)
    for place, part in enumerate(parts):
        pieces = given[place] if place < len(given) else [(0, None)]
        cut = _cut(part, pieces)
        lost = lost or (cut is None and any(signature for _, signature in pieces))
        found += [(part, None)] if cut is None else cut
    good = [(part, signature if is_signature(signature) else None) for part, signature in found]
    return good, lost or any(one[1] != other[1] for one, other in zip(good, found, strict=True))


def thought_sign(signature: str, model: str | None, prefix: str | None) -> Opaque:
    """The state of a thought without words: what is no thought may be signed on no words too."""
    data = json_text({"signature": signature, "thought": True}, "thoughtSignature")
    return Opaque(NAME, model or "", data, prefix)


def is_of_thought(state: Opaque | None) -> bool:
    """Whether a signature on no words came on a thought."""
    return state is not None and _held(state).get("thought") is True


def _cut(part: Part, pieces: list[tuple[int, Any]]) -> list[tuple[Part, Any]] | None:
    """A part of ours as the pieces it came in; none if it is not what these were of."""
    if len(pieces) == 1:
        return [(part, pieces[0][1])]
    if not isinstance(part, str) or sum(length for length, _ in pieces) != len(part):
        return None
    start, found = 0, list[tuple[Part, Any]]()
    for length, signature in pieces:
        found.append((part[start : start + length], signature))
        start += length
    return found


def _pieces(held: Json) -> list[list[tuple[int, Any]]]:
    """For each part of ours the lengths and signatures of its pieces, as far as they can be read."""
    if "pieces" not in held:
        listed = held.get("signatures", [held.get("signature")])
        return [[(0, signature)] for signature in entries_in(listed)]
    return [
        [_piece(entries_in(piece)) for piece in entries_in(of_part)] for of_part in entries_in(held["pieces"])
    ]


def _piece(held: list[Any]) -> tuple[int, Any]:
    match held:
        case [int(length), signature] if length >= 0:
            return length, signature
        case _:
            return 0, None


def whole(part: Mapping[str, Any], model: str | None, prefix: str | None, path: str) -> Opaque:
    """The state that is a whole part: code that was run, what it gave, or what is not known here."""
    # In one order, since a client may have the fields in its own.
    data = json_text({"part": kept(part)}, path, ordered=True)
    return Opaque(NAME, model or "", data, prefix)


def part_in(state: Opaque) -> Json | None:
    """The whole part that a state holds, if it does and the part may be sent."""
    part = _held(state).get("part")
    if not isinstance(part, dict) or not goes_back(cast(Json, part)):
        return None
    signature = field(cast(Json, part), "thoughtSignature")
    return cast(Json, part) if signature is None or is_signature(signature) else None


def unsealed(state: Opaque) -> Signatures:
    """The signatures that a state holds, by the part they belong to; empty if none can be sent."""
    held = _held(state)
    signatures = [signature for of_part in _pieces(held) for _, signature in of_part]
    good = [signature if is_signature(signature) else None for signature in signatures]
    return good if any(good) else ()


def is_signature(value: Any) -> bool:
    """Whether a value can be sent as a signature: bytes in base64, which clients decode before they send."""
    return isinstance(value, str) and len(value.rstrip("=")) % 4 != 1 and bool(_BASE64.fullmatch(value))


def _held(state: Opaque) -> Json:
    try:
        held: Any = msgspec.json.decode(state.data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return cast(Json, held) if isinstance(held, dict) else {}
