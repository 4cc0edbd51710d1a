"""How big: counters, what media and tools cost, calibration by reported usage, and the budget."""

from quire.tokens.asking import checked_counter as checked_counter, count_by as count_by, total_by as total_by
from quire.tokens.budget import Budget, Share, share_out as share_out
from quire.tokens.calibrated import Calibrated, Calibration, Sample
from quire.tokens.counter import Counter, CountsTools, Definition
from quire.tokens.estimating import estimate
from quire.tokens.facts import (
    AS_OF,
    MODELS,
    UNKNOWN as UNKNOWN,
    ImageLimits,
    ModelFacts,
    cost,
    facts_for,
    model_named as model_named,
)
from quire.tokens.families import FAMILIES, Family, bare_name as bare_name, counter_for, family_of
from quire.tokens.framing import FRAMINGS, Framing
from quire.tokens.lines import LEAST_SCALE as LEAST_SCALE, MOST_SCALE as MOST_SCALE
from quire.tokens.measured import Estimate, Exact, Measured
from quire.tokens.media import MEDIA, Media, media_tokens
from quire.tokens.numbers import (
    MOST as MOST,
    count_of as count_of,
    digits as digits,
    named as named,
    number as number,
    whole as whole,
)
from quire.tokens.pictures import size_of
from quire.tokens.schemas import (
    answer_tokens as answer_tokens,
    read_definition as read_definition,
    schema_tokens,
    single_definitions as single_definitions,
)
from quire.tokens.spoken import (
    FAILED as FAILED,
    NO_OUTPUT as NO_OUTPUT,
    in_file as in_file,
    note_text as note_text,
    noted as noted,
    summarized as summarized,
)
from quire.tokens.text_files import is_text as is_text, is_utf8 as is_utf8
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
