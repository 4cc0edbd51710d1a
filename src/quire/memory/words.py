"""The terms of a text: stemmed words, numbers and identifiers, as a lexical index holds them.

English is stemmed here. A word of another language in Latin script has two terms: the English stem of its
folded letters, and the stem of its own language where `snowballstemmer` is installed. The first does not
depend on the detected language, so a question too short to tell its language still meets the text.
"""

import re
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, cast

_LISTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))

ENGLISH = "english"
LONGEST_TERM = 64
_MEMO_SIZE = 1 << 15
_LONGEST_IN_MEMO = 40


def terms(text: str, *, like: str | None = None) -> list[str]:
    """The terms of a text in order, with repetitions.

    The text is read in its own language, or in the language of the text `like` that it is part of.
    """
    plain = composed(text)
    memo = _MEMOS[language_of(plain if like is None else composed(like))]
    return list(chain.from_iterable(map(memo.__getitem__, plain.split())))


def dialect() -> str:
    """The version of these rules. An index made with another dialect has other terms and is rebuilt."""
    return "6" if _snowball("german") is None else "6+snowball"


# Folding: one spelling for width, accents, case, apostrophes and digits.

_MARKS: dict[str, str] = {
    **{mark: plain for plain, marks in _LISTS["marks"].items() for mark in marks},
    **{chr(ord(zero) + value): str(value) for zero in _LISTS["digit_zeros"] for value in range(10)},
}
_MARK = re.compile(f"[{re.escape(''.join(_MARKS))}]")
_PILED_MARKS = re.compile(r"([^\w\s\x00-\x7f]{30})(?=[^\w\s\x00-\x7f])")  # normalizing a pile is quadratic
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]+")
_CYRILLIC = re.compile("[\u0400-\u052f]")
_LETTERS = str.maketrans(_LISTS["letters"])


def composed(text: str) -> str:
    """A text with each character in its plain form; letters keep case and accents."""
    if text.isascii():
        return text
    plain = "".join(unicodedata.normalize("NFKC", part) for part in _PILED_MARKS.split(text))
    return _MARK.sub(lambda mark: _MARKS[mark[0]], plain)


def folded(word: str) -> str:
    """A word in lower case without accents. Cyrillic keeps its accents: they make other letters."""
    if word.isascii():
        return word.lower()
    lowered = word.casefold().translate(_LETTERS)
    if _CYRILLIC.search(lowered):
        return lowered
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", lowered))
    return unicodedata.normalize("NFC", bare).translate(_LETTERS)


# The language of a text in Latin script.

_STOP_WORDS = {
    ENGLISH: frozenset(_LISTS["stop_words"].split()),
    **{language: frozenset(words.split()) for language, words in _LISTS["function_words"].items()},
}
_FOREIGN = frozenset[str]().union(*_STOP_WORDS.values()) - _STOP_WORDS[ENGLISH]
_TELLING = _FOREIGN.difference(_LISTS["shared_with_english"].split())
_DETECTED_WITHIN = 500
_FUNCTION_WORD_SHARE = 10
"""One word in so many is a function word in any language. Logs, code and lists of names have fewer."""
_ONLY_LETTERS = "".join(chr(code) if chr(code).islower() else " " for code in range(128))


def language_of(text: str) -> str:
    """The language of a text in Latin script, decided by the function words of its beginning."""
    beginning = text[:_DETECTED_WITHIN].lower()
    if not beginning.isascii():
        if "\u00bf" in beginning:  # only Spanish opens questions with a mark
            return "spanish"
        beginning = unicodedata.normalize("NFKD", beginning.casefold()).encode("ascii", "ignore").decode()
    words = beginning.translate(_ONLY_LETTERS).split()
    return ENGLISH if _FOREIGN.isdisjoint(words) else _likeliest_language(set(words))


def _likeliest_language(words: set[str]) -> str:
    """The language with most function words in the text; English where the evidence is thin."""
    counts = {language: len(words & known) for language, known in _STOP_WORDS.items()}
    best = max(counts, key=counts.__getitem__)
    is_evident = counts[best] > 1 or not _TELLING.isdisjoint(words)
    return best if is_evident and counts[best] * _FUNCTION_WORD_SHARE >= len(words) else ENGLISH


# Stemming. Stems are for meeting, not for reading.

