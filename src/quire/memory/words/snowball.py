"""Stemmers of other languages than English, where the optional library is installed."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, cast

Stem = Callable[[str], str]


@cache
def stemmer(language: str) -> Stem | None:
    """The Snowball stemmer of a language, or none where the library is missing or does not know it."""
    try:
        module = import_module(f"snowballstemmer.{language}_stemmer")
    except ImportError:
        return None
    # By its class: the library's own choice may take a compiled one of another version, with other stems.
    made = cast("Callable[[], Any]", getattr(module, f"{language.capitalize()}Stemmer"))

    def stem(word: str) -> str:
        # A stemmer holds the word it works on, so threads do not share one.
        return str(made().stemWord(word))

    return stem


def dialect() -> str:
    """What terms are made with: an index made with another dialect has other terms and is made anew."""
    return "4" if stemmer("german") is None else "4+snowball"
