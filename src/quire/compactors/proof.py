"""The proof of a summary: what its range says and the summary does not is added to it, letter for letter.

A writer keeps decisions, and loses identifiers, numbers and what is still open. These are found without a
model and added as lines. The writer is not asked again: it would read all of the range once more, and may
lose the same again.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from quire.compactors.evidence import Field, stands
from quire.compactors.ledger import Evidence, Line, is_read, lines_of, told_lines
from quire.items import Item, Message, Summary
from quire.tokens import Counter

ADDED = "Also, letter for letter from the record:"
"""What begins the lines that are added to a summary."""

_LEAST = 24
"""In fewer tokens nothing is added."""

_READ, _LONGEST = 8_000, 160
"""Characters of a message that are read, and of a sentence that is added."""

_ANSWER = 80
"""Characters of the answer that is told with what was asked for."""

_OPEN, _CARRIED, _SAID = 6.0, 5.0, 2.0
"""How much sentences matter that leave something open, lines that an earlier summary had, and others."""

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
_ASKS = re.compile(r"\b(?:please|(?:can|could|will|would) you)\b|\?$", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{5,}")
_CALL = re.compile(r"([\w.-]+)\(")
"""What the line of a call begins with."""


class _Sentence(Line):
    """A sentence of a message, or a line of an earlier summary."""

    def __init__(self, source: str, text: str, speaker: str = "", answer: str = "") -> None:
        super().__init__()
        call = None if speaker else _CALL.match(text)
        self._is_open = call is None and _IS_OPEN.search(text) is not None
        self.goes_last = self._is_open or (call is not None and not is_read(call[1]))
        self._source, self._text, self._is_carried = source, text, not speaker
        self.head = f"{speaker}: " if speaker else ""
        is_answered = answer and not self._is_open and _ASKS.search(text)
        self.text = f"{self.head}{text}{f' (answered: {answer})' if is_answered else ''}"

    @property
    def fields(self) -> Sequence[Field]:
        return (Field("", "", "", self.text.removeprefix(self.head)),)

    def sources(self) -> list[str]:
        return [self._source]

    def candidates(self, evidence: Evidence, known: str) -> Iterator[tuple[float, int]]:
        exact = {found[0].casefold().rstrip(".,:") for found in _EXACT.finditer(self._text)}
        missing = sum(not stands(one, known) for one in exact)
        words = {word.casefold() for word in _WORD.findall(self._text)}
        is_lost = missing > 0 or 2 * sum(word in known for word in words) < len(words)
        if self._is_open and is_lost:
            yield _OPEN, 0
        elif self._is_carried and not self._is_open and (is_lost or not (exact or words)):
            yield _CARRIED, 0
        elif missing:
            yield _SAID + 0.3 * missing, 0


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


def _sentences(items: Sequence[Item]) -> Iterator[_Sentence]:
    carried, answers = set[str](), _answers(items)
    for item in items:
        if isinstance(item, Summary):
            _, _, added = item.text.partition(f"\n{ADDED}\n")
            carried.update(added.splitlines())
            yield from (_Sentence(item.id, line) for line in added.splitlines())
        elif isinstance(item, Message) and item.role in ("user", "assistant"):
            for found in _SENTENCE.finditer(item.text[:_READ]):
                line = _Sentence(item.id, found[0][:_LONGEST], item.role, answers.get(item.id, ""))
                if line.text not in carried:
                    yield line


def _answers(items: Iterable[Item]) -> dict[str, str]:
    """Return the beginning of the last answer to each message of the user."""
    found, asked = dict[str, str](), ""
    for item in items:
        if isinstance(item, Message) and item.role == "user":
            asked = item.id
        elif isinstance(item, Message) and item.role == "assistant" and asked and item.text.strip():
            found[asked] = " ".join(item.text.split())[:_ANSWER]
    return found
