"""Cache breakpoints: how many, in which order, and on what."""

from collections.abc import Iterator, Mapping
from typing import Any

from quire.providers.checking.anthropic.blocks import THINKING
from quire.providers.checking.anthropic.history import Message
from quire.providers.checking.faults import Findings
from quire.providers.checking.reading import as_list, as_object, short

MOST_BREAKPOINTS = 4


def check_caching(findings: Findings, body: Mapping[str, Any], messages: list[Message]) -> None:
    """Note breakpoints that are too many, out of order or where none may be."""
    short_lived, out_of_order = False, False
    for count, (place, value) in enumerate(_breakpoints(findings, body, messages), start=1):
        lifetime = _lifetime(findings, place, value)
        if count == MOST_BREAKPOINTS + 1:
            findings.add(place, "cache_count", f"this is breakpoint {count} of at most {MOST_BREAKPOINTS}")
        if lifetime == "1h" and short_lived and not out_of_order:
            findings.add(place, "cache_order", "one hour comes after five minutes")
            out_of_order = True
        short_lived = short_lived or lifetime == "5m"


def _lifetime(findings: Findings, place: str, value: Any) -> str | None:
    control = as_object(value)
    ttl = "5m" if control is None or control.get("ttl") is None else control["ttl"]
    if control is None or control.get("type") != "ephemeral":
        findings.add(place, "cache_shape", "must be an object of type ephemeral")
    elif ttl not in ("5m", "1h"):
        findings.add(place, "cache_shape", f"ttl {short(ttl)} is neither 5m nor 1h")
    else:
        return str(ttl)
    return None


def _breakpoints(
    findings: Findings, body: Mapping[str, Any], messages: list[Message]
) -> Iterator[tuple[str, Any]]:
    yield from _marked("tools", body.get("tools"))
    yield from _marked("system", body.get("system"))
    for message in messages:
        for block in message.blocks:
            control = block.fields.get("cache_control")
            yield from _marked(f"{block.place}.content", _inner(block.kind, block.fields.get("content")))
            if control is not None and block.kind in THINKING:
                block.fields.add("cache_control", "cache_place", "thinking cannot be a breakpoint")
            elif control is not None:
                yield f"{block.place}.cache_control", control
    if body.get("cache_control") is not None:
        # The API puts this one on the last block itself, and counts it.
        yield "cache_control", body["cache_control"]


def _inner(kind: str, content: Any) -> Any:
    return content if kind == "tool_result" else None


def _marked(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    for index, item in enumerate(as_list(value) or ()):
        control = (as_object(item) or {}).get("cache_control")
        if control is not None:
            yield f"{place}[{index}].cache_control", control
