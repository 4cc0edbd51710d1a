"""Who thinks aloud on a wire that another made, and does not seal what it thought."""

import re
from functools import lru_cache

_UNSEALED = re.compile(r"(?:^|[/:.])(?:deepseek|kimi|moonshot(?:ai)?|(?:xiaomi[-_])?mimo)(?![a-z])")
_SEALED = "claude"


def is_sealed(model: str) -> bool:
    """Whether a model is Anthropic's own, by whichever route: it signs what it thinks."""
    return _SEALED in model.lower()


@lru_cache(256)  # it is asked for each thought, of the same few models
def is_unsealed(model: str) -> bool:
    """Whether a model's service gives thinking without a signature, and wants it back so.

    Anthropic's own models are none of them, whatever stands before the name: they refuse what they did not
    sign.
    """
    name = model.strip().lower()
    return _UNSEALED.search(name) is not None and not is_sealed(name)
