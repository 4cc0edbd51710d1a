"""Gemini: thought signatures, as items keep them.

A signature goes back on the part that it came with. An item of one part keeps it as `signature`; a message of
several keeps `signatures`, one for each part or none.
"""

import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from quire.items import Opaque

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
    return Opaque(NAME, model or "", msgspec.json.encode(held).decode(), prefix)


def unsealed(state: Opaque) -> Signatures:
    """The signatures that a state holds, by the part they belong to; empty if none can be sent."""
    try:
        held: Any = msgspec.json.decode(state.data)
    except (msgspec.DecodeError, RecursionError):
        return ()
    if not isinstance(held, dict):
        return ()
    held = cast("dict[str, Any]", held)
    listed = held.get("signatures", [held.get("signature")])
    signatures = cast("Sequence[Any]", listed) if isinstance(listed, list) else ()
    good = [signature if is_signature(signature) else None for signature in signatures]
    return good if any(good) else ()


def is_signature(value: Any) -> bool:
    """Whether a value can be sent as a signature: bytes in base64, which clients decode before they send."""
    return isinstance(value, str) and len(value.rstrip("=")) % 4 != 1 and bool(_BASE64.fullmatch(value))
