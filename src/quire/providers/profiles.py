"""What a model on a route takes, as one `Profile`: the abilities that the writers ask for.

The facts of models (media, roles, limits) are in `tokens/models.toml`. Here they become what each wire needs
to know, together with the route in the name of a model. A model that is not known gets what nearly all
services take. Where no model is named, the caller knows whom the payload goes to, and nothing is held back.
"""

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from msgspec.structs import replace

from quire.providers.names import Alphabet
from quire.tokens import UNKNOWN, ImageLimits, ModelFacts, bare_name, facts_for

Cloud = Literal["bedrock", "vertex"]

_BEDROCK = re.compile(r"bedrock|(^|[/.:])anthropic\.")
_VERTEX = re.compile(r"vertex|(^|/)(publishers|projects)/|claude[^/:@]*@(?!https?:)")
_GPT = re.compile(r"gpt-\d(?:\.\d{1,2})?(?![\d.a-z])")

_NINE_LETTERS = Alphabet(re.compile("[a-zA-Z0-9]{9}"), 9, is_fixed=True)
_READ_IDS = Alphabet(re.compile("[!-~]{1,64}"), 64)

MEDIA = frozenset(("image_input", "pdf_input", "audio_input"))

STRICTEST_IMAGES = ImageLimits(count=100, bytes=5_242_880, side=8000, many=20, many_side=2000)
"""Limits that every Claude keeps; they hold where the model is not known."""

LARGEST_REQUEST: dict[Cloud | None, int] = {None: 31_000_000, "vertex": 29_000_000, "bedrock": 19_000_000}
"""Anthropic: bytes of a request. The limits are 32, 30 and 20 MB; the rest is for what the caller adds."""


class Profile(NamedTuple):
    """What a model on its route takes."""

    model: str | None
    cloud: Cloud | None = None
    """The cloud that serves a model of another maker, as far as the model name shows it."""
    media: frozenset[str] = MEDIA
    """Of `image_input`, `pdf_input` and `audio_input`, what the model takes."""
    features: frozenset[str] = frozenset()
    """Of the features that `models.toml` explains, those of the model."""

    # OpenAI's two wires, which many others speak
    takes_all: bool = True
    """Whether all of the wire is taken: names of speakers, custom tools, recordings by id."""
    instructions: Literal["system", "developer", "user"] = "system"
    """The role of instructions; `user` if the model takes no other role for them."""
    instructions_anywhere: bool = True
    """Whether instructions stand where they were given; else they are one message at the start."""
    call_ids: Alphabet | None = None
    """The ids that calls must have, where they are not the usual ones of the wire."""
    cache_key: bool = False
    """Whether the service takes `prompt_cache_key`."""

    # Chat: what services of this wire want back beside a message
    takes_thoughts: bool = True
    """Whether reasoning goes back; OpenAI's own models neither give nor take it here, Mistral's need none."""
    signs_calls: bool = False
    """Gemini 3 and later: the first call of a step is refused without a signature."""

    # Anthropic
    bound_thinking: bool = False
    """Thinking is valid only after the very prefix that it was made with, the volatile part included."""
    fetches: bool = True
    """Whether the service fetches media from an address."""
    images: ImageLimits = STRICTEST_IMAGES
    largest_request: int = LARGEST_REQUEST[None]

    # Gemini
    signs_text: bool = False
    """Models that draw, from Gemini 3 on: text and images of the model are refused without a signature."""
    mixes_tools: bool = True
    """Whether functions go together with tools of the provider."""


@lru_cache(256)
def profile_for(wire: str, model: str | None) -> Profile:
    """What a model takes on a wire."""
    if model is None:
        return Profile(None, signs_calls=wire == "gemini")
    facts, cloud = facts_for(model), cloud_of(model)
    has = facts.features.__contains__
    is_gpt = _GPT.match(bare_name(model)) is not None
    is_openai = (is_gpt if facts.provider is None else facts.provider == "openai") and not has("open_weights")
    is_claude_wire, is_gemini_model = wire == "anthropic", facts.provider == "gemini"
    call_ids = _NINE_LETTERS if has("nine_character_ids") else _READ_IDS if has("model_reads_ids") else None
    limits = {name: getattr(facts.images, name) for name in ImageLimits.__struct_fields__}
    return Profile(
        model,
        cloud,
        _media(wire, facts, is_openai),
        facts.features,
        takes_all=is_openai,
        instructions="developer" if has("developer_role") else "user" if has("no_system_role") else "system",
        instructions_anywhere=is_openai or has("system_anywhere"),
        call_ids=call_ids if wire.startswith("openai") else None,
        cache_key=has("cache_breakpoints")
        or (facts.provider == "openai" and facts.cache_minimum is not None),
        takes_thoughts=not (is_openai and "/" not in model) and not has("nine_character_ids"),
        signs_calls=has("thought_signatures"),
        bound_thinking=is_claude_wire and has("thinking_bound_to_prefix"),
        fetches=cloud is None if is_claude_wire else not is_gemini_model or has("web_urls"),
        images=replace(STRICTEST_IMAGES, **{name: most for name, most in limits.items() if most is not None}),
        largest_request=LARGEST_REQUEST[cloud],
        # Vertex AI does not look at the signatures of text.
        signs_text=has("thought_signatures") and "image" in model.lower() and cloud != "vertex",
        mixes_tools=(not is_gemini_model or has("provider_tools_with_functions")) and cloud != "vertex",
    )


def _media(wire: str, facts: ModelFacts, is_openai: bool) -> frozenset[str]:
    """The media that a model takes; of one that is not known, what nearly all of the wire take."""
    if wire == "gemini" or (wire == "anthropic" and facts is UNKNOWN):
        return MEDIA
    if facts is not UNKNOWN:
        return MEDIA & facts.features
    return frozenset(("image_input", "pdf_input") if is_openai else ("image_input",))


@lru_cache(256)
def cloud_of(model: str) -> Cloud | None:
    """The cloud that a model name goes to; None for the service of its maker, and for all others.

    Bedrock has dots and the maker before the name, Vertex AI has paths, and dates after an `@`. A name that
    the maker and a cloud share is taken for the maker's; `vertex_ai/claude-…` says that the cloud is meant.
    """
    name = model.strip().lower()
    if _BEDROCK.search(name):
        return "bedrock"
    return "vertex" if _VERTEX.search(name) else None
