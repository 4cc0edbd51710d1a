"""Anthropic Messages: what a model takes, as far as it is known."""

from typing import NamedTuple

from quire.providers.routes import Cloud, cloud_of
from quire.tokens import UNKNOWN, ImageLimits, facts_for

NAME = "anthropic"

STRICTEST = ImageLimits(count=100, bytes=5_242_880, side=8000, many=20, many_side=2000)
"""What every model takes: the limits where no model is named, or one that is not known."""


LARGEST: dict[Cloud | None, int] = {None: 31_000_000, "vertex": 29_000_000, "bedrock": 19_000_000}
"""Bytes of a request. The limits are 32, 30 and 20 MB; some are left for what the caller adds."""


class Abilities(NamedTuple):
    """What is written differently from model to model.

    A model that is not in the table is taken for one that sees and reads: a proxy has names of its own.
    """

    steered: bool = False  # takes instructions in the middle, with a role of their own
    bound: bool = False  # its thinking is valid only after the very prefix it was made with
    sees: bool = True
    reads: bool = True  # takes PDFs
    images: ImageLimits = STRICTEST
    cache_minimum: int = 0
    fetches: bool = True  # takes media by an address or by the id of a file
    largest: int = LARGEST[None]


def abilities_of(model: str | None) -> Abilities:
    """What is known of a model, by its name."""
    if model is None:
        return Abilities()
    facts, cloud = facts_for(model), cloud_of(model)
    routed = Abilities(fetches=cloud is None, largest=LARGEST[cloud])
    if facts is UNKNOWN:
        return routed
    # Also of others that speak this wire: a model is no less blind on it.
    able = routed._replace(sees="image_input" in facts.features, reads="pdf_input" in facts.features)
    if facts.provider != NAME:
        return able
    return able._replace(
        steered="system_mid_conversation" in facts.features,
        bound="thinking_bound_to_prefix" in facts.features,
        images=_limited(facts.images),
        cache_minimum=facts.cache_minimum or 0,
    )


def _limited(known: ImageLimits) -> ImageLimits:
    """The limits of a model; where one is not known, that of all models."""
    return ImageLimits(
        **{
            name: getattr(STRICTEST, name) if getattr(known, name) is None else getattr(known, name)
            for name in ImageLimits.__struct_fields__
        }
    )
