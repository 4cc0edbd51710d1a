"""Runs of one character, of which a tokenizer takes many at a time: looked up, not fitted."""

import re

LONG = 32
"""A run of so many is taken out of any text; shorter ones are what the estimate was fitted to."""

_TOGETHER = {
    120: " ",
    64: "#*-./=_",
    32: "%+~",
    16: "!:;X\t\n─—…□\u3000",
    8: "<>?@AFaflox^━═\xa0\u0640",
    4: "\"$'(),BCEILMOY\\bcdehikmrsvy|█★♀・ー\u2013\uff01\uff0a\uff1d\u200b",
    3: "0123456789",
    2: "\r&DGHJKNPQRSTUVWZ[]`{}gjnpqtuwzüö·•☆■人日哈。、ㅋㅎ"
    "\u0430\u044f\u0645\u0646\u2019\uff0c\uff1f\0\ufeff",
    1: "“”€→←✓●│░▒▓❤👍😀\u200d",
}
"""How many of one character make a token of o200k in a long run of it."""

_OFTEN = "#*-./=_%+~!:;X─—…<>?@AFaflox^━═"
"""Characters that rules are drawn with: of these, runs of four or more are taken out of texts with many."""

_PER_TOKEN = {character: together for together, characters in _TOGETHER.items() for character in characters}
_RUNS = tuple(
    (character * 4, re.compile(re.escape(character) + "{4,}"), _PER_TOKEN[character]) for character in _OFTEN
)
_LONG_RUN = re.compile(rf"(.)\1{{{LONG - 1},}}", re.DOTALL)


def without_repeats(text: str) -> tuple[str, float]:
    """The text with each run of a character that rules are drawn with cut to two, and the tokens cut off."""
    tokens = 0.0
    for four, run, together in _RUNS:
        # Looking for a literal is many times as fast as looking for the pattern, and mostly there is none.
        if four in text:
            shorter = run.sub(four[:2], text)
            tokens += (len(text) - len(shorter)) / together
            text = shorter
    return text, tokens


def without_long_runs(text: str) -> tuple[str, float]:
    """The text without long runs of any one character, and the tokens of these."""
    if not _has_long_run(text):
        return text, 0.0
    runs = [run.group() for run in _LONG_RUN.finditer(text)]
    return _LONG_RUN.sub("", text), sum(len(run) / _together(run[0]) for run in runs)


def _has_long_run(text: str) -> bool:
    """Whether some character comes so often in a row, told at the speed of C."""
    if text.isascii():
        return _repeats(text.encode(), 1)
    written = text.encode("utf-16-le", "surrogatepass")
    if len(written) == 2 * len(text):
        return _repeats(written, 2)
    return _repeats(text.encode("utf-32-le", "surrogatepass"), 4)  # a character in two units repeats neither


def _repeats(written: bytes, width: int) -> bool:
    number = int.from_bytes(written, "little")
    differences = number ^ (number >> 8 * width)
    return bytes(width * (LONG - 1)) in differences.to_bytes(len(written), "little")


def _together(character: str) -> float:
    """Letters in use are a token each where several do not make one; other signs and emoji are mostly two."""
    known = _PER_TOKEN.get(character)
    if known is not None:
        return known
    return 0.5 if "\u2000" <= character < "\u3000" or character > "\uffff" else 1.0
