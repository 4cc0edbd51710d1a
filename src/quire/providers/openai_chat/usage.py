"""What a request took, as OpenAI reports it in both of its wires."""

from collections.abc import Mapping
from typing import Any, cast

from quire.tokens import Usage

_HITS = ("cached_tokens", "prompt_cache_hit_tokens")
"""What was read from the cache, as Moonshot and DeepSeek say it beside all input."""


def read_usage(report: Any, whole_input: str, whole_output: str) -> Usage | None:
    """Tokens by the names that a wire has for all input and for all output."""
    if not isinstance(report, Mapping):
        return None
    values = cast("Mapping[str, Any]", report)
    sent, given = _count(values, whole_input), _count(values, whole_output)
    parts = _details(values, whole_input)
    # Compatible services now and then report a part above its whole; the whole is what is billed.
    hits = max(_count(parts, "cached_tokens"), *(_count(values, name) for name in _HITS))
    cached = min(hits, sent)
    return Usage(
        input=sent,
        output=given,
        cache_read=cached,
        cache_write=min(_count(parts, "cache_write_tokens"), sent - cached),
        reasoning=min(_count(_details(values, whole_output), "reasoning_tokens"), given),
    )


def _details(report: Mapping[str, Any], whole: str) -> Mapping[str, Any]:
    details = report.get(f"{whole}_details")
    return cast("Mapping[str, Any]", details) if isinstance(details, Mapping) else {}


def _count(report: Mapping[str, Any], name: str) -> int:
    count = report.get(name)
    return count if isinstance(count, int) and count > 0 else 0
