"""A piece of text without spaces cut into terms: words, numbers, identifiers, other scripts."""

import re
from collections.abc import Callable, Iterator

from quire.memory.words import scripts
from quire.memory.words.dates import date_terms
from quire.memory.words.latin import LONGEST, compound, quoted

_LATIN = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0300-\u036f\u1e00-\u1eff"
_LETTER = f"[{_LATIN}0-9]"
# Han, its radicals and marks, and both kinds of kana.
_UNSPACED = (
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_THOUSANDS = r"[0-9]{1,3}(?:,[0-9]{3}){1,9}(?:\.[0-9]+)?|[0-9]+\.[0-9]+"
# By name, first to match: the name is how it is cut.
_KINDS = {
    "date": rf"[0-9]{{4}}-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12][0-9]|3[01])(?!-?{_LETTER})",
    "number": rf"(?:{_THOUSANDS})(?!,?{_LETTER}|[._-]{_LETTER})",
    "sharp": r"[A-Za-z](?:\+\+|\#)(?![A-Za-z0-9])",
    "latin": rf"{_LETTER}+(?:(?:[-._@&']|__|::){_LETTER}+)*",
    "hangul": r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]+",
    "unspaced": f"[{_UNSPACED}]+",
    "stacked": r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+",
    "cyrillic": r"[\u0400-\u052f]+",
    "arabic": r"[\u0610-\u061a\u0620-\u065f\u066e-\u06d3\u06d5-\u06ef\u06fa-\u06ff\u0750-\u077f]+",
    "hebrew": r"[\u0591-\u05f4]+",
    "other": r"(?:[\u0900-\u0963\u0966-\u0dff\u0f00-\u0fff]|[^\W_])+",
}
_PIECE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))
# Of an address: how it is fetched, and characters it could not hold.
_UNSAID = re.compile(r"(?<![A-Za-z])[A-Za-z]+://(?:www\.)?|%[0-9A-Fa-f]{2}")
_PAIR, _TRIPLE = 2, 3

Cut = Callable[[str], Iterator[str]]


def _date(piece: str) -> Iterator[str]:
    year, month, day = map(int, piece.split("-"))
    yield from date_terms(year, month, day)


def _number(piece: str) -> Iterator[str]:
    plain = piece.replace(",", "")
    yield (plain.rstrip("0").rstrip(".") if "." in plain else plain)


def _lowered(piece: str) -> Iterator[str]:
    yield piece.lower()


def _pairs(piece: str) -> Iterator[str]:
    return scripts.runs(piece, _PAIR)


def _triples(piece: str) -> Iterator[str]:
    return scripts.runs(piece, _TRIPLE)


_CUTS: dict[str, Cut] = {
    "date": _date,
    "number": _number,
    "sharp": _lowered,
    "hangul": _pairs,
    "unspaced": scripts.unspaced,
    "stacked": _triples,
}
_WORDS: dict[str, Cut] = {
    "cyrillic": scripts.cyrillic,
    "arabic": scripts.arabic,
    "hebrew": scripts.hebrew,
    "other": scripts.other,
}


def cut(chunk: str, language: str) -> tuple[str, ...]:
    """The terms of a text without spaces, in order."""
    if "://" in chunk:
        chunk = _UNSAID.sub(" ", chunk)
    return tuple(term for piece in _PIECE.finditer(chunk) for term in _terms_of(piece, language))


def _terms_of(piece: "re.Match[str]", language: str) -> Iterator[str]:
    kind, text = piece.lastgroup or "other", piece[0]
    if kind == "latin":
        return quoted(text, language) if "'" in text else compound(text, language)
    return _WORDS[kind](text[:LONGEST]) if kind in _WORDS else _CUTS[kind](text)
