"""Long runs of one character of which the tokenizer takes eight or more at a time; others are left alone."""

import re

_TOGETHER = {64: "#*-./=_", 32: "%+~", 16: "!:;X─—…", 8: "<>?@AFaflox^━═"}
"""How many of one character make a token of o200k in a long run of it."""

_RUNS = tuple(
    (character * 4, re.compile(re.escape(character) + "{4,}"), together)
    for together, characters in _TOGETHER.items()
    for character in characters
)


def without_repeats(text: str) -> tuple[str, float]:
    """The text with each such run cut to its first two, and the tokens of what was cut."""
    tokens = 0.0
    for four, run, together in _RUNS:
        # Looking for a literal is many times as fast as looking for the pattern, and mostly there is none.
        if four in text:
            shorter = run.sub(four[:2], text)
            tokens += (len(text) - len(shorter)) / together
            text = shorter
    return text, tokens
