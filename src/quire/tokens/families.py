"""Which models count alike, as one table. Names are matched by how they begin; the longest match wins.

The scales of models without an offline tokenizer are first guesses from published comparisons; calibration by
reported usage corrects them. They lean high, because a context that is too long is refused.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from quire.errors import InvalidValue, WrongType
from quire.tokens.counter import Counter
from quire.tokens.measured import Estimate, Exact


class Family(NamedTuple):
    """Models that count alike; `vocabulary` is the name of an encoding, or the scale of an estimate."""

    prefix: str
    vocabulary: str | float
    framing: str
    media: str


UNKNOWN = Family("", 1.0, "plain", "claude")

FAMILIES = (
    Family("gpt-3.5", "cl100k_base", "openai-gpt-4", "gpt-4o"),
    Family("gpt-35", "cl100k_base", "openai-gpt-4", "gpt-4o"),
    Family("gpt-4", "cl100k_base", "openai-gpt-4", "gpt-4o"),
    Family("gpt-4o", "o200k_base", "openai", "gpt-4o"),
    Family("gpt-4o-mini", "o200k_base", "openai", "gpt-4o-mini"),
    Family("chatgpt-4o", "o200k_base", "openai", "gpt-4o"),
    # No source names their vocabulary: inferred from the gpt-4o-audio line, which they continue.
    Family("gpt-audio", "o200k_base", "openai", "gpt-4o"),
    Family("gpt-realtime", "o200k_base", "openai", "gpt-4o"),
    Family("gpt-4.1", "o200k_base", "openai", "gpt-4o"),
    Family("gpt-4.1-mini", "o200k_base", "openai", "patches-1.62"),
    Family("gpt-4.1-nano", "o200k_base", "openai", "patches-2.46"),
    Family("gpt-4.5", "o200k_base", "openai", "gpt-4o"),
    Family("o1", "o200k_base", "openai", "o1"),
    Family("o3", "o200k_base", "openai", "o1"),
    Family("o4-mini", "o200k_base", "openai", "patches-1.72"),
    # Tuned from o4-mini, and from a model of the gpt-4o line.
    Family("codex-mini", "o200k_base", "openai", "patches-1.72"),
    Family("computer-use-preview", "o200k_base", "openai", "gpt-4o"),
    Family("gpt-5", "o200k_base", "openai", "gpt-5"),
    Family("chatgpt-5", "o200k_base", "openai", "gpt-5"),
    Family("gpt-5-mini", "o200k_base", "openai", "patches-1.62"),
    Family("gpt-5-nano", "o200k_base", "openai", "patches-2.46"),
    Family("gpt-5.2", "o200k_base", "openai", "gpt-5.2"),
    Family("gpt-5.3", "o200k_base", "openai", "gpt-5.2"),
    Family("gpt-5.4", "o200k_base", "openai", "gpt-5.4"),
    Family("gpt-5.4-mini", "o200k_base", "openai", "gpt-5.2"),
    Family("gpt-5.4-nano", "o200k_base", "openai", "gpt-5.2"),
    Family("gpt-5.5", "o200k_base", "openai", "gpt-5.5"),
    Family("gpt-5.6", "o200k_base", "openai", "gpt-5.6"),
    Family("gpt-6", "o200k_base", "openai", "gpt-5.6"),
    Family("gpt-oss", "o200k_base", "openai", "gpt-4o"),
    Family("gpt-7", "o200k_base", "openai", "gpt-5.6"),
    Family("claude", 1.45, "anthropic", "claude-high"),
    Family("claude-2", 1.15, "anthropic", "claude"),
    Family("claude-3", 1.15, "anthropic", "claude"),
    Family("claude-instant", 1.15, "anthropic", "claude"),
    Family("claude-haiku-4", 1.15, "anthropic", "claude"),
    Family("claude-sonnet-4", 1.15, "anthropic", "claude"),
    Family("claude-opus-4", 1.15, "anthropic", "claude"),
    Family("claude-opus-4-7", 1.45, "anthropic", "claude-high"),
    Family("claude-opus-4-8", 1.45, "anthropic", "claude-high"),
    Family("claude-opus-4-9", 1.45, "anthropic", "claude-high"),
    Family("gemini", 1.05, "google", "gemini-3"),
    Family("gemini-1", 1.05, "google", "gemini-2"),
    Family("gemini-2", 1.05, "google", "gemini-2"),
)

_PREFIXES = tuple(row.prefix for row in FAMILIES)
_TUNED = re.compile("(?:^|[:/])ft:")
# Only these make a dot the end of what comes before a name: other dots are in names, as in my-model.o3.
_REGIONS = "us|us-gov|eu|uk|ca|sa|me|af|ap|apac|jp|au|in|global|[a-z]{2}(?:-gov)?-[a-z]+-[0-9]"
_VENDORS = (
    "anthropic|openai|google|azure|azure_ai|microsoft|vertex|vertex_ai|bedrock|amazon|aws|oci|databricks"
)
# Databricks names them so and takes few roles: what is only OpenAI's or Google's is not sent there.
_HOSTED = "databricks-(?=claude|(?:meta-)?llama|qwen)"
_CHAIN = re.compile(rf"^(?:(?:{_REGIONS}|{_VENDORS})\.|{_HOSTED})+")

_counters: dict[tuple[str | float, str, str], Counter] = {}


def counter_for(model: str) -> Counter:
    """The counter of a model, by its name, with or without a provider before it; unknown names are estimated.

    Models that count alike share one counter, and with it every count that was kept.
    """
    family = family_of(model)
    vocabulary, framing, media = alike = (family.vocabulary, family.framing, family.media)
    if alike not in _counters:
        made = (
            Exact(vocabulary, framing=framing, media=media)
            if isinstance(vocabulary, str)
            else Estimate(vocabulary, framing=framing, media=media)
        )
        # Two threads may both make one; the first that is put down is the one that all get.
        return _counters.setdefault(alike, made)
    return _counters[alike]


def family_of(model: str) -> Family:
    """The row of the table that a model's name belongs to."""
    return _row(named_by_text(model))


