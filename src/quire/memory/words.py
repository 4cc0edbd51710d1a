"""Words: the terms of a text, which are stemmed words, numbers and identifiers, for a lexical index.

A word of another language in Latin script has two terms: the English stem of its folded letters, and the stem
of its own language. The first does not depend on the detected language, so a question too short for detection
still matches the text.
"""

import re
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, cast

_LISTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))

ENGLISH = "english"
LONGEST_TERM = 64
_MEMO_SIZE = 1 << 15
_LONGEST_IN_MEMO = 40


def terms(text: str, *, language: str | None = None) -> list[str]:
    """The terms of a text in order, with repetitions, in a language or in the detected one."""
    plain = composed(text)
    memo = _MEMOS[language or language_of(plain)]
    return list(chain.from_iterable(map(memo.__getitem__, plain.split())))


def words_by_term(text: str) -> dict[str, str]:
    """The terms of a text, each with the first word that has it."""
    plain, words = composed(text), dict[str, str]()
    memo = _MEMOS[language_of(plain)]
    for word in plain.split():
        for term in memo[word]:
            words.setdefault(term, word)
    return words


def dialect() -> str:
    """The version of these rules. An index of another dialect has other terms, and is rebuilt."""
    return "7"


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
    """A text with each character in its plain form; letters keep their case and accents."""
    if text.isascii():
        return text
    plain = "".join(unicodedata.normalize("NFKC", part) for part in _PILED_MARKS.split(text))
    return _MARK.sub(lambda mark: _MARKS[mark[0]], plain)


def folded(word: str) -> str:
    """A word in lower case without accents. Cyrillic keeps them, because they make other letters."""
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
_DETECTED_WITHIN = 500
_FUNCTION_WORD_SHARE = 10
"""At least one word in this many is a function word in prose. Logs, code and lists of names have fewer."""
_ONLY_LETTERS = "".join(chr(code) if chr(code).islower() else " " for code in range(128))


def language_of(text: str) -> str:
    """The language of a text in Latin script, detected by the function words at its beginning."""
    beginning = composed(text[:_DETECTED_WITHIN]).lower()
    if not beginning.isascii():
        if "\u00bf" in beginning:  # only Spanish opens questions with a mark
            return "spanish"
        beginning = unicodedata.normalize("NFKD", beginning.casefold()).encode("ascii", "ignore").decode()
    words = beginning.translate(_ONLY_LETTERS).split()
    return ENGLISH if _FOREIGN.isdisjoint(words) else _likeliest_language(set(words))


def _likeliest_language(words: set[str]) -> str:
    """The language with most function words in the text; English if they are few."""
    counts = {language: len(words & known) for language, known in _STOP_WORDS.items()}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] >= max(2, len(words) / _FUNCTION_WORD_SHARE) else ENGLISH


# Stemming. Stems are for comparison, and not for people.

_IRREGULAR = {
    other: first for first, *others in map(str.split, _LISTS["irregular"].split(";")) for other in others
}


@lru_cache(maxsize=_MEMO_SIZE)
def _stem(word: str, language: str = ENGLISH) -> str:
    """The stem of a word in lower case, without accents."""
    # A stemmer has state, so threads must not share one.
    return folded(_stemmer(language)().stemWord(word))


@cache
def _stemmer(language: str) -> Callable[[], Any]:
    # `snowballstemmer.stemmer` might return a compiled version with other stems.
    module = import_module(f"snowballstemmer.{language}_stemmer")
    return cast("Callable[[], Any]", getattr(module, f"{language.capitalize()}Stemmer"))


# Splitting a run of text without spaces into terms.

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
# Articles and prepositions that Hebrew and Arabic attach to the next word.
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
            return _latin_terms(text, language)
        case "date":
            year, month, day = map(int, text.split("-"))
            return [str(year), _stem(_LISTS["months"].split()[month - 1]), str(day)]
        case "number":
            return [_number(text)]
        case "sharp":
            return [text.lower()]
        case "hangul":
            return _runs(text, 2)
        case "stacked":
            return _runs(text, 3)
        case "unspaced":
            return _runs(text, 2) + (list(filter(_is_han_word, text)) if len(text) > 1 else [])
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
    """The terms of a word of another script: the folded word, that without attached words, and its stem."""
    word = folded(text)
    if not word or word in _SCRIPT_STOP_WORDS:
        return []
    found = [word, _ATTACHED.sub("", word, count=1)]
    language = next((name for first, last, name in _SNOWBALL_OF_SCRIPT if first <= word[0] <= last), None)
    return list(dict.fromkeys([*found, _stem(word, language)] if language else found))