_VOWELS = frozenset("aeiouy")
_DOUBLED = ("bb", "dd", "gg", "mm", "nn", "pp", "rr", "tt")
_SIBILANT_PLURALS = ("sses", "shes", "ches", "xes", "zzes", "oes")
_KEPT_S = ("ss", "us", "is", "ous")
_BEFORE_LY = frozenset("cdeghklmnprstw")
_STEM_ROUNDS = 4
_ENDINGS: dict[str, str] = _LISTS["endings"]


def _irregular_forms() -> dict[str, str]:
    forms = {word: word for word in _LISTS["uninflected"].split()}
    for group in ";".join(_LISTS["irregular"].values()).split(";"):
        first, *others = group.split()
        forms.update(dict.fromkeys(others, first))
    return forms


_IRREGULAR = _irregular_forms()


@lru_cache(maxsize=1 << 14)
def stem(word: str) -> str:
    """The stem of an English word in lower case without accents; the stem of a stem is itself."""
    found = _IRREGULAR.get(word, word)
    for _ in range(_STEM_ROUNDS):
        shorter = _without_ending(found)
        if shorter == found or shorter in _STOP_WORDS[ENGLISH]:
            break
        found = shorter
    return found


def _without_ending(word: str) -> str:
    if len(word) < 3 or not word.isalpha():
        return word
    for shortened in (_singular, _without_tense, _without_derivation, _with_plain_end):
        if _IRREGULAR.get(word) == word:
            break
        shorter = shortened(word)
        word = _IRREGULAR.get(shorter, shorter)
    return word


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(_KEPT_S) or not _has_vowel(word[:-1]):
        return word
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-3] + "y"
    return word[:-2] if word.endswith(_SIBILANT_PLURALS) else word[:-1]


def _without_tense(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-3] + "y"
    if word.endswith("eed"):
        return word[:-1] if _has_vowel(word[:-3]) else word
    if word.endswith("ed"):
        return _verb(word, word[:-2])
    return _verb(word, word[:-3]) if word.endswith("ing") else word


def _verb(word: str, rest: str) -> str:
    """The infinitive of a verb: with the e it lost, or without the consonant that was doubled."""
    if len(rest) < 2 or not _has_vowel(rest):
        return word
    if rest.endswith(_DOUBLED) and len(rest) > 3:
        return rest[:-1]
    lost_an_e = rest.endswith(("at", "bl", "iz", "v", "dg", "s")) and not rest.endswith("ss")
    return rest + "e" if lost_an_e or _is_short(rest) else rest


def _without_derivation(word: str) -> str:
    if word.endswith("ly") and len(word) > 5 and word[-3] in _BEFORE_LY and not word.endswith("fully"):
        return word[:-2]
    if word.endswith("ily") and len(word) > 5:
        return word[:-3] + "y"
    if word.endswith(("ier", "iest")) and len(word) > 5:
        return word[: word.rindex("ie")] + "y"
    for ending, replacement in _ENDINGS.items():
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and _has_vowel(rest):
            return rest + replacement
    return word


def _with_plain_end(word: str) -> str:
    """Carry and carri(ed), danc(ing) and dance, cancel and cancell(ed) end alike; hop and hope stay apart.

    So do Daniel and Danielle: a long word keeps what follows a doubled l.
    """
    if len(word) < 4:
        return word
    if word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "i"
    if word.endswith(("ll", "lle")) and _is_long(word[: word.rindex("ll")]):
        return word.removesuffix("l")
    if word.endswith("e") and word[-2] != "s" and _has_vowel(word[:-1]) and not _is_short(word[:-1]):
        return word[:-1]
    return word


def _has_vowel(word: str) -> bool:
    return not _VOWELS.isdisjoint(word)


def _syllables(word: str) -> int:
    """How often a consonant follows a vowel."""
    vowels = [letter in _VOWELS for letter in word]
    return sum(before and not after for before, after in pairwise(vowels))


def _is_long(beginning: str) -> bool:
    """Whether a word has more than one syllable up to its last vowel: can-ce(l), fu-e(l); not ca(ll)."""
    has_two_vowels = beginning.endswith(("ia", "ue")) and not beginning.endswith("que")
    return has_two_vowels or _syllables(beginning) > 0


def _is_short(word: str) -> bool:
    """Whether a word is one syllable that ends in one vowel and one consonant: hop, writ(e), us(e)."""
    if len(word) < 2 or word[-1] in _VOWELS or word[-1] in "wx" or word[-2] not in _VOWELS:
        return False
    return len(word) == 2 or (word[-3] not in _VOWELS and _syllables(word) == 1)


