"""What OpenAI's two wires are to a model: its own rules, and those of others who speak them."""

import re
from functools import lru_cache
from typing import NamedTuple

from quire.providers.names import Alphabet, Counted, Exact, alphabet
from quire.tokens import UNKNOWN, ModelFacts, bare_name, facts_for

_VERSION = re.compile(r"gpt-(\d)(?:\.(\d{1,2}))?(?![\d.a-z])")
_NINE = Exact(re.compile("[a-zA-Z0-9]{9}"), 9)
_READ = Counted(*alphabet(64, r"[!-~]"))


class Manners(NamedTuple):
    """What a model takes."""

    instructions: str
    """The role of instructions; `user` where the model takes none."""
    media: frozenset[str]
    breakpoints: bool
    keyed: bool
    """Whether the model has a prompt cache with keys: many who speak this wire refuse a field of OpenAI's."""
    anywhere: bool
    """Whether instructions stand where they were given; else they are one message, at the start."""
    verbatim: bool
    """Whether arguments go back as the model wrote them, also those that are no JSON object."""
    heard: bool
    """Whether the model has to speak between a result and what the user says, and never speaks last."""
    whole: bool
    """Whether all of the wire is taken: the names of speakers, tools of any text, recordings by their ids."""


def manners_of(model: str | None) -> Manners:
    """What a model takes; one that is not known is trusted with all that most take, which is no file.

    One that is not named is given all: who sends a recording to it knows whom it goes to. Only its arguments
    are mended, since whoever reads them loses nothing by that.
    """
    facts = facts_for(model) if model else UNKNOWN
    features = frozenset[str](facts.features)
    own = is_own(model, facts)
    instructions = "user" if "no_system_role" in features else "system"
    if "developer_role" in features:
        instructions = "developer"
    marked = "cache_breakpoints" in features or _is_marked(model)
    caches = facts.provider == "openai" and facts.cache_minimum is not None
    whole = own or model is None
    return Manners(
        instructions=instructions,
        media=_media(model, facts, own),
        breakpoints=marked,
        keyed=marked or caches,
        anywhere=whole or "system_anywhere" in features,
        verbatim=own,
        heard="assistant_after_results" in features,
        whole=whole,
    )


@lru_cache(256)  # it is asked for at every turn, of the same few models
def ids_of(model: str | None, usual: Alphabet) -> Alphabet:
    """The ids that calls have for a model, where they are not the usual ones of the wire."""
    features = facts_for(model).features if model else UNKNOWN.features
    if "nine_character_ids" in features:
        return _NINE
    return _READ if "model_reads_ids" in features else usual


def _media(model: str | None, facts: ModelFacts, own: bool) -> frozenset[str]:
    """The media that a model takes, as features; of one that is in no table, what it may take."""
    if facts is not UNKNOWN:
        return frozenset[str](facts.features)
    seen = frozenset(("image_input", "pdf_input") if own or model is None else ("image_input",))
    return seen | {"audio_input"} if model is None else seen


def is_own(model: str | None, facts: ModelFacts) -> bool:
    """Whether a model is OpenAI's, served by it alone; those too that came after the table."""
    if facts.provider is None:
        return _version(model) is not None
    return facts.provider == "openai" and "open_weights" not in facts.features


def _is_marked(model: str | None) -> bool:
    """Whether a model takes breakpoints: all from GPT-5.6 on do, those too that came after the table."""
    found = _version(model)
    return found is not None and (int(found[1]), int(found[2] or 0)) >= (5, 6)


def _version(model: str | None) -> re.Match[str] | None:
    return _VERSION.match(bare_name(model)) if model else None
