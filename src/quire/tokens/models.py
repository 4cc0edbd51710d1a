"""What is known of models, as one table. Names are matched by how they begin; the longest match wins.

From the providers' pages and public tables that quote them, as of `AS_OF`. Prices are those of a provider's
own API at its standard tier, for text; they change, and who knows better passes facts of their own. What no
source gave is None. A row without a version (`claude`, `gemini`, `gpt-7`) is for members not known yet: it
has no prices, says what the newest of the family need, and leaves out what a model may refuse.
"""

from collections.abc import Iterator
from functools import partial
from typing import Literal, get_args

import msgspec

from quire.errors import InvalidValue, WrongType
from quire.tokens import others
from quire.tokens.numbers import whole
from quire.tokens.usage import Prices

AS_OF = "2026-11"
"""The month in which the table was checked."""

Provider = Literal["openai", "anthropic", "gemini"]
Feature = Literal[
    "developer_role",  # OpenAI: instructions have the role developer
    "no_instructions",  # OpenAI: neither developer nor system is taken
    "cache_breakpoints",  # OpenAI: explicit prompt_cache_breakpoint
    "open_weights",  # OpenAI: anybody serves it, by rules of their own
    "instructions_anywhere",  # on OpenAI's wire, of others: instructions stand where they were given
    "nine_letter_ids",  # Mistral: the id of a call is nine letters or digits
    "heard_results",  # Mistral: what follows a result is said by the model, and what it answers by another
    "thoughts_in_chunks",  # Mistral: they stand among the words of an answer
    "read_ids",  # Kimi: the model reads the ids of calls, and made them
    "thoughts_with_calls",  # DeepSeek, Kimi, MiMo: calls go back with what was thought before them
    "thoughts_with_answers",  # DeepSeek: so do plain answers, where there are tools
    "mid_instructions",  # Anthropic: the role system in the middle of messages
    "no_prefill",  # Anthropic: the last message is the user's
    "bound_thinking",  # Anthropic: thinking is valid only after the very prefix it was made with
    "thought_signatures",  # Gemini: signatures go back on the parts they came with
    "web_addresses",  # Gemini: files are fetched from addresses on the web
    "mixed_tools",  # Gemini: functions go together with tools of the provider
    "answer_schema",  # an answer is held to a JSON schema that is sent
    "no_answer_schema",  # a request with one is refused
    "schema_beside_tools",  # Gemini: it is taken in a request that has tools, too
    "image_input",
    "pdf_input",
    "audio_input",
]


def _check_whole(facts: msgspec.Struct, *names: str) -> None:
    for name in names:
        if getattr(facts, name) is not None:
            whole(getattr(facts, name), f"{type(facts).__name__}.{name}", least=0)


CACHE_SECONDS: dict[Provider, int] = {"openai": 300, "anthropic": 300}
"""The least that a cached prefix lives, by the providers' own words; Google gives no such word."""


