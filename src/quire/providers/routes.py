"""The clouds that have models of others: which of them a name goes to, as far as the name tells.

Bedrock has dots and the maker before the name, Vertex AI has paths, and dates after an `@`. A name that both
the maker and a cloud have is taken for the maker's: who means the cloud says so, as in `vertex_ai/claude-…`.
"""

import re
from functools import lru_cache
from typing import Literal

Cloud = Literal["bedrock", "vertex"]

_BEDROCK = re.compile(r"bedrock|(^|[/.:])anthropic\.")
_VERTEX = re.compile(r"vertex|(^|/)(publishers|projects)/|claude[^/:@]*@(?!https?:)")


@lru_cache(256)  # it is asked for at every turn, of the same few models
def cloud_of(model: str) -> Cloud | None:
    """The cloud that a model is reached by; none for the services of its maker, and for all others."""
    name = model.strip().lower()
    if _BEDROCK.search(name):
        return "bedrock"
    return "vertex" if _VERTEX.search(name) else None
