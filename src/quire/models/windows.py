"""How much a model reads at once, where that was found to be less than was thought.

It is for those who choose what to send; no answer depends on it. It is of the model itself and not of its
name: two services may have a model of the same name, with two windows.
"""

from contextlib import suppress
from typing import NamedTuple
from weakref import WeakKeyDictionary

from quire.items import now
from quire.models.model import AnyModel

_BELIEVED = 3600.0
"""Seconds for which a window counts that nobody stated: a guess that was wrong is not kept for ever."""


class _Found(NamedTuple):
    tokens: int
    until: float


# Two threads at once lose one of two reports at most, and others follow.
_found: "WeakKeyDictionary[AnyModel, _Found]" = WeakKeyDictionary()
_read: "WeakKeyDictionary[AnyModel, int]" = WeakKeyDictionary()


def found_window(model: AnyModel) -> int | None:
    """The window of a model that was found out, in tokens as its provider counts them; else none."""
    try:
        found = _found.get(model)
    except TypeError:
        return None
    return None if found is None or found.until <= now() else found.tokens


def keep_window(model: AnyModel, tokens: int, *, is_stated: bool = True) -> None:
    """Remember what was found out, for as long as the model is there and for all who ask it.

    What was not stated is a guess, and is remembered for a while.
    """
    with suppress(TypeError):  # it cannot be a key, or be held weakly: then it is found out anew
        _found[model] = _Found(tokens, float("inf") if is_stated else now() + _BELIEVED)


def raise_window(model: AnyModel, tokens: int) -> None:
    """Take in that a model reads so many at least: what was found out is no less."""
    with suppress(TypeError):
        found = _found.get(model)
        if found is not None and found.tokens < tokens:
            _found[model] = found._replace(tokens=tokens)


def drop_window(model: AnyModel) -> None:
    """Take back what was found out: the model reads more."""
    with suppress(TypeError):
        _found.pop(model, None)


def note_read(model: AnyModel, tokens: int) -> None:
    """Take in that a model has read so many at once, by the count of its provider."""
    with suppress(TypeError):
        if tokens > _read.get(model, 0):
            _read[model] = tokens
    raise_window(model, tokens)


def most_read(model: AnyModel) -> int:
    """The most that a model is known to have read at once, in tokens as its provider counts them."""
    try:
        return _read.get(model, 0)
    except TypeError:
        return 0
