"""Where a text that is too long may be cut: at the end of a sentence, else of a line, else of a word."""

import re
from collections.abc import Callable, Iterator

Fits = Callable[[str], bool]

# A sentence ends with a mark, what closes it and blanks; in scripts without blanks, with the mark alone. What
# goes on with a small letter was an abbreviation.
_SENTENCE = re.compile(r"""(?<=[.!?…])["'”’»)\]]*\s+(?![a-z])|(?<=[。！？])["'”’」』）]*\s*""")  # noqa: RUF001
_LINE = re.compile(r"\n")
_WORD = re.compile(r"\s+")
_IN_TEXT = (_SENTENCE, _LINE, _WORD)
_IN_LINES = (_LINE, _WORD)


def cut_at(text: str, start: int, fits: Fits, *, longest: int, by_lines: bool = False) -> int:
    """Where to cut a text so that what stands before, from `start` on, fits; `start` where nothing does.

    It looks no further than the `longest` piece there may be. Where lines matter, as in code, they are kept
    whole before anything else is.
    """
    furthest = min(start + longest, len(text))
    for end in _IN_LINES if by_lines else _IN_TEXT:
        stop = _furthest(text, start, _stops(text, start, furthest, end), fits)
        if stop > start:
            return stop
    return _furthest(text, start, iter(range(start + 1, furthest + 1)), fits)


def _stops(text: str, start: int, furthest: int, end: "re.Pattern[str]") -> Iterator[int]:
    """The places where a piece may end, the end of all included; blanks belong to what is before them."""
    for found in end.finditer(text, start, furthest):
        if start < found.end() < furthest:
            yield found.end()
    if furthest == len(text):
        yield furthest


def _furthest(text: str, start: int, stops: Iterator[int], fits: Fits) -> int:
    """The last place that fits. It is looked for by doubling: a long text is not counted whole."""
    reached = [start]

    def is_good(index: int) -> bool:
        while len(reached) <= index and (stop := next(stops, None)) is not None:
            reached.append(stop)
        return index < len(reached) and fits(text[start : reached[index]])

    good, step = 0, 1
    while is_good(good + step):
        good += step
        step *= 2
    while step > 1:
        step //= 2
        if is_good(good + step):
            good += step
    return reached[good]
