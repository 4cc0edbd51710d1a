"""Who answers: the protocol of a model, one that follows a script, and one that runs on this machine.

Models of providers come with their clients, as extras.
"""

from collections.abc import Callable

from quire.errors import InvalidValue, cut
from quire.models.answering import Answering
from quire.models.local import Local, local
from quire.models.model import Model
from quire.models.replies import Reply
from quire.models.scripted import Script, Scripted
from quire.models.summarizing import asking, compact, summarized
from quire.tokens.numbers import named

__all__ = [
    "MODELS",
    "Answering",
    "Local",
    "Model",
    "Reply",
    "Script",
    "Scripted",
    "asking",
    "compact",
    "local",
    "model_for",
    "summarized",
]

MODELS: dict[str, Callable[[str | None], Model]] = {"local": local}
"""Who answers, by what stands before the colon of a name; what stands after it is handed on."""


def model_for(name: str) -> Model:
    """The model of a name: `local`, or `local:` and the path of a GGUF file."""
    kind, _, rest = named(name, "the name of a model").partition(":")
    if kind not in MODELS:
        raise InvalidValue(
            f"no model {cut(name)!r}; there is {', '.join(MODELS)}. "
            "Others come with an extra of their own, or bring an object that can `ask` and `stream`"
        )
    return MODELS[kind](rest or None)