@cache
def _snowball(language: str) -> Callable[[str], str] | None:
    """The Snowball stemmer of a language, or None where the extra `languages` is not installed."""
    try:
        module = import_module(f"snowballstemmer.{language}_stemmer")
    except ImportError:
        return None
    # By its class: `snowballstemmer.stemmer` may pick a compiled version with other stems.
    make = cast("Callable[[], Any]", getattr(module, f"{language.capitalize()}Stemmer"))

    def stem_word(word: str) -> str:
        return str(make().stemWord(word))  # a stemmer holds its word, so threads must not share one

    return stem_word


# Cutting a run of text without spaces into terms.

_LATIN_LETTER = f"[{_LISTS['latin']}0-9]"
_PIECE = re.compile(
    "|".join(
        f"(?P<{kind}>{pattern.replace('LETTER', _LATIN_LETTER)})"
        for kind, pattern in _LISTS["pieces"].items()
    )
)
_URL_NOISE = re.compile(r"(?<![A-Za-z])[A-Za-z]+://(?:www\.)?|%[0-9A-Fa-f]{2}")
_JOINS = re.compile("[-._@&:']+")
_HUMPS = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_HALVES = re.compile("[A-Za-z]+|[0-9]+")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]")
_ORDINAL = re.compile("([0-9]+)(?:st|nd|rd|th)", re.IGNORECASE)
_CONTRACTED = frozenset(("s", "t", "re", "ve", "ll", "d", "m", "em"))
_ELIDED = frozenset(_LISTS["elided"].split())
_SCRIPT_STOP_WORDS = frozenset(
    folded(word) for words in _LISTS["script_stop_words"].values() for word in words.split()
)
_HAN_STOP_WORDS = frozenset(_LISTS["han_stop_words"])
# Articles and prepositions that Hebrew and Arabic write onto the next word.
_ATTACHED = re.compile("(?:[\u05d4\u05d5\u05d1\u05dc\u05de\u05e9\u05db]|[وبكف]?ال|لل)(?=.{3})")
_SNOWBALL_OF_SCRIPT = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0600", "\u06ff", "arabic"),
)


class _Memo(dict[str, tuple[str, ...]]):
    """The terms of runs of text without spaces in one language; emptied when it is full."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, run: str) -> tuple[str, ...]:
        found = tuple(_terms_of_run(run, self._language))
        if len(run) <= _LONGEST_IN_MEMO:
            if len(self) >= _MEMO_SIZE:
                self.clear()
            self[run] = found
        return found


_MEMOS = {language: _Memo(language) for language in _STOP_WORDS}


def _terms_of_run(run: str, language: str) -> list[str]:
    found: list[str] = []
    for piece in _PIECE.finditer(_URL_NOISE.sub(" ", run) if "://" in run else run):
        found += _terms_of_piece(piece.lastgroup or "word", piece[0], language)
    return found


def _terms_of_piece(kind: str, text: str, language: str) -> list[str]:
    match kind:
        case "latin":
            return _latin(text, language)
        case "date":
            year, month, day = map(int, text.split("-"))
            return [str(year), stem(_LISTS["months"].split()[month - 1]), str(day)]
        case "number":
            return [_number(text)]
        case "sharp":
            return [text.lower()]
        case "hangul":
            return _runs(text, 2)
        case "stacked":
            return _runs(text, 3)
        case "unspaced":
            return _runs(text, 2) + ([one for one in text if _is_han_word(one)] if len(text) > 1 else [])
        case _:
            return _word_of_script(text[:LONGEST_TERM])


def _number(text: str) -> str:
    """1,200.50 is 1200.5, and v1.2.0 is 1.2.0."""
    plain = text.lstrip("vV").replace(",", "")
    return (plain.rstrip("0").rstrip(".") if plain.count(".") == 1 else plain)[:LONGEST_TERM]


def _runs(text: str, width: int) -> list[str]:
    """Overlapping runs of a few characters."""
    return [text[at : at + width] for at in range(max(len(text) - width + 1, 1))]


def _is_han_word(character: str) -> bool:
    is_kana = "\u3000" <= character < "\u3400"
    return not is_kana and character not in _HAN_STOP_WORDS


def _word_of_script(text: str) -> list[str]:
    """A word of another script: folded, without what is written onto it, and its stem."""
    word = folded(text)
    if not word or word in _SCRIPT_STOP_WORDS:
        return []
    found = [word, _ATTACHED.sub("", word, count=1)]
    language = next((name for first, last, name in _SNOWBALL_OF_SCRIPT if first <= word[0] <= last), None)
    stem_word = _snowball(language) if language else None
    return list(dict.fromkeys([*found, folded(stem_word(word))] if stem_word else found))


def _latin(token: str, language: str) -> list[str]:
    """A word, or an identifier: the whole and its parts."""
    if token in ("US", "U.S"):  # in lower case it is a stop word
        return ["usa"]
    parts = _JOINS.split(_uncontracted(token) if "'" in token else token)
    if len(parts) == 1:
        return _part(parts[0], language)
    whole = "".join(parts)
    if _INITIALS.fullmatch(token):
        return _stems(whole, language)
    is_little = _STOP_WORDS[language].issuperset(map(folded, parts))
    found = [] if is_little else _stems(whole, language)
    return found + [term for part in parts for term in _part(part, language)]


def _uncontracted(token: str) -> str:
    """A token without contracted or elided words: it's, l'eau. What is left is one name: O'Brien."""
    *front, last = token.split("'")
    if last.lower() == "t" and front[-1].lower().endswith("n"):
        return ""
    kept = front if last.lower() in _CONTRACTED else [*front, last]
    return "-".join(kept[1:] if len(kept) > 1 and folded(kept[0]) in _ELIDED else kept)


