"""Words of the Latin script: plain ones, contractions, and identifiers, whole and in parts.

A word of an English text has one term, its stem. A word of another language has the stem of that language
too, beside the one that English makes of its folded letters: that one is the same whichever language was
detected, so a question too short to tell its language still meets the text.
"""

import re
from collections.abc import Iterator
from itertools import chain

from quire.memory.words.english import stem
from quire.memory.words.folding import folded
from quire.memory.words.languages import ENGLISH, stop_words
from quire.memory.words.snowball import stemmer

LONGEST = 64
"""Characters of a term; what is longer is cut, in texts and questions alike."""

_JOINS = re.compile("[-._@&:']+")
_HUMPS = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ORDINAL = re.compile("([0-9]+)(?:st|nd|rd|th)", re.IGNORECASE)
_LETTERS_AND_DIGITS = re.compile("([A-Za-z]+)([0-9]+)|([0-9]+)([A-Za-z]+)")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]")
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+")
_MARKED_VERSION = re.compile(r"[vV]([0-9]+(?:\.[0-9]+)+)")
_ENDINGS = frozenset(("s", "t", "re", "ve", "ll", "d", "m", "em"))
_ELISIONS = "l d j m n s t c qu un all dell dall nell sull quell lorsqu puisqu jusqu"
_ELIDED = frozenset(_ELISIONS.split())
_USA = "usa"


def quoted(token: str, language: str) -> Iterator[str]:
    """A token with apostrophes: what is elided or added falls, what is left is one name (O'Brien)."""
    *front, last = token.split("'")
    if last.lower() == "t" and front[-1][-1:].lower() == "n":
        return
    kept = front if last.lower() in _ENDINGS else [*front, last]
    if len(kept) > 1 and folded(kept[0]) in _ELIDED:
        kept = kept[1:]
    yield from compound("-".join(kept), language)


def compound(token: str, language: str) -> Iterator[str]:
    """A token that may be joined of several: the whole, then its parts."""
    if _VERSION.fullmatch(token):
        yield token[:LONGEST]
        return
    if version := _MARKED_VERSION.fullmatch(token):  # said with its mark or without, it is the same
        yield _unmarked(version[1])[:LONGEST]
    parts = _JOINS.split(token)
    if len(parts) == 1:
        yield from _word(token, language)
        return
    if _INITIALS.fullmatch(token):
        yield from _initials("".join(parts), language)
        return
    if not stop_words(language).issuperset(map(folded, parts)):
        yield from _plain("".join(parts), language)
    yield from chain.from_iterable(_word(part, language) for part in parts)


def _unmarked(version: str) -> str:
    """A version as it is cut where it stands alone; one of two numbers is a number there."""
    return version if version.count(".") > 1 else version.rstrip("0").rstrip(".")


def _initials(letters: str, language: str) -> Iterator[str]:
    yield from (_USA,) if letters.lower() == "us" else _plain(letters, language)


def _word(token: str, language: str) -> Iterator[str]:
    """One part of an identifier, or a word: whole, and in humps or letters and digits."""
    if token == "US":  # in lower case it is a little word
        yield _USA
    elif ordinal := _ORDINAL.fullmatch(token):
        yield ordinal[1][:LONGEST]
    else:
        yield from _plain(token, language)
        if not (token.islower() or token.isupper() or token.istitle()):
            yield from chain.from_iterable(_plain(hump, language) for hump in _humps(token))
        if mixed := _LETTERS_AND_DIGITS.fullmatch(token):
            yield from chain.from_iterable(_plain(part, language) for part in _halves(mixed))


def _humps(token: str) -> list[str]:
    humps: list[str] = _HUMPS.findall(token[:LONGEST])
    return [hump for hump in humps if len(hump) > 1] if len(humps) > 1 else []


def _halves(mixed: "re.Match[str]") -> list[str]:
    letters, number, amount, unit = (half or "" for half in mixed.groups())
    return [half for half in (letters, number, unit) if len(half) > 1] + [amount] * bool(amount)


def _plain(token: str, language: str) -> Iterator[str]:
    """The terms of a word that is not cut further."""
    word = folded(token[:LONGEST])
    if not word or word in stop_words(language):
        return
    common = stem(word)
    yield common
    own = stemmer(language) if language != ENGLISH else None
    if own and (stemmed := folded(own(token[:LONGEST].lower()))) != common:
        yield stemmed
