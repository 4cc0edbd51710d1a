"""How big: counters, what media and tools cost, calibration by reported usage, and the budget."""

from quire.tokens.budget import Budget, Share
from quire.tokens.calibrated import Calibrated, Calibration, Sample
from quire.tokens.counter import Counter, CountsTools, Definition
from quire.tokens.estimating import estimate
from quire.tokens.families import FAMILIES, Family, counter_for, family_of
from quire.tokens.framing import FRAMINGS, Framing
from quire.tokens.measured import Estimate, Exact, Measured
from quire.tokens.media import MEDIA, Media, media_tokens
from quire.tokens.pictures import size_of
from quire.tokens.schemas import schema_tokens

__all__ = [
    "FAMILIES",
    "FRAMINGS",
    "MEDIA",
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
    "Measured",
    "Media",
    "Sample",
    "Share",
    "counter_for",
    "estimate",
    "family_of",
    "media_tokens",
    "schema_tokens",
    "size_of",
]
