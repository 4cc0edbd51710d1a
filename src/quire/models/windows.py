"""How much a model reads at once, where that was found to be less than was thought.

It is for those who choose what to send; no answer depends on it. It is of the model itself and not of its
name: two services may have a model of the same name, with two windows.
"""

from contextlib import suppress
from weakref import WeakKeyDictionary

from quire.models.model import AnyModel

# Each verb does one thing with it, which no other thread can come between.
_found: "WeakKeyDictionary[AnyModel, int]" = WeakKeyDictionary()


def found_window(model: AnyModel) -> int | None:
    """The window of a model that was found out, in tokens as its provider counts them; else none."""
    try:
        return _found.get(model)
    except TypeError:
        return None


def keep_window(model: AnyModel, tokens: int) -> None:
    """Remember what was found out, for as long as the model is there and for all who ask it."""
    with suppress(TypeError):  # it cannot be a key, or be held weakly: then it is found out anew
        _found[model] = tokens


def drop_window(model: AnyModel) -> None:
    """Take back what was found out: the model reads more."""
    with suppress(TypeError):
        _found.pop(model, None)
