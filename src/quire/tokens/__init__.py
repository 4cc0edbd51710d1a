"""How big: counters, what media and tools cost, calibration by reported usage, and the budget."""

from quire.tokens.budget import Budget, Share
from quire.tokens.calibrated import Calibrated, Calibration, Sample
from quire.tokens.counter import Counter, CountsTools, Definition
from quire.tokens.estimating import estimate
from quire.tokens.facts import AS_OF, MODELS, ImageLimits, ModelFacts, cost, facts_for
from quire.tokens.families import FAMILIES, Family, counter_for, family_of
from quire.tokens.framing import FRAMINGS, Framing
from quire.tokens.measured import Estimate, Exact, Measured
from quire.tokens.media import MEDIA, Media, media_tokens
from quire.tokens.pictures import size_of
from quire.tokens.schemas import schema_tokens
from quire.tokens.usage import Prices, Usage

__all__ = [
    "AS_OF",
    "FAMILIES",
    "FRAMINGS",
    "MEDIA",
    "MODELS",
    "Budget",
    "Calibrated",
    "Calibration",
    "Counter",
    "CountsTools",
    "Definition",
    "Estimate",
    "Exact",
    "Family",
    "Framing",
    "ImageLimits",
    "Measured",
    "Media",
    "ModelFacts",
    "Prices",
    "Sample",
    "Share",
    "Usage",
    "cost",
    "counter_for",
    "estimate",
    "facts_for",
    "family_of",
    "media_tokens",
    "schema_tokens",
    "size_of",
]
