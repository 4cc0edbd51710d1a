"""Facts of models by name: window, prices, features, and how they count. The table is `models.toml`.

Prices change, and not everybody pays list prices: pass facts of your own to `cost`, such as
`msgspec.structs.replace(facts_for(model), prices=Prices(...))`.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from quire.errors import InvalidValue, WrongType
from quire.tokens.counter import Counter, count_of
from quire.tokens.measured import Estimate, Exact

AS_OF = "2026-11"
"""The month in which the table was checked."""

Provider = Literal["openai", "anthropic", "gemini"]
Feature = Literal[
    "image_input",
    "pdf_input",
    "audio_input",
    "web_urls",  # Gemini: files are fetched from addresses on the web
    "output_schema",  # the answer follows a JSON schema that is sent
    "no_output_schema",  # a request with such a schema is refused
    "output_schema_with_tools",  # Gemini: also in a request that has tools
    "developer_role",  # OpenAI: instructions have the role developer
    "no_system_role",  # OpenAI: neither developer nor system is taken
    "system_anywhere",  # other makers on OpenAI's wire: instructions stay where they were given
    "system_mid_conversation",  # Anthropic: the role system among the messages
    "no_prefill",  # Anthropic: the last message is the user's
    "cache_breakpoints",  # OpenAI: explicit prompt_cache_breakpoint
    "open_weights",  # OpenAI: anybody serves it, by rules of their own
    "nine_character_ids",  # Mistral: the id of a call is nine letters or digits
    "model_reads_ids",  # Kimi: the model made the ids of calls, and reads them
    "assistant_after_results",  # Mistral: an assistant message follows a tool result
    "reasoning_in_content",  # Mistral: reasoning is part of an answer's content
    "reasoning_with_calls",  # DeepSeek, Kimi, MiMo: calls go back with the reasoning before them
    "reasoning_with_answers",  # DeepSeek: so do plain answers, where there are tools
    "thinking_bound_to_prefix",  # Anthropic: thinking is valid only after the prefix it was made with
    "thought_signatures",  # Gemini: signatures go back on the parts they came with
    "provider_tools_with_functions",  # Gemini: functions go together with tools of the provider
]


class Usage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """Tokens of one request, or the sum of many.

    `input` is all input: read from the cache, written to it, and the rest. `output` is all output,
    `reasoning` included. Anthropic reports input without its cached parts and Gemini output without its
    thoughts: add them up first. A part above its whole is refused, so that this is not forgotten.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            count_of(getattr(self, name), f"Usage.{name}")
        if self.cache_read + self.cache_write > self.input:
            raise InvalidValue("Usage.cache_read and cache_write are parts of Usage.input, yet above it")
        if self.reasoning > self.output:
            raise InvalidValue("Usage.reasoning is a part of Usage.output, yet above it")

    @property
    def fresh(self) -> int:
        """Input tokens that were neither read from the cache nor written to it."""
        return self.input - self.cache_read - self.cache_write

    def __add__(self, other: "Usage") -> "Usage":
        """The sum of both."""
        if not isinstance(other, Usage):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a Usage is added to a Usage, not to {type(other).__name__}")
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


