"""One spelling for what is written in many: width, accents, case, quotation marks, digits."""

import re
import unicodedata

# Letters that are no other letter with an accent, though they are typed as if they were.
_APART = {
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "\u0131": "i",  # without its dot
    "\u03c2": "\u03c3",  # sigma at the end of a word
    "\u0451": "\u0435",  # the Cyrillic e that is rarely written with its dots
}
_APOSTROPHES = dict.fromkeys(map(ord, "\u2018\u2019\u02bc\u02b9\u2032\uff07"), "'")
_HYPHENS = dict.fromkeys(map(ord, "\u2010\u2011"), "-")
# Inside a word and not seen: soft hyphen, joiners, marks of direction.
_UNSEEN = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF))
_DIGITS = {
    zero + value: str(value) for zero in (0x0660, 0x06F0, 0x0966, 0x09E6, 0x0E50) for value in range(10)
}
_MARKS = _APOSTROPHES | _HYPHENS | _UNSEEN | _DIGITS
_MARK = re.compile(f"[{re.escape(''.join(map(chr, _MARKS)))}]")
_LETTERS = str.maketrans(_APART)
_ACCENTS = re.compile("[\u0300-\u036f]+")
# To bring marks on one letter in order takes time by the square of how many there are.
_PILE = re.compile(r"([^\w\s\x00-\x7f]{30})(?=[^\w\s\x00-\x7f])")
_CYRILLIC = re.compile("[\u0400-\u052f]")


def composed(text: str) -> str:
    """A text with each character in its plain form; letters keep case and accents."""
    if text.isascii():
        return text
    # Few characters are such marks: to look for them is faster than to ask a table for each.
    plain = "".join(unicodedata.normalize("NFKC", part) for part in _PILE.split(text))
    return _MARK.sub(lambda mark: _MARKS[ord(mark[0])] or "", plain)


def folded(word: str) -> str:
    """A word in lower case without accents. Cyrillic keeps its marks: they make other letters."""
    if word.isascii():
        return word.lower()
    lowered = word.casefold().translate(_LETTERS)
    if _CYRILLIC.search(lowered):
        return lowered
    spread = _ACCENTS.sub("", unicodedata.normalize("NFKD", lowered))
    return unicodedata.normalize("NFC", spread).translate(_LETTERS)


def same_length(text: str) -> str:
    """A text in lower case without accents, each character in its place."""
    if text.isascii():
        return text.lower()
    return "".join(unicodedata.normalize("NFKD", letter)[0].lower()[0] for letter in text)
