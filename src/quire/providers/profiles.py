"""The `Profile` of a model: what the writers may send to it.

A profile is made from the facts in `tokens/models.toml` (media, roles, limits), the wire, and the cloud that
the model's name shows. An unknown model gets what nearly all services accept. Without a model name, only the
rules of the wire apply.
"""

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from msgspec.structs import replace

from quire.providers.names import Alphabet
from quire.tokens import UNKNOWN, ImageLimits, ModelFacts, bare_name, facts_for

Cloud = Literal["bedrock", "vertex"]
InstructionsRole = Literal["system", "developer", "user"]

_BEDROCK = re.compile(r"bedrock|(^|[/.:])anthropic\.")
_VERTEX = re.compile(r"vertex|(^|/)(publishers|projects)/|claude[^/:@]*@(?!https?:)")
_GPT = re.compile(r"gpt-\d(?:\.\d{1,2})?(?![\d.a-z])")

_NINE_CHARACTER_IDS = Alphabet(re.compile("[a-zA-Z0-9]{9}"), 9, is_fixed=True)
_READABLE_IDS = Alphabet(re.compile("[!-~]{1,64}"), 64)

MEDIA = frozenset(("image_input", "pdf_input", "audio_input"))

STRICTEST_IMAGES = ImageLimits(count=100, bytes=5_242_880, side=8000, many=20, many_side=2000)
"""Limits that satisfy every Claude model; they apply if the model is unknown."""

LARGEST_REQUEST: dict[Cloud | None, int] = {None: 31_000_000, "vertex": 29_000_000, "bedrock": 19_000_000}
"""Anthropic: bytes of a request. The API's limits are 32, 30 and 20 MB; 1 MB is left for other fields."""


class Profile(NamedTuple):
    """What may be sent to a model."""

    model: str | None
    cloud: Cloud | None = None
    """The cloud that serves the model, if the model's name shows it; None for the maker's own service."""
    media: frozenset[str] = MEDIA
    """The media that the model accepts: `image_input`, `pdf_input`, `audio_input`."""
    features: frozenset[str] = frozenset()
    """The model's features; `models.toml` explains each."""

    # OpenAI's two wires, which many other services use
    takes_all: bool = True
    """Whether the service accepts the whole wire: names of speakers, custom tools, recordings by id."""
    instructions: InstructionsRole = "system"
    """The role of instructions; `user` if the model has no role for them."""
    instructions_anywhere: bool = True
    """Whether instructions may stand anywhere; if not, they are one message at the start."""
    call_ids: Alphabet | None = None
    """The call ids that the model accepts, if they differ from those of the wire."""
    cache_key: bool = False
    """Whether the service accepts `prompt_cache_key`."""

    # Chat Completions: fields that services want back beside a message
    takes_thoughts: bool = True
    """Whether reasoning is sent back. OpenAI's own models return none on this wire; Mistral's need none."""
    signs_calls: bool = False
    """Gemini 3 and later: the service refuses the first call of a step if it has no signature."""

    # Anthropic
    bound_thinking: bool = False
    """Whether thinking is valid only after exactly the request that produced it, volatile items included."""
    fetches: bool = True
    """Whether the service fetches media from a URL."""
    images: ImageLimits = STRICTEST_IMAGES
    largest_request: int = LARGEST_REQUEST[None]

    # Gemini
    signs_text: bool = False
    """Image models from Gemini 3 on: the service refuses the model's text and images without a signature."""
    mixes_tools: bool = True
    """Whether one request may have both functions and the provider's own tools."""


@lru_cache(256)
def profile_for(wire: str, model: str | None) -> Profile:
    """The profile of a model on a wire."""
    if model is None:
        return Profile(None, signs_calls=wire == "gemini")
    facts, cloud = facts_for(model), cloud_of(model)
    has = facts.features.__contains__
    is_gpt = _GPT.match(bare_name(model)) is not None
    is_openai = (is_gpt if facts.provider is None else facts.provider == "openai") and not has("open_weights")
    is_claude_wire, is_gemini_model = wire == "anthropic", facts.provider == "gemini"
    readable_ids = _READABLE_IDS if has("model_reads_ids") else None
    call_ids = _NINE_CHARACTER_IDS if has("nine_character_ids") else readable_ids
    limits = {name: getattr(facts.images, name) for name in ImageLimits.__struct_fields__}
    instructions: InstructionsRole = "user" if has("no_system_role") else "system"
    return Profile(
        model,
        cloud,
        _media(wire, facts, is_openai),
        facts.features,
        takes_all=is_openai,
        instructions="developer" if has("developer_role") else instructions,
        instructions_anywhere=is_openai or has("system_anywhere"),
        call_ids=call_ids if wire.startswith("openai") else None,
        cache_key=has("cache_breakpoints")
        or (facts.provider == "openai" and facts.cache_minimum is not None),
        takes_thoughts=not (is_openai and "/" not in model) and not has("nine_character_ids"),
        signs_calls=has("thought_signatures"),
        bound_thinking=is_claude_wire and has("thinking_bound_to_prefix"),
        fetches=cloud is None if is_claude_wire else not is_gemini_model or has("web_urls"),
        images=replace(STRICTEST_IMAGES, **{name: n for name, n in limits.items() if n is not None}),
        largest_request=LARGEST_REQUEST[cloud],
        # Vertex AI does not check the signatures of text.
        signs_text=has("thought_signatures") and "image" in model.lower() and cloud != "vertex",
        mixes_tools=(not is_gemini_model or has("provider_tools_with_functions")) and cloud != "vertex",
    )


def _media(wire: str, facts: ModelFacts, is_openai: bool) -> frozenset[str]:
    """The media that a model accepts; for an unknown model, what nearly all models of the wire accept."""
    if wire == "gemini" or (wire == "anthropic" and facts is UNKNOWN):
        return MEDIA
    if facts is not UNKNOWN:
        return MEDIA & facts.features
    return frozenset(("image_input", "pdf_input") if is_openai else ("image_input",))


@lru_cache(256)
def cloud_of(model: str) -> Cloud | None:
    """The cloud that a model name shows; None for the maker's own service or any other.

    Names on Bedrock have the maker and a dot in front; names on Vertex AI have a path, or a date after `@`. A
    name that the maker and a cloud share counts as the maker's; `vertex_ai/claude-…` selects the cloud.
    """
    name = model.strip().lower()
    if _BEDROCK.search(name):
        return "bedrock"
    return "vertex" if _VERTEX.search(name) else None