class Prices(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """USD for a million tokens of each sort; None where a price is not known or not billed separately.

    `cache_write_long` is for entries that live longer than usual, such as one hour at Anthropic.
    """

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_long: float | None = None

    def for_all_input(self) -> "Prices":
        """The same, with the price of input for cached input that has no price of its own: an upper bound."""
        read = self.input if self.cache_read is None else self.cache_read
        written = self.input if self.cache_write is None else self.cache_write
        return replace(self, cache_read=read, cache_write=written)


class ImageLimits(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Images of a request, base64 bytes of one, pixels of its longer side (fewer beyond `many` images)."""

    count: int | None = None
    bytes: int | None = None
    side: int | None = None
    many: int | None = None
    many_side: int | None = None


class ModelFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the models whose names begin with `prefix`; None is not known.

    `window` is all the context, with the answer where the provider counts it. `cache_minimum` is the shortest
    prefix that is cached, `cache_seconds` the least time for which it is. A prompt beyond `flat_until` costs
    more than `prices`; None is no such step. Text is counted exactly where a `vocabulary` is named, otherwise
    estimated with `scale`; `framing` and `media` are the names of rows.
    """

    prefix: str
    window: int | None = None
    output: int | None = None
    prices: Prices = Prices()
    features: frozenset[Feature] = frozenset()
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
"""The facts of every model that no row fits."""


def facts_for(model: str) -> ModelFacts:
    """The facts of a model, by its name with or without a provider before it; `UNKNOWN` if no row fits.

    A dated or otherwise longer name has the facts of the longest prefix, so a fine-tuned model has those of
    its base model. A Claude that is newer than the table has those of the version before it.
    """
    return _row(_checked(model))


def counter_for(model: str) -> Counter:
    """The counter of a model, by its name with or without a provider before it.

    Models that count alike share one counter, and its cached counts. Models without a public tokenizer are
    estimated.
    """
    bare_name(model)  # an empty name is an error
    facts = facts_for(model)
    return _counter(facts.vocabulary, facts.scale, facts.framing, facts.media)


def known_models() -> tuple[ModelFacts, ...]:
    """All rows of the table."""
    return _table().rows


def model_named(model: str) -> str:
    """The name of a model as the table spells it; for a name that moves on, the model that it is now."""
    name = bare_name(model)
    return _table().aliases.get(name, name)


def cost(facts: ModelFacts, usage: Usage, *, long_cache: bool = False) -> float | None:
    """USD for a usage, or None if tokens were used whose price is not known.

    `long_cache` prices cache writes at the rate of long-lived entries. The higher price of prompts beyond
    `facts.flat_until` is left out: a sum of usages does not show how long each prompt was.
    """
    if not isinstance(facts, ModelFacts) or not isinstance(usage, Usage):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(
            f"cost takes ModelFacts and a Usage, not {type(facts).__name__}, {type(usage).__name__}"
        )
    prices, total = facts.prices, 0.0
    written = prices.cache_write_long if long_cache else prices.cache_write
    for tokens, price in (
        (usage.fresh, prices.input),
        (usage.cache_read, prices.cache_read),
        (usage.cache_write, written),
        (usage.output, prices.output),
    ):
        if tokens and price is None:
            return None
        total += tokens * (price or 0.0)
    return total / 1_000_000


@cache
def _counter(vocabulary: str | None, scale: float, framing: str, media: str) -> Counter:
    if vocabulary is None:
        return Estimate(scale, framing=framing, media=media)
    return Exact(vocabulary, framing=framing, media=media)


# The table


class _Table(NamedTuple):
    rows: tuple[ModelFacts, ...]
    aliases: dict[str, str]
    ours: tuple[str, ...]
    """Prefixes of the models of the three providers."""


@cache
def _table() -> _Table:
    import tomllib
    from importlib.resources import files

    data = tomllib.loads(files("quire.tokens").joinpath("models.toml").read_text("utf-8"))
    rows = tuple(row for family in data["family"] for row in _rows(**family))
    return _Table(rows, data["aliases"], tuple(row.prefix for row in rows if row.provider is not None))


def _rows(prefixes: Sequence[str] = (), models: Mapping[str, Any] = {}, **common: Any) -> list[ModelFacts]:
    own: dict[str, Any] = {**{prefix: {} for prefix in prefixes}, **models}
    return [msgspec.convert({"prefix": name, **common, **own[name]}, ModelFacts) for name in own]


# Names

_TUNED = re.compile("(?:^|[:/])ft:")
# Only after these does a dot end what comes before a name: other dots are in names, as in my-model.o3.
_REGIONS = "us|us-gov|eu|uk|ca|sa|me|af|ap|apac|jp|au|in|global|[a-z]{2}(?:-gov)?-[a-z]+-[0-9]"
_VENDORS = (
    "anthropic|openai|google|azure|azure_ai|microsoft|vertex|vertex_ai|bedrock|amazon|aws|oci|databricks"
)
# Databricks hosts these under its own names and takes few roles: what is OpenAI's or Google's is not sent.
_HOSTED = "databricks-(?=claude|(?:meta-)?llama|qwen)"
_CHAIN = re.compile(rf"^(?:(?:{_REGIONS}|{_VENDORS})\.|{_HOSTED})+")
_MAKERS = re.compile(r"^(?:(?:meta|minimax|mistral|moonshot(?:ai)?|qwen|xai|zai)\.|labs-|xiaomi-)")
_POINT = re.compile(r"(?<=\d)p(?=\d)")  # one service has no dot in a name: glm-4p6 is GLM-4.6
_VERSION = re.compile(r"(claude-[a-z]+-\d{1,2})[-.](\d{1,2})(?!\d)")


def bare_name(model: str) -> str:
    """The name in lower case, without `provider:`, `vendor/`, `region.vendor.` or `ft:` before it."""
    name = _checked(model).strip().lower()
    tuned = _TUNED.search(name)
    if tuned:
        name = name[tuned.end() :].partition(":")[0].strip()
    if not name:
        raise InvalidValue("the name of the model is empty")
    for segment in reversed(name.split("/")):
        known = [piece for piece in _pieces_of(segment) if piece.startswith(_table().ours)]
        if known:
            # What follows the name is a tag, unless the first is a provider's, as in gemini:gemini-2.5-pro.
            name = next((piece for piece in known[1:] if piece.startswith(known[0])), known[0])
            break
    # Routers write versions with a dot; without this, claude-opus-4.8 would be taken for Opus 4.
    return name.replace(".", "-") if name.startswith("claude") else name


def _checked(model: str) -> str:
    if not isinstance(model, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"the name of a model is a text, not {type(model).__name__}")
    return model


def _pieces_of(segment: str) -> list[str]:
    """What colons separate in a segment of a path, each without the regions and vendors before it."""
    return [_CHAIN.sub("", piece.strip()) for piece in segment.split(":")]


@lru_cache(256)  # every turn asks for the same few models
def _row(model: str) -> ModelFacts:
    name = model_named(model)
    return _other_makers_row(model) or _version_before(name) or _longest(name)


def _longest(name: str) -> ModelFacts:
    rows = (row for row in _table().rows if _begins(name, row.prefix))
    return max(rows, key=lambda row: len(row.prefix), default=UNKNOWN)


def _begins(name: str, prefix: str) -> bool:
    """Whether a name begins with a prefix, and not inside a number: gemini-10 is not a gemini-1."""
    inside = prefix[-1:].isdigit() and name[len(prefix) : len(prefix) + 1].isdigit()
    return name.startswith(prefix) and not inside


def _other_makers_row(model: str) -> ModelFacts | None:
    """The row of a model of another maker, whose name may be anywhere in the last segment."""
    pieces = _pieces_of(model.lower().rpartition("/")[2])
    rows = (_longest(_POINT.sub(".", _MAKERS.sub("", piece))) for piece in pieces)
    row = next((row for row in rows if row is not UNKNOWN), UNKNOWN)
    return None if row is UNKNOWN or row.provider is not None else row


def _version_before(name: str) -> ModelFacts | None:
    """The newest version of a Claude line up to that of the name: the longest prefix would be the oldest."""
    version = _VERSION.match(name)
    if version is None:
        return None
    line, minor = version[1], int(version[2])
    known = {
        int(row.prefix[len(line) + 1 :] or 0): row
        for row in _table().rows
        if row.prefix == line
        or (row.prefix.startswith(f"{line}-") and row.prefix[len(line) + 1 :].isdecimal())
    }
    return known[max(before)] if (before := [one for one in known if one <= minor]) else None
