"""What is known of a model, by its name, and what a usage cost. The table is in `models`, as of `AS_OF`.

Prices change, and not everybody pays those of the list: pass `cost` facts of your own, such as those of
`msgspec.structs.replace(facts_for(model), prices=Prices(...))`.
"""

import re
from functools import lru_cache

from quire.errors import WrongType
from quire.tokens.families import bare_name, named_by_text, pieces_of
from quire.tokens.models import AS_OF, MODELS, MOVING, Feature, ImageLimits, ModelFacts, Provider
from quire.tokens.usage import Prices, Usage

__all__ = [
    "AS_OF",
    "MODELS",
    "UNKNOWN",
    "Feature",
    "ImageLimits",
    "ModelFacts",
    "Prices",
    "Provider",
    "Usage",
    "cost",
    "facts_for",
    "model_named",
]

_MAKERS = re.compile(r"^(?:(?:meta|minimax|mistral|moonshot(?:ai)?|qwen|xai|zai)\.|labs-|xiaomi-)")
_POINT = re.compile(r"(?<=\d)p(?=\d)")  # one service has no dot in a name: glm-4p6 is GLM-4.6
_VERSION = re.compile(r"(claude-[a-z]+-\d{1,2})[-.](\d{1,2})(?!\d)")

UNKNOWN = ModelFacts("")
"""The row of every model that is in no other: nothing is known, not even the provider."""


def facts_for(model: str) -> ModelFacts:
    """The facts of a model, by its name, with or without a provider before it; `UNKNOWN` if no row fits.

    A dated or otherwise longer name has the facts of the longest prefix, so a fine-tuned one has those of the
    model it was made from. A Claude that came after the table has those of the version before it.
    """
    return _row(named_by_text(model))


def model_named(model: str) -> str:
    """The name of a model as the table spells it; for a name that moves on, the model that it is now."""
    name = bare_name(named_by_text(model))
    return MOVING.get(name, name)


def cost(facts: ModelFacts, usage: Usage, *, long_cache: bool = False) -> float | None:
    """USD for a usage, or None if tokens of some sort were used whose price is not known.

    `long_cache` prices what was written to the cache at the rate of long-lived entries. That prompts beyond
    `facts.flat_until` cost more is left out: a sum of usages no longer shows how long each prompt was.
    """
    if not isinstance(facts, ModelFacts) or not isinstance(usage, Usage):  # pyright: ignore[reportUnnecessaryIsInstance]
        kinds = f"{type(facts).__name__} and {type(usage).__name__}"
        raise WrongType(f"cost takes ModelFacts and a Usage, not {kinds}")
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


@lru_cache(256)  # it is asked for at every turn, of the same few models
def _row(model: str) -> ModelFacts:
    name = model_named(model)
    return _other(model) or _version_before(name) or _longest(name)


def _longest(name: str) -> ModelFacts:
    return max((row for row in MODELS if _begins(name, row.prefix)), key=_length, default=UNKNOWN)


def _other(model: str) -> ModelFacts | None:
    """The row of a model that is none of the three providers', which bare names know nothing of."""
    pieces = pieces_of(model.lower().rpartition("/")[2])
    names = (_POINT.sub(".", _MAKERS.sub("", piece)) for piece in pieces)
    known = (row for name in names if (row := _longest(name)) is not UNKNOWN)
    row = next(known, UNKNOWN)
    return None if row is UNKNOWN or row.provider is not None else row


def _version_before(name: str) -> ModelFacts | None:
    """The newest version of a line that is no newer than a name: its longest prefix would be the oldest."""
    version = _VERSION.match(name)
    if version is None:
        return None
    line, minor = version[1], int(version[2])
    known = {int(row.prefix[len(line) + 1 :] or 0): row for row in MODELS if _is_of(line, row.prefix)}
    return known[max(before)] if (before := [one for one in known if one <= minor]) else None


def _is_of(line: str, prefix: str) -> bool:
    return prefix == line or (prefix.startswith(f"{line}-") and prefix[len(line) + 1 :].isdecimal())


def _begins(name: str, prefix: str) -> bool:
    """Whether a name begins so, and not in the midst of a number: gemini-10 is no gemini-1."""
    if not name.startswith(prefix):
        return False
    return not (prefix[-1:].isdigit() and name[len(prefix) : len(prefix) + 1].isdigit())


def _length(facts: ModelFacts) -> int:
    return len(facts.prefix)
