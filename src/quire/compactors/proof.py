"""The proof of a summary: what its range says and the summary does not is added to it, letter for letter.

A writer keeps decisions, and loses identifiers, numbers and what is still open. These are found without a
model and added as lines. The writer is not asked again: it would read all of the range once more, and may
lose the same again.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from quire.compactors.evidence import Field
from quire.compactors.ledger import Evidence, Line, lines_of, told_lines
from quire.items import Item, Message, Summary
from quire.tokens import Counter

ADDED = "Also, letter for letter from the record:"
"""What begins the lines that are added to a summary."""

_LEAST = 24
"""In fewer tokens nothing is added."""

_READ, _LONGEST = 8_000, 160
"""Characters of a message that are read, and of a sentence that is added."""

_CARRIED, _OPEN, _SAID = 5.0, 3.0, 2.0
"""How much lines matter that an earlier summary had, sentences that leave something open, and others."""

_SENTENCE = re.compile(r"\S.*?(?:[.!?](?=\s)|$)", re.MULTILINE)
_EXACT = re.compile(
    r"""(?<![\w.-])(?:
        [$€£]\s?\d[\d.,]*\d | [$€£]\s?\d | \d[\d.,:]*\s?% | \d[\d.,:/-]*\d
      | [\w.+-]+@[\w-]+(?:\.[\w-]+)+ | https?://[^\s"'<>)\]]+ | (?:~|\.{0,2})(?:/[\w.@+-]+){2,}/?
      | [\w-]+/[\w./-]*\w | (?=[\w-]*\d)(?=[\w-]*[A-Za-z])\w[\w-]{2,} | [A-Z]{2,}[A-Z_]+
    )(?!\w)""",
    re.VERBOSE,
)
"""Numbers with two digits, a currency or a percent sign; addresses, paths, and names with digits."""

_IS_OPEN = re.compile(
    r"""\b(?:todo|to\ be\ done|still\ (?:need|has?|have|open|missing|waiting|pending)|not\ yet|remind\ me
    |don't\ forget|open\ question|follow(?:ing)?\ up|wait(?:ing)?\ for|unresolved
    |(?:i|we)(?:'ll|\ will)\s+(?!be\ happy|help|gladly))\b | -\ \[\ \]""",
    re.VERBOSE | re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{5,}")


class _Sentence(Line):
    """A sentence of a message, or a line of an earlier summary."""

    def __init__(self, source: str, text: str, speaker: str = "") -> None:
        super().__init__()
        self._source, self._text, self._is_carried = source, text, not speaker
        self.head = f"{speaker}: " if speaker else ""
        self.text = f"{self.head}{text}"

    @property
    def fields(self) -> Sequence[Field]:
        return (Field("", "", "", self._text),)

    def sources(self) -> list[str]:
        return [self._source]

    def candidates(self, evidence: Evidence, known: str) -> Iterator[tuple[float, int]]:
        exact = {found[0].casefold().rstrip(".,:") for found in _EXACT.finditer(self._text)}
        missing = sum(not _stands(one, known) for one in exact)
        if self._is_carried and (missing or not exact):
            yield _CARRIED, 0
        elif missing:
            yield _SAID + 0.3 * missing, 0
        elif _IS_OPEN.search(self._text):
            words = {word.casefold() for word in _WORD.findall(self._text)}
            if 2 * sum(word in known for word in words) < len(words):
                yield _OPEN, 0


def proved(text: str, items: Iterable[Item], kept: Iterable[Item], counter: Counter, size: int) -> str:
    """Return a summary of items with what it lost of them, in at most so many tokens.

    What is among the items that are `kept` in view is not lost.
    """
    items, left = list(items), size - counter.count(Summary(text))
    if left < _LEAST:
        return text
    lines: list[Line] = [*_sentences(items), *lines_of(items)]
    found = told_lines(lines, [*kept, Summary(text)], Evidence(items), counter, left, (ADDED, ""))
    return text if found is None else f"{text}\n\n{found[0]}"


def _sentences(items: Iterable[Item]) -> Iterator[_Sentence]:
    carried = set[str]()
    for item in items:
        if isinstance(item, Summary):
            _, _, added = item.text.partition(f"\n{ADDED}\n")
            carried.update(added.splitlines())
            yield from (_Sentence(item.id, line) for line in added.splitlines())
        elif isinstance(item, Message) and item.role in ("user", "assistant"):
            for found in _SENTENCE.finditer(item.text[:_READ]):
                sentence = found[0][:_LONGEST]
                if f"{item.role}: {sentence}" not in carried:
                    yield _Sentence(item.id, sentence, item.role)


def _stands(value: str, text: str) -> bool:
    """Whether a value stands in a text as a word of its own."""
    at = text.find(value)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(value) : at + len(value) + 1]
        if not (before.isalnum() or after.isalnum()):
            return True
        at = text.find(value, at + 1)
    return False