@lru_cache(256)  # it is asked for at every turn, of the same few models
def _row(model: str) -> Family:
    name = bare_name(model)
    return max((row for row in FAMILIES if name.startswith(row.prefix)), key=_length, default=UNKNOWN)


def named_by_text(model: str) -> str:
    """The name of a model, if it is a text."""
    if not isinstance(model, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a model is named by text, not by {type(model).__name__}")
    return model


def bare_name(model: str) -> str:
    """The name as tables of models spell it: in small letters, without what comes before it."""
    name = _bare(named_by_text(model))
    if not name:
        raise InvalidValue("the name of the model is empty")
    # Routers write versions with a dot; without this, claude-opus-4.8 would be taken for Opus 4.
    return name.replace(".", "-") if name.startswith("claude") else name


def _bare(model: str) -> str:
    """The name without what comes before it: `provider:`, `vendor/`, `region.vendor.`, `host-` or `ft:`."""
    name = model.strip().lower()
    tuned = _TUNED.search(name)
    if tuned:
        name = name[tuned.end() :].partition(":")[0].strip()
    for segment in reversed(name.split("/")):
        known = [piece for piece in pieces_of(segment) if piece.startswith(_PREFIXES)]
        if known:
            # What is after the name is a tag, unless the name is a provider's, as in gemini:gemini-2.5-pro.
            return next((piece for piece in known[1:] if piece.startswith(known[0])), known[0])
    return name


def pieces_of(segment: str) -> list[str]:
    """What colons part in a segment of a path, each without the regions and vendors that dots join to it."""
    return [_CHAIN.sub("", piece.strip()) for piece in segment.split(":")]


def _length(family: Family) -> int:
    return len(family.prefix)
