"""Token counts: counters, costs of media and tools, calibration by usage, facts of models, budgets."""

from quire.tokens.budget import Budget, Share, share_out as share_out
from quire.tokens.counter import (
    MOST as MOST,
    Counter,
    Definition,
    Tally as Tally,
    checked_counter as checked_counter,
    largest_sum as largest_sum,
    named as named,
    number as number,
    whole as whole,
)
from quire.tokens.measured import (
    FAILED as FAILED,
    NO_OUTPUT as NO_OUTPUT,
    Calibrated,
    Measured,
    answer_tokens as answer_tokens,
    counter_for,
    described as described,
    in_file as in_file,
    is_native as is_native,
    note_text as note_text,
    noted as noted,
    read_definition as read_definition,
    schema_tokens,
    single_definitions as single_definitions,
    summarized as summarized,
)
from quire.tokens.media import is_text as is_text, media_costs, media_tokens, size_of
from quire.tokens.models import (
    AS_OF,
    UNKNOWN as UNKNOWN,
    ImageLimits,
    ModelFacts,
    Prices,
    Usage,
    bare_name as bare_name,
    cost,
    facts_for,
    known_models,
    model_named as model_named,
)

__all__ = [
    "AS_OF",
    "Budget",
    "Calibrated",
    "Counter",
    "Definition",
    "ImageLimits",
    "Measured",
    "ModelFacts",
    "Prices",
    "Share",
    "Usage",
    "cost",
    "counter_for",
    "facts_for",
    "known_models",
    "media_costs",
    "media_tokens",
    "schema_tokens",
    "size_of",
]
