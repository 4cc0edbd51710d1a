"""Exact counts of text, offline, for the encodings that come with the tokenizer. Items are counted elsewhere.

The tokenizer takes time in proportion to the text, also for a million equal characters, so no text is cut.
"""

from collections.abc import Callable
from functools import cache, partial

from quire.errors import InvalidValue
from quire.tokens.numbers import named

ENCODINGS = frozenset(("o200k_base", "cl100k_base"))


def exact(encoding: str) -> Callable[[str], int]:
    """A function from text to its tokens; the vocabulary is loaded the first time it is called."""
    if named(encoding, "an encoding") not in ENCODINGS:
        raise InvalidValue(f"no encoding {encoding!r}; there are {', '.join(sorted(ENCODINGS))}")
    return partial(_count, encoding)  # not a function made here, which could not be pickled


def _count(encoding: str, text: str) -> int:
    encode = _loaded(encoding)
    try:
        return len(encode(text))
    except UnicodeEncodeError:
        return len(encode(_mended(text)))


@cache
def _loaded(encoding: str) -> Callable[[str], list[int]]:
    from splintr import Tokenizer

    # Not `encode`: it takes <|endoftext|> in a user's text for the control token, and counts one for seven.
    return Tokenizer.from_pretrained(encoding).encode_ordinary


def _mended(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