class ImageLimits(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Images of a request, bytes of one in base64, pixels of its longer side; smaller ones beyond `many`."""

    count: int | None = None
    bytes: int | None = None
    side: int | None = None
    many: int | None = None
    many_side: int | None = None

    def __post_init__(self) -> None:
        _check_whole(self, *self.__struct_fields__)


class ModelFacts(msgspec.Struct, frozen=True):
    """What is known of the models whose names begin with `prefix`; None is not known.

    `window` is all the context, with the answer where the provider counts it; `cache_minimum` is the shortest
    prefix that is cached. A prompt beyond `flat_until` costs more than `prices` say; None is no such step.
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

    @property
    def cache_seconds(self) -> int | None:
        """How long what was cached lives when nobody asks for it, where the provider says so."""
        return None if self.provider is None else CACHE_SECONDS.get(self.provider)

    def __post_init__(self) -> None:
        _check_whole(self, "window", "output", "cache_minimum", "flat_until")
        for name, kind in _KINDS.items():
            if not isinstance(getattr(self, name), kind):
                raise WrongType(f"ModelFacts.{name} must be {kind.__name__}")
        if self.provider not in (None, *get_args(Provider)) or not self.features <= {*get_args(Feature)}:
            raise InvalidValue("ModelFacts has a provider or a feature that is not known")


_KINDS = {"prefix": str, "prices": Prices, "features": frozenset, "images": ImageLimits}


def _features(*features: Feature) -> frozenset[Feature]:
    return frozenset(features)


_NOTHING = _features()
_PICTURES = _features("image_input")
_HEARS = _features("audio_input")
_SEES = _features("image_input", "pdf_input")
_DEVELOPED = _features("developer_role")
_SHAPED = _features("answer_schema")
_UNSHAPED = _features("no_answer_schema")
_FITTED = _SEES | _SHAPED
_REASONS = _FITTED | _DEVELOPED
_BARE = _features("no_instructions") | _UNSHAPED
_PONDERS = _SEES | _DEVELOPED | _UNSHAPED
_MARKED = _REASONS | _features("cache_breakpoints")
_ASKED = _FITTED | _features("no_prefill")
_STEERED = _ASKED | _features("mid_instructions")
_KEPT = _STEERED | _features("bound_thinking")
_ALL = _SEES | _HEARS
_ANYWHERE = _features("instructions_anywhere")
_THINKS = _features("thoughts_with_calls")
_REMEMBERS = _THINKS | _features("thoughts_with_answers")
_KIMI = _ANYWHERE | _features("read_ids")
_MISTRAL = _features("nine_letter_ids", "heard_results", "thoughts_in_chunks")
_TAKES_IN = _PICTURES | _HEARS | _SHAPED
_EARLY = _ALL | _UNSHAPED
_FETCHING = _ALL | _SHAPED | _features("web_addresses")
_SIGNED = _FETCHING | _features("thought_signatures", "mixed_tools", "schema_beside_tools")


def _lines(
    own: frozenset[Feature], *kinds: tuple[tuple[str, ...], frozenset[Feature]]
) -> Iterator[ModelFacts]:
    """The lines of a maker, each with what all of them have and with that of each kind it is one of."""
    for name in dict.fromkeys(name for names, _ in kinds for name in names):
        yield ModelFacts(name, features=own.union(*(has for names, has in kinds if name in names)))


_openai = partial(ModelFacts, provider="openai")
# The lower of two reported limits, 5 and 10 MB.
_sized = partial(ImageLimits, bytes=5_242_880, side=8000, many=20, many_side=2000)
_any_claude = partial(ModelFacts, provider="anthropic", images=_sized())
_claude = partial(ModelFacts, provider="anthropic", images=_sized(count=100))
_wide = partial(ModelFacts, provider="anthropic", images=_sized(count=600))
_gemini = partial(ModelFacts, provider="gemini")

MODELS: tuple[ModelFacts, ...] = (
    _openai("gpt-3.5", 16_385, 4096, Prices(0.5, 1.5), _UNSHAPED),
    _openai("gpt-35", 16_385, 4096, Prices(0.5, 1.5), _UNSHAPED),
    _openai("gpt-4", 8192, 4096, Prices(30, 60), _UNSHAPED),
    _openai("gpt-4-1106", 128_000, 4096, Prices(10, 30), _UNSHAPED),
    _openai("gpt-4-turbo", 128_000, 4096, Prices(10, 30), _PICTURES | _UNSHAPED),
    _openai("gpt-4o", 128_000, 16_384, Prices(2.5, 10, 1.25), _FITTED, 1024),
    _openai("gpt-4o-2024-05-13", 128_000, 4096, Prices(5, 15), _SEES | _UNSHAPED),
    _openai("gpt-4o-audio", 128_000, 16_384, Prices(2.5, 10), _HEARS | _UNSHAPED),
    _openai("gpt-4o-mini", 128_000, 16_384, Prices(0.15, 0.6, 0.075), _FITTED, 1024),
    _openai("gpt-4o-mini-audio", 128_000, 16_384, Prices(0.15, 0.6), _HEARS | _UNSHAPED),
    _openai("chatgpt-4o", 128_000, 4096, Prices(5, 15), _SEES | _UNSHAPED),
    _openai("gpt-audio", 128_000, 16_384, Prices(2.5, 10), _HEARS | _UNSHAPED),
    _openai("gpt-audio-mini", 128_000, 16_384, Prices(0.6, 2.4), _HEARS | _UNSHAPED),
    _openai("gpt-4.1", 1_047_576, 32_768, Prices(2, 8, 0.5), _FITTED, 1024),
    _openai("gpt-4.1-mini", 1_047_576, 32_768, Prices(0.4, 1.6, 0.1), _FITTED, 1024),
    _openai("gpt-4.1-nano", 1_047_576, 32_768, Prices(0.1, 0.4, 0.025), _FITTED, 1024),
    _openai("gpt-4.5", 128_000, 16_384, Prices(75, 150, 37.5), _FITTED, 1024),
    _openai("o1", 200_000, 100_000, Prices(15, 60, 7.5), _REASONS, 1024),
    _openai("o1-mini", 128_000, 65_536, Prices(1.1, 4.4, 0.55), _BARE, 1024),
    _openai("o1-preview", 128_000, 32_768, Prices(15, 60, 7.5), _BARE, 1024),
    _openai("o1-pro", 200_000, 100_000, Prices(150, 600), _REASONS),
    _openai("o3", 200_000, 100_000, Prices(2, 8, 0.5), _REASONS, 1024),
    _openai("o3-mini", 200_000, 100_000, Prices(1.1, 4.4, 0.55), _DEVELOPED | _SHAPED, 1024),
    _openai("o3-pro", 200_000, 100_000, Prices(20, 80), _REASONS),
    _openai("o4-mini", 200_000, 100_000, Prices(1.1, 4.4, 0.275), _REASONS, 1024),
    _openai("gpt-5", 400_000, 128_000, Prices(1.25, 10, 0.125), _REASONS, 1024),
    _openai("gpt-5-mini", 400_000, 128_000, Prices(0.25, 2, 0.025), _REASONS, 1024),
    _openai("gpt-5-nano", 400_000, 128_000, Prices(0.05, 0.4, 0.005), _REASONS, 1024),
    _openai("gpt-5-pro", 400_000, 272_000, Prices(15, 120), _REASONS),
    _openai("gpt-5-chat", 128_000, 16_384, Prices(1.25, 10, 0.125), _SEES, 1024),
    _openai("gpt-5.1-chat", 128_000, 16_384, Prices(1.25, 10, 0.125), _SEES, 1024),
    _openai("gpt-5.1-codex-mini", 400_000, 128_000, Prices(0.25, 2, 0.025), _REASONS, 1024),
    _openai("gpt-5.2", 400_000, 128_000, Prices(1.75, 14, 0.175), _REASONS, 1024),
    _openai("gpt-5.2-chat", 128_000, 16_384, Prices(1.75, 14, 0.175), _SEES, 1024),
    _openai("gpt-5.2-pro", 400_000, 128_000, Prices(21, 168), _PONDERS),
    _openai("gpt-5.3", 400_000, 128_000, Prices(1.75, 14, 0.175), _REASONS, 1024),
    _openai("gpt-5.3-chat", 128_000, 16_384, Prices(1.75, 14, 0.175), _SEES, 1024),
    _openai("gpt-5.4", 1_050_000, 128_000, Prices(2.5, 15, 0.25), _REASONS, 1024, 272_000),
    _openai("gpt-5.4-mini", 400_000, 128_000, Prices(0.75, 4.5, 0.075), _REASONS, 1024),
    _openai("gpt-5.4-nano", 400_000, 128_000, Prices(0.2, 1.25, 0.02), _REASONS, 1024),
    _openai("gpt-5.4-pro", 1_050_000, 128_000, Prices(30, 180), _PONDERS, None, 272_000),
    _openai("gpt-5.5", 1_050_000, 128_000, Prices(5, 30, 0.5), _REASONS, 1024, 272_000),
    _openai("gpt-5.5-cyber", None, None, Prices(12.5, 75, 1.25), _DEVELOPED, 1024),
    _openai("gpt-5.5-pro", 1_050_000, 128_000, Prices(30, 180), _PONDERS, None, 272_000),
    _openai("gpt-5.6", 1_050_000, 128_000, Prices(4, 20, 0.4, 5), _MARKED, 1024, 272_000),
    _openai("gpt-5.6-terra", 1_050_000, 128_000, Prices(2, 12, 0.2, 2.5), _MARKED, 1024, 272_000),
    _openai("gpt-5.6-luna", 1_050_000, 128_000, Prices(0.2, 1.2, 0.02, 0.25), _MARKED, 1024, 272_000),
    _openai("gpt-5.6-cyber", 400_000, 128_000, Prices(12.5, 75, 1.25, 15.625), _MARKED, 1024, 272_000),
    _openai("gpt-6", None, None, Prices(), _MARKED, 1024),
    _openai("gpt-6-astra", 1_050_000, 128_000, Prices(10, 50, 1, 12.5), _MARKED, 1024, 272_000),
    _openai("gpt-6-sol", 1_050_000, 128_000, Prices(2, 10, 0.2, 2.5), _MARKED, 1024, 272_000),
    _openai("gpt-6-luna", 1_050_000, 128_000, Prices(0.1, 0.5, 0.01, 0.125), _MARKED, 1024, 272_000),
    _openai("gpt-6.1-sol", 1_050_000, 128_000, Prices(2, 10, 0.1, 2.5), _MARKED, 1024, 272_000),
    _openai("gpt-7", None, None, Prices(), _MARKED, 1024),
    _openai("gpt-realtime"),
    _openai("codex-mini"),
    _openai("computer-use-preview"),
    _openai("chatgpt-5"),
    _openai("gpt-oss", 131_072, None, Prices(), _DEVELOPED | _features("open_weights")),
    # Of all that speak OpenAI's wire, this one is known to refuse a schema.
    ModelFacts("deepseek", features=_UNSHAPED),
    ModelFacts("deepseek-reasoner", features=_UNSHAPED | _THINKS),
    *_lines(_UNSHAPED, (others.SEEING_DEEPSEEKS, _PICTURES), (others.THINKING_DEEPSEEKS, _REMEMBERS)),
    # xAI says so; the templates of the others have a mark for it, which that of DeepSeek has not.
    *(ModelFacts(name, features=_ANYWHERE) for name in ("glm", *others.BLIND_GROKS)),
    *(
        ModelFacts(name, features=_ANYWHERE | _PICTURES)
        for name in (*others.SEEING_GLMS, *others.SEEING_GROKS)
    ),
    ModelFacts("kimi", features=_KIMI),
    *_lines(_KIMI, (others.SEEING_KIMIS, _PICTURES), (others.THINKING_KIMIS, _THINKS)),
    *_lines(_THINKS, (others.BLIND_MIMOS, _NOTHING), (others.SEEING_MIMOS, _PICTURES)),
    *(ModelFacts(name, features=_MISTRAL) for name in others.MISTRALS),
    *(ModelFacts(name, features=_MISTRAL | _PICTURES) for name in others.SEEING_MISTRALS),
    *_lines(_NOTHING, (others.BLIND_QWENS, _NOTHING), (others.SEEING_QWENS, _PICTURES)),
    *_lines(_NOTHING, (others.BLIND_LLAMAS, _NOTHING), (others.SEEING_LLAMAS, _PICTURES)),
    *_lines(_NOTHING, (others.BLIND_MOONSHOTS, _NOTHING), (others.SEEING_MOONSHOTS, _PICTURES)),
    *(ModelFacts(name) for name in others.BLIND_MINIMAXES),
    _any_claude("claude", None, None, Prices(), _KEPT - _features("mid_instructions")),
    ModelFacts("claude-instant", 100_000, 8191, Prices(), _UNSHAPED, provider="anthropic"),
    ModelFacts("claude-2", 100_000, 8191, Prices(8, 24), _UNSHAPED, provider="anthropic"),
    _claude("claude-3", 200_000, None, Prices(), _PICTURES | _UNSHAPED),
    _claude("claude-3-haiku", 200_000, 4096, Prices(0.25, 1.25, 0.03, 0.3), _PICTURES | _UNSHAPED, 2048),
    _claude("claude-3-sonnet", 200_000, 4096, Prices(3, 15), _PICTURES | _UNSHAPED),
    _claude("claude-3-opus", 200_000, 4096, Prices(15, 75, 1.5, 18.75), _PICTURES | _UNSHAPED, 1024),
    _claude("claude-3-5-haiku", 200_000, 8192, Prices(0.8, 4, 0.08, 1), _SEES | _UNSHAPED, 2048),
    _claude("claude-3-5-sonnet", 200_000, 8192, Prices(3, 15, 0.3, 3.75, 6), _SEES | _UNSHAPED, 1024),
    _claude("claude-3-7-sonnet", 200_000, None, Prices(3, 15, 0.3, 3.75, 6), _SEES | _UNSHAPED, 1024),
    _claude("claude-haiku-4", 200_000, 64_000, Prices(1, 5, 0.1, 1.25, 2), _FITTED, 4096),
    _claude("claude-sonnet-4", 200_000, 64_000, Prices(3, 15, 0.3, 3.75, 6), _SEES | _UNSHAPED, 1024),
    _claude("claude-sonnet-4-5", 200_000, 64_000, Prices(3, 15, 0.3, 3.75, 6), _FITTED, 1024),
    _claude("claude-opus-4", 200_000, 32_000, Prices(15, 75, 1.5, 18.75, 30), _SEES | _UNSHAPED, 1024),
    _claude("claude-opus-4-1", 200_000, 32_000, Prices(15, 75, 1.5, 18.75, 30), _FITTED, 1024),
    _claude("claude-opus-4-5", 200_000, 64_000, Prices(5, 25, 0.5, 6.25, 10), _FITTED, 4096),
    _wide("claude-sonnet-4-6", 1_000_000, 128_000, Prices(3, 15, 0.3, 3.75, 6), _ASKED, 1024),
    _wide("claude-opus-4-6", 1_000_000, 128_000, Prices(5, 25, 0.5, 6.25, 10), _ASKED, 4096),
    _wide("claude-opus-4-7", 1_000_000, 128_000, Prices(5, 25, 0.5, 6.25, 10), _ASKED, 2048),
    _wide("claude-opus-4-8", 1_000_000, 128_000, Prices(5, 25, 0.5, 6.25, 10), _STEERED, 1024),
    _wide("claude-opus-5", 1_000_000, 128_000, Prices(5, 25, 0.5, 6.25, 10), _STEERED, 512),
    _wide("claude-opus-5-5", 1_000_000, 128_000, Prices(4, 20, 0.2, 5, 8), _KEPT, 512),
    _wide("claude-sonnet-5", 1_000_000, 128_000, Prices(2, 10, 0.2, 2.5, 4), _STEERED, 1024),
    _wide("claude-sonnet-5-5", 1_000_000, 128_000, Prices(2, 10, 0.1, 2.5, 4), _KEPT, 512),
    _wide("claude-haiku-5-5", 1_000_000, 128_000, Prices(0.1, 0.5, 0.01, 0.125, 0.2), _KEPT, 512, 100_000),
    _wide("claude-fable-5", 1_000_000, 128_000, Prices(10, 50, 1, 12.5, 20), _STEERED, 512),
    _wide("claude-fable-5-1", 1_000_000, 128_000, Prices(10, 50, 0.25, 12.5, 20), _KEPT, 512),
    _wide("claude-mythos-preview", 1_000_000, 128_000, Prices(10, 50, 1, 12.5, 20), _ASKED, 512),
    _wide("claude-mythos-5", 1_000_000, 128_000, Prices(10, 50, 1, 12.5, 20), _STEERED, 512),
    _wide("claude-mythos-5-1", 1_000_000, 128_000, Prices(10, 50, 0.25, 12.5, 20), _KEPT, 512),
    _gemini("gemini", None, None, Prices(), _SIGNED),
    _gemini("gemini-pro", 32_760, 8192, Prices(0.5, 1.5), _UNSHAPED),
    _gemini("gemini-1", None, None, Prices(), _UNSHAPED),
    _gemini("gemini-1.5-pro", 2_097_152, 8192, Prices(1.25, 5), _EARLY, None, 128_000),
    _gemini("gemini-1.5-flash", 1_048_576, 8192, Prices(0.075, 0.3, 0.01875), _EARLY, None, 128_000),
    _gemini("gemini-1.5-flash-8b", 1_048_576, 8192, Prices(), _EARLY),
    _gemini("gemini-2", None, None, Prices(), _TAKES_IN),
    _gemini("gemini-2.0-flash", 1_048_576, 8192, Prices(0.1, 0.4, 0.025), _TAKES_IN),
    _gemini("gemini-2.0-flash-lite", 1_048_576, 8192, Prices(0.075, 0.3, 0.01875), _TAKES_IN),
    _gemini("gemini-2.5", None, None, Prices(), _FETCHING),
    _gemini("gemini-2.5-pro", 1_048_576, 65_536, Prices(1.25, 10, 0.125), _FETCHING, 2048, 200_000),
    _gemini("gemini-2.5-flash", 1_048_576, 65_536, Prices(0.3, 2.5, 0.03), _FETCHING, 2048),
    _gemini("gemini-2.5-flash-lite", 1_048_576, 65_536, Prices(0.1, 0.4, 0.01), _FETCHING),
    _gemini("gemini-3-pro", 1_048_576, 65_536, Prices(2, 12, 0.2), _SIGNED, 4096, 200_000),
    _gemini("gemini-3-flash", 1_048_576, 65_536, Prices(0.5, 3, 0.05), _SIGNED, 1024),
    _gemini("gemini-3.1-pro", 1_048_576, 65_536, Prices(2, 12, 0.2), _SIGNED, 4096, 200_000),
    _gemini("gemini-3.1-flash-lite", 1_048_576, 65_536, Prices(0.25, 1.5, 0.025), _SIGNED),
    _gemini("gemini-3.5-flash", 1_048_576, 65_536, Prices(1.5, 9, 0.15), _SIGNED, 4096),
    _gemini("gemini-3.5-flash-lite", 1_048_576, 65_536, Prices(0.3, 2.5, 0.03), _SIGNED),
    _gemini("gemini-3.6-flash", 1_048_576, 65_536, Prices(0.75, 3.75, 0.075), _SIGNED, 4096),
    _gemini("gemini-3.7-flash", 1_048_576, 65_536, Prices(0.75, 3.75, 0.075), _SIGNED, 4096),
    _gemini("gemini-3.8-flash", 1_048_576, 65_536, Prices(0.75, 3.75, 0.075), _SIGNED, 4096),
    # Until the end of November 2026; announced for later: 4 and 20.
    _gemini("gemini-4-argon", 1_048_576, 1_048_576, Prices(2, 10, 0.1), _SIGNED, 4096),
)

MOVING: dict[str, str] = {
    "gemini-flash-latest": "gemini-3.8-flash",
    "gemini-flash-lite-latest": "gemini-3.5-flash-lite",
    "gemini-pro-latest": "gemini-3.1-pro",
}
"""Names that move on with each release, and the model that each stands for now."""
