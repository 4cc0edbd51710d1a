"""Facts of models by name: window, prices, features, and how they count. The table is `models.toml`.

Prices change, and not everybody pays list prices: pass facts of your own to `cost`, such as
`msgspec.structs.replace(facts_for(model), prices=Prices(...))`.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from quire.errors import InvalidValue
from quire.items import prepared
from quire.tokens.counter import named, whole

AS_OF = "2026-11"
"""The month in which the table was checked."""

Provider = Literal["openai", "anthropic", "gemini"]


@prepared
class Usage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """Tokens of one request, or the sum of many.

    `input` is all input: read from the cache, written to it, and the rest. `output` is all output,
    `reasoning` included. Anthropic reports input without its cached parts and Gemini output without its
    thoughts: add them up first. A part larger than its whole raises an error.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            whole(getattr(self, name), f"Usage.{name}", least=0)
        if self.cache_read + self.cache_write > self.input:
            raise InvalidValue("Usage.cache_read and cache_write are parts of Usage.input: it must be larger")
        if self.reasoning > self.output:
            raise InvalidValue("Usage.reasoning is a part of Usage.output: it must not be larger")

    @property
    def fresh(self) -> int:
        """Input tokens that were neither read from the cache nor written to it."""
        return self.input - self.cache_read - self.cache_write

    def __add__(self, other: "Usage") -> "Usage":
        """The sum of both."""
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


class Prices(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """USD per million tokens; None where a price is unknown or not billed separately."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None

    def for_all_input(self) -> "Prices":
        """An upper bound: cached input without a price of its own gets the price of input."""
        read = self.input if self.cache_read is None else self.cache_read
        written = self.input if self.cache_write is None else self.cache_write
        return replace(self, cache_read=read, cache_write=written)


class ImageLimits(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The limits of a request: images (`count`), base64 `bytes` of each, and pixels of its longer `side`.

    If a request has more than `many` images, the limit of the longer side is `many_side`.
    """

    count: int | None = None
    bytes: int | None = None
    side: int | None = None
    many: int | None = None
    many_side: int | None = None


@prepared
class ModelFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The facts of models whose names begin with `prefix`; None means unknown.

    `window` includes the answer where the provider counts it; `output` is the longest answer. `cache_minimum`
    is the shortest prefix that is cached, for at least `cache_seconds`. A prompt longer than `flat_until`
    costs more than `prices`; None means no such step. Text is counted exactly with a `vocabulary`, otherwise
    estimated with `scale`; `framing` and `media` name rows of `models.toml`, which explains the features.
    """

    prefix: str
    window: int | None = None
    output: int | None = None
    prices: Prices = Prices()
    features: frozenset[str] = frozenset()
    cache_minimum: int | None = None
    flat_until: int | None = None
    provider: Provider | None = None
    images: ImageLimits = ImageLimits()
    cache_seconds: int | None = None
    vocabulary: str | None = None
    scale: float = 1.0
    framing: str = "plain"
    media: str = "claude"


UNKNOWN = ModelFacts("")
"""The facts of a model that matches no row."""


@lru_cache(256)  # every turn asks for the same few models
def facts_for(model: str) -> ModelFacts:
    """The facts of a model, by its name with or without a provider before it; `UNKNOWN` if no row matches.

    The row with the longest prefix applies, so a dated or fine-tuned model has the facts of its base model.
    """
    return _longest_match(model_named(model))


def model_named(model: str) -> str:
    """The name of a model as the table spells it; an alias such as `-latest` gives the current model."""
    name = bare_name(model)
    aliases: dict[str, str] = table()["aliases"]
    return aliases.get(name, name)


def cost(facts: ModelFacts, usage: Usage) -> float | None:
    """USD for a usage, or None if tokens were used whose price is unknown.

    It ignores the surcharge of long-lived cache entries and of prompts longer than `facts.flat_until`: a sum
    of usages does not show how long each prompt was.
    """
    prices, total = facts.prices, 0.0
    for tokens, price in (
        (usage.fresh, prices.input),
        (usage.cache_read, prices.cache_read),
        (usage.cache_write, prices.cache_write),
        (usage.output, prices.output),
    ):
        if tokens and price is None:
            return None
        total += tokens * (price or 0.0)
    return total / 1_000_000


# The table


@cache
def table() -> dict[str, Any]:
    """The content of `models.toml`."""
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("quire.tokens").joinpath("models.toml").read_text("utf-8"))


@cache
def known_models() -> tuple[ModelFacts, ...]:
    """All rows of the table."""
    return tuple(row for family in table()["family"] for row in _rows_of(**family))


def _rows_of(prefixes: Sequence[str] = (), models: Mapping[str, Any] = {}, **common: Any) -> list[ModelFacts]:
    facts_by_prefix: dict[str, Any] = {**{prefix: {} for prefix in prefixes}, **models}
    rows = [{"prefix": prefix, **common, **own} for prefix, own in facts_by_prefix.items()]
    return msgspec.convert(rows, list[ModelFacts])


# Names

# Where a name may begin: after a region or vendor that ends with a dot, and after the names of some hosts.
# Databricks accepts few roles, so only its models of these vendors get facts.
_START = re.compile(r"(?:^|\.)(?:labs-|xiaomi-|databricks-(?=claude|(?:meta-)?llama|qwen))?")
_PROVIDER = re.compile("^(?:openai|anthropic|gemini):")


def bare_name(model: str) -> str:
    """The name in lower case, without `provider:`, `vendor/`, `region.`, `ft:` and tags if a row matches."""
    name = named(model, "the name of a model").strip().lower()
    named(name, "the name of a model")  # spaces alone are empty too
    without_vendor = _PROVIDER.sub("", name.rpartition("/")[2])
    for piece in without_vendor.split(":"):
        for start in reversed([match.end() for match in _START.finditer(piece)]):
            bare = piece[start:].strip()
            if _longest_match(bare) is not UNKNOWN:
                # Routers write versions with a dot, and the dotted claude-opus-4.8 would match Opus 4.
                return bare.replace(".", "-") if bare.startswith("claude") else bare
    return name


@lru_cache(maxsize=256)
def _longest_match(name: str) -> ModelFacts:
    rows = (row for row in known_models() if _begins(name, row.prefix))
    return max(rows, key=lambda row: len(row.prefix), default=UNKNOWN)


def _begins(name: str, prefix: str) -> bool:
    """Whether a name begins with a prefix that does not end inside a number: gemini-10 is not gemini-1."""
    ends_inside_number = prefix[-1:].isdigit() and name[len(prefix) : len(prefix) + 1].isdigit()
    return name.startswith(prefix) and not ends_inside_number
