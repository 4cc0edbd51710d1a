"""An estimate of tokens by the class of each character and its neighbours, where no tokenizer is at hand.

A character mostly starts a token unless it joins the one before it: a small letter joins a small letter, a
word the blank before it, a digit a digit. How often each kind of run and of pair joins was fitted to o200k on
one body of text and tested on another; a long run of one character is looked up instead (`repeats.py`). Whole
bodies of held-out text came out at: English -3 % (a novel -5 %), Python +3 %, JSON files 0 % (kinds -8 to +3
%), base64 -1 %, minified JavaScript -2 %, Chinese -1 % (in code +9 %, traditional -9 %, classical -21 %;
single short texts -19 to +30 % by what they are about), hexadecimal and UUIDs 0 to +4 %, part numbers -3 %,
HTML 0 %, logs -2 %, CSV -6 %; Russian, Arabic, Korean, Japanese, German, French and Spanish within 6 %. Of
single texts of 2,000 characters or more 97 in 100 were within 10 % for English, Python and JSON, all for
base64, 84 for minified JavaScript, 92 for Chinese; a few words are within 30 %. Known to be off: single JSON
files up to 27 % too low (lists of rare words), minified lists of keywords up to 46 %, part numbers of single
letters and digits 31 % too low, base64 of text up to 18 % too high, brackets in a row 30 % too low, two signs
in turn (`=-=-`) sixfold, tables of rare Chinese characters by half too low; Hebrew and Ukrainian by a fifth,
Polish by a sixth and Italian by a tenth too low.
"""

from quire.errors import WrongType
from quire.tokens.repeats import without_long_runs, without_repeats
from quire.tokens.scripts import BLOCK, UNITS, script_weight, scripts_and_letters

FEW = 10
"""One foreign character in so many, a dash or a quotation mark, is no reason to look at scripts."""

# In this order the pairs of two classes that matter are one, three or four bits apart.
_BLANK, _MARK, _BREAK, _LOWER, _LETTER, _UPPER, _DIGIT, _ACCENT = (1 << bit for bit in range(8))


def _class_of(character: str) -> int:
    if character.isalpha():
        case = _UPPER if character.isupper() else _LOWER
        return case | _LETTER | (0 if character.isascii() else _ACCENT)
    if character in "0123456789":
        return _DIGIT
    if character in "\r\n":
        return _BREAK
    return _BLANK if character in " \t\xa0" else _MARK


def _everywhere(classes: int) -> int:
    return int.from_bytes(bytes((classes,)) * UNITS, "little")


_CLASSES = bytes(_class_of(chr(code)) for code in range(256))
_BLANKS, _MARKS, _BREAKS, _LOWERS = map(_everywhere, (_BLANK, _MARK, _BREAK, _LOWER))
_LETTERS, _UPPERS, _DIGITS, _ACCENTS = map(_everywhere, (_LETTER, _UPPER, _DIGIT, _ACCENT))
_CASES = _LOWERS | _UPPERS


def estimate(text: str) -> int:
    """About how many tokens a text has."""
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"an estimate is of text, not of {type(text).__name__}")
    if not text:
        return 0
    if len(text) <= BLOCK:
        return max(1, round(_of_block(text)))
    return max(1, round(sum(_of_block(text[start : start + BLOCK]) for start in range(0, len(text), BLOCK))))


def _of_block(text: str) -> float:
    classes, beyond = _read(text)
    pairs = classes & (classes >> 8)
    threes = pairs & (classes >> 16)
    fours = pairs & (pairs >> 16)
    eights = fours & (fours >> 32)
    sixteens = eights & (eights >> 64)
    if sixteens or beyond:  # characters beyond Latin may have no class, so only a look can tell
        shorter, tokens = without_long_runs(text)
        if tokens:
            return tokens + (_of_block(shorter) if shorter else 0.0)
    if eights & _MARKS or sixteens & _CASES:
        shorter, tokens = without_repeats(text)
        if tokens:
            return tokens + _of_block(shorter)
    return (
        beyond
        + 0.929 * len(text)
        + 0.244 * (classes & _LOWERS).bit_count()
        - 0.942 * (pairs & _DIGITS).bit_count()
        - 1.172 * (pairs & _LOWERS).bit_count()
        - 0.873 * (pairs & _BREAKS).bit_count()
        - 0.669 * (pairs & _MARKS).bit_count()
        - 0.930 * (threes & _BLANKS).bit_count()
        + 0.366 * (threes & _DIGITS).bit_count()
        - 0.740 * (threes & _UPPERS).bit_count()
        - 0.449 * (eights & _LETTERS).bit_count()
        + 0.510 * (eights & _LOWERS).bit_count()
        + 1.427 * (eights & _MARKS).bit_count()
        + 0.389 * (eights & _UPPERS).bit_count()
        + 0.450 * (sixteens & _LETTERS).bit_count()
        - 1.335 * (sixteens & _MARKS).bit_count()
        + _of_joints(classes)
    )


def _of_joints(classes: int) -> float:
    # A shift by a character and some bits finds pairs of two classes: a blank before a mark and a mark before
    # a break (9), a blank before a small letter and a mark before any (11), a blank before any (12).
    by_one = classes & (classes >> 9)
    by_three = classes & (classes >> 11)
    return (
        -0.687 * (by_one & _BLANKS).bit_count()
        - 0.935 * (by_one & _MARKS).bit_count()
        + 0.799 * (by_three & _BLANKS).bit_count()
        - 0.691 * (by_three & _MARKS).bit_count()
        - 1.868 * (classes & (classes >> 12) & _BLANKS).bit_count()
    )


def _read(text: str) -> tuple[int, float]:
    """A byte of class bits for each character, as one long integer, and what characters beyond ASCII add.

    Shifting the integer by a character and counting the bits that remain counts all pairs of a kind at the
    speed of C.
    """
    if text.isascii():
        return int.from_bytes(text.encode().translate(_CLASSES), "little"), 0.0
    foreign = len(text) - len(text.encode("latin-1", "ignore"))
    return _read_latin(text, foreign) if foreign * FEW <= len(text) else _read_scripts(text)


def _read_latin(text: str, foreign: int) -> tuple[int, float]:
    classes = int.from_bytes(text.encode("latin-1", "replace").translate(_CLASSES), "little")
    return classes, 0.424 * (classes & _ACCENTS).bit_count() + 0.228 * foreign


def _read_scripts(text: str) -> tuple[int, float]:
    wide = text.encode("utf-16-le", "surrogatepass")
    scripts, latin, letters = scripts_and_letters(wide)
    classes = int.from_bytes(wide[::2].translate(_CLASSES), "little") & latin | letters * (_LOWER | _LETTER)
    astral = len(wide) // 2 - len(text)
    accents = (classes & _ACCENTS).bit_count()
    return classes, script_weight(scripts) - 0.356 * accents + 0.152 * astral