def _part(token: str, language: str) -> list[str]:
    """A word, and what it is composed of: camelCase, 5km."""
    if ordinal := _ORDINAL.fullmatch(token):
        return [ordinal[1][:LONGEST_TERM]]
    found = _stems(token, language)
    if not (token.islower() or token.isupper() or token.istitle()):
        found += _stems_of_parts(_HUMPS.findall(token[:LONGEST_TERM]), language)
    if not token.isalpha() and len(halves := _HALVES.findall(token[:LONGEST_TERM])) == 2:
        found += _stems_of_parts(halves, language)
    return found


def _stems_of_parts(parts: list[str], language: str) -> list[str]:
    """The stems of several parts. Single letters and digits say nothing, but for a number before a unit."""
    kept = [part for at, part in enumerate(parts) if len(part) > 1 or (at == 0 and part.isdigit())]
    return [term for part in kept for term in _stems(part, language)] if len(parts) > 1 else []


def _stems(token: str, language: str) -> list[str]:
    token = token[:LONGEST_TERM]
    word = folded(token)
    if not word or word in _STOP_WORDS[language]:
        return []
    stem_word = _snowball(language) if language != ENGLISH else None
    own = folded(stem_word(token.lower())) if stem_word else ""
    common = stem(word)
    return [common, own] if own and own != common else [common]


# Terms that may stand for another.


@cache
def _related() -> dict[str, tuple[str, ...]]:
    lists = tomllib.loads(Path(__file__).with_name("related.toml").read_text("utf-8"))
    found: defaultdict[str, set[str]] = defaultdict(set)
    for group in lists["near"]:
        for term in (together := terms(group)):
            found[term].update(together)
    for group in lists["kinds"]:
        kinds, members = map(terms, group.split(":"))
        for term in kinds:
            found[term].update(members)
    return {term: tuple(sorted(others - {term})) for term, others in found.items()}


def related(term: str) -> tuple[str, ...]:
    """English terms of nearly the same sense as a term, and members of the kind that it names."""
    return _related().get(term, ())


# Turns that ask for nothing.

_COURTESIES = frozenset(folded(word) for words in _LISTS["courtesies"].values() for word in words.split())
_UNSPACED_COURTESY = re.compile(
    "|".join(sorted(_LISTS["unspaced_courtesies"].split(), key=len, reverse=True))
)
_PUNCTUATION = re.compile(r"[\s!-&(-/:-@\[-`{-~\u00a1\u00bf\u3001-\u3003\u3008-\u3011\u060c\u061f]+")
_LONGEST_COURTESY = 200


def asks_for_nothing(text: str) -> bool:
    """Whether a turn only says yes, no, please or thanks, in any language of the list."""
    if len(text) > _LONGEST_COURTESY:
        return False
    words = [word for part in _PUNCTUATION.split(composed(text)) if (word := part.strip("'"))]
    rest = [word for word in words if folded(word) not in _COURTESIES and _UNSPACED_COURTESY.sub("", word)]
    return not rest or (len(rest) < len(words) and not terms(" ".join(rest)))