def _latin_terms(token: str, language: str) -> list[str]:
    """The terms of a word, or of an identifier and its parts."""
    if token in ("US", "U.S"):  # in lower case it is a stop word
        return ["usa"]
    parts = _JOINS.split(_uncontracted(token) if "'" in token else token)
    if len(parts) == 1:
        return _part_terms(parts[0], language)
    whole = "".join(parts)
    if _INITIALS.fullmatch(token):
        return _stems(whole, language)
    is_little = _STOP_WORDS[language].issuperset(map(folded, parts))
    found = [] if is_little else _stems(whole, language)
    return found + [term for part in parts for term in _part_terms(part, language)]


def _uncontracted(token: str) -> str:
    """A token without contracted or elided words: it's, l'eau. A name like O'Brien is one term."""
    *front, last = token.split("'")
    if last.lower() == "t" and front[-1].lower().endswith("n"):
        return ""
    kept = front if last.lower() in _CONTRACTED else [*front, last]
    return "-".join(kept[1:] if len(kept) > 1 and folded(kept[0]) in _ELIDED else kept)


def _part_terms(token: str, language: str) -> list[str]:
    """The terms of a word, and of its parts: camelCase, 5km."""
    if ordinal := _ORDINAL.fullmatch(token):
        return [ordinal[1][:LONGEST_TERM]]
    found = _stems(token, language)
    if not (token.islower() or token.isupper() or token.istitle()):
        found += _stems_of_parts(_HUMPS.findall(token[:LONGEST_TERM]), language)
    if not token.isalpha() and len(halves := _HALVES.findall(token[:LONGEST_TERM])) == 2:
        found += _stems_of_parts(halves, language)
    return found


def _stems_of_parts(parts: list[str], language: str) -> list[str]:
    """The stems of several parts, without single letters and digits, except a number before a unit."""
    kept = [part for at, part in enumerate(parts) if len(part) > 1 or (at == 0 and part.isdigit())]
    return [term for part in kept for term in _stems(part, language)] if len(parts) > 1 else []


def _stems(token: str, language: str) -> list[str]:
    token = token[:LONGEST_TERM]
    word = folded(token)
    if not word or word in _STOP_WORDS[language]:
        return []
    common = _stem(_IRREGULAR.get(word, word))
    own = common if language == ENGLISH else _stem(token.lower(), language)
    return [common] if own == common else [common, own]


# Related terms


@cache
def _related() -> dict[str, tuple[str, ...]]:
    lists = tomllib.loads(Path(__file__).with_name("related.toml").read_text("utf-8"))
    found: defaultdict[str, set[str]] = defaultdict(set)
    for group in lists["near"]:
        near = terms(group)
        for term in near:
            found[term].update(near)
    for group in lists["kinds"]:
        kinds, members = map(terms, group.split(":"))
        for term in kinds:
            found[term].update(members)
    return {term: tuple(sorted(others - {term})) for term, others in found.items()}


def related(term: str) -> tuple[str, ...]:
    """English terms of nearly the same sense as a term, and members of the kind that it names."""
    return _related().get(term, ())


# Generic words, and messages without a question

GENERIC = frozenset(terms(_LISTS["generic_words"]))
"""English terms that say nothing about the topic of a question."""

_SPACED, _UNSPACED = (
    "|".join(map(folded, _LISTS[name].split())) for name in ("courtesies", "unspaced_courtesies")
)
_COURTESY = re.compile(rf"(?<!\w)(?:{_SPACED})(?!\w)|{_UNSPACED}")
_LONGEST_COURTESY = 200


def asks_for_nothing(text: str) -> bool:
    """Whether a message only says yes, no, please or thanks, in a language of the list."""
    plain = folded(composed(text[: _LONGEST_COURTESY + 1]))
    rest = _COURTESY.sub(" ", plain)
    return len(text) <= _LONGEST_COURTESY and rest != plain and not terms(rest)
