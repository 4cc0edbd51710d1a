"""Gemini: thought signatures, as items keep them.

A signature goes back on the part that it came with. An item of one part keeps it as `signature`; a message of
several keeps `signatures`, one for each part or none. What the provider's own tools left in an answer is kept
as `part`, and goes back as it came or not at all.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from quire.items import Opaque
from quire.providers.gemini.blocks import goes_back, kept
from quire.providers.json_values import json_text
from quire.providers.sheet import Json

NAME = "gemini"

PLACEHOLDER = "skip_thought_signature_validator"
"""What the documentation has stand for the signature of a call that the model did not make itself."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{2,}={0,2}")

Signatures = Sequence[str | None]


def sealed(signatures: Signatures, model: str | None, prefix: str | None) -> Opaque | None:
    """The state of an item, with the signatures of its parts in order; none where no part has one."""
    if not any(signatures):
        return None
    held = {"signature": signatures[0]} if len(signatures) == 1 else {"signatures": list(signatures)}
    return Opaque(NAME, model or "", json_text(held, "thoughtSignature"), prefix)


def whole(part: Mapping[str, Any], model: str | None, prefix: str | None, path: str) -> Opaque:
    """The state that is a whole part: code that was run, what it gave, or what is not known here."""
    # In one order, since a client may have the fields in its own.
    data = json_text({"part": kept(part)}, path, ordered=True)
    return Opaque(NAME, model or "", data, prefix)


def part_in(state: Opaque) -> Json | None:
    """The whole part that a state holds, if it does and the part may be sent."""
    part = _held(state).get("part")
    return cast(Json, part) if isinstance(part, dict) and goes_back(cast(Json, part)) else None


def unsealed(state: Opaque) -> Signatures:
    """The signatures that a state holds, by the part they belong to; empty if none can be sent."""
    held = _held(state)
    listed = held.get("signatures", [held.get("signature")])
    signatures = cast("Sequence[Any]", listed) if isinstance(listed, list) else ()
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
