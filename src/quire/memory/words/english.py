"""English words brought to one form: endings that inflect are taken away, irregular forms led back.

A light stemmer: it brings together what is one word in a dictionary (plans, planned, planning) and the
nearest relatives (quickly, kindness). Stems are for meeting, not for reading.
"""

from functools import lru_cache
from itertools import pairwise

from quire.memory.words.irregular import IRREGULAR
from quire.memory.words.stop_words import STOP_WORDS

_VOWELS = frozenset("aeiouy")
_DOUBLED = ("bb", "dd", "gg", "mm", "nn", "pp", "rr", "tt")
_HISSING = ("sses", "shes", "ches", "xes", "zzes", "oes")
_KEPT_S = ("ss", "us", "is", "ous")
_BEFORE_LY = frozenset("cdeghklmnprstw")
_SHORTEST = 3
_ROUNDS = 4

# Longest first: an ending, and what stands in its place.
_RELATED = (
    ("ellation", "ell"),
    ("allation", "all"),
    ("ization", "ize"),
    ("fulness", ""),
    ("iveness", "ive"),
    ("ousness", "ous"),
    ("ational", "ate"),
    ("ation", "ate"),
    ("fully", ""),
    ("ness", ""),
    ("tion", "t"),
    ("sion", "s"),
    ("ical", "ic"),
    ("ator", "ate"),
    ("ful", ""),
)


@lru_cache(maxsize=1 << 14)
def stem(word: str) -> str:
    """One form for a word in lower case without accents; the stem of a stem is itself."""
    found = IRREGULAR.get(word, word)
    for _ in range(_ROUNDS):
        shorter = _without_ending(found)
        if shorter == found or shorter in STOP_WORDS:
            break
        found = shorter
    return found


def _without_ending(word: str) -> str:
    if len(word) < _SHORTEST or not word.isalpha():
        return word
    for shortened in (_singular, _without_tense, _related, _with_plain_end):
        if IRREGULAR.get(word) == word:
            break
        shorter = shortened(word)
        word = IRREGULAR.get(shorter, shorter)
    return word


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(_KEPT_S) or not _has_vowel(word[:-1]):
        return word
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-3] + "y"
    if word.endswith(_HISSING):
        return word[:-2]
    return word[:-1]


def _without_tense(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-3] + "y"
    if word.endswith("eed"):
        return word[:-1] if _has_vowel(word[:-3]) else word
    if word.endswith("ed"):
        return _restored(word, word[:-2])
    if word.endswith("ing"):
        return _restored(word, word[:-3])
    return word


def _restored(word: str, rest: str) -> str:
    """What is left of a verb, with the letter it lost or without the one it won."""
    if len(rest) < 2 or not _has_vowel(rest):
        return word
    if rest.endswith(_DOUBLED) and len(rest) > 3:
        return rest[:-1]
    lost_an_e = rest.endswith(("at", "bl", "iz", "v", "dg", "s")) and not rest.endswith("ss")
    if lost_an_e or _is_short(rest):
        return rest + "e"
    return rest


def _related(word: str) -> str:
    if word.endswith("ly") and len(word) > 5 and word[-3] in _BEFORE_LY and not word.endswith("fully"):
        return word[:-2]
    if word.endswith("ily") and len(word) > 5:
        return word[:-3] + "y"
    if word.endswith(("ier", "iest")) and len(word) > 5:
        return word[: word.rindex("ie")] + "y"
    for ending, instead in _RELATED:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and _has_vowel(rest):
            return rest + instead
    return word


def _with_plain_end(word: str) -> str:
    """Carry and carri(ed), danc(ing) and dance, cancel and cancell(ed) end alike; hop and hope stay apart.

    So do Daniel and Danielle: a long word keeps the end that it has after a doubled l.
    """
    if len(word) > _SHORTEST:
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
    """More than one syllable, up to the last vowel of a word: can-ce(l), fu-e(l); not ca(ll) or que(ll)."""
    has_two_vowels = beginning.endswith(("ia", "ue")) and not beginning.endswith("que")
    return has_two_vowels or _syllables(beginning) > 0


def _is_short(word: str) -> bool:
    """One syllable that ends in a single vowel and a single consonant: hop, writ(e), us(e)."""
    if len(word) < 2 or word[-1] in _VOWELS or word[-1] in "wx" or word[-2] not in _VOWELS:
        return False
    return len(word) == 2 or (word[-3] not in _VOWELS and _syllables(word) == 1)
