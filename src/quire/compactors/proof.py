"""The proof of a summary adds what the summary lost of its items, as lines, letter for letter.

A model that summarizes keeps decisions, and loses identifiers, numbers and open tasks. These are found by
rules. The model is not asked again: it would read everything once more, and may lose the same again.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from quire.compactors.fields import Field, is_word_in
from quire.compactors.ledger import Evidence, Line, lines_of, only_reads, render_lines
from quire.items import Item, Message, Summary
from quire.tokens import Counter

ADDED = "Also, letter for letter from the record:"
"""The line before those that are added to a summary."""

_LEAST_ROOM = 24
"""With fewer tokens left nothing is added."""

_MAX_READ, _LONGEST = 8_000, 160
"""Characters of a message that are searched, and of a sentence that is added."""

_LONGEST_ANSWER = 80
"""Characters of the answer that is added to a question."""

_OPEN, _CARRIED, _SAID = 6.0, 5.0, 2.0
"""The scores of sentences about open tasks, of lines added to an earlier summary, and of other sentences."""

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
"""How the line of a call begins."""


class _Sentence(Line):
    """A sentence of a message, or a line added to an earlier summary."""

    def __init__(self, source: str, text: str, speaker: str = "", answer: str = "") -> None:
        super().__init__()
        call = None if speaker else _CALL.match(text)
        self._is_open = call is None and _IS_OPEN.search(text) is not None
        self.is_dropped_last = self._is_open or (call is not None and not only_reads(call[1]))
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
        exact = {match[0].casefold().rstrip(".,:") for match in _EXACT.finditer(self._text)}
        missing = sum(not is_word_in(value, known) for value in exact)
        words = {word.casefold() for word in _WORD.findall(self._text)}
        is_lost = missing > 0 or 2 * sum(word in known for word in words) < len(words)
        if self._is_open and is_lost:
            yield _OPEN, 0
        elif self._is_carried and not self._is_open and (is_lost or not (exact or words)):
            yield _CARRIED, 0
        elif missing:
            yield _SAID + 0.3 * missing, 0


def with_losses(text: str, items: Iterable[Item], shown: Iterable[Item], counter: Counter, size: int) -> str:
    """Return a summary of items with what it lost of them, in at most `size` tokens.

    What the other items that are `shown` say is not lost.
    """
    items, left = list(items), size - counter.count(Summary(text))
    if left < _LEAST_ROOM:
        return text
    lines: list[Line] = [*_sentences(items), *lines_of(items)]
    block = render_lines(lines, [*shown, Summary(text)], Evidence(items), counter, left, (ADDED, ""))
    return text if block is None else f"{text}\n\n{block[0]}"


def _sentences(items: Sequence[Item]) -> Iterator[_Sentence]:
    carried, answers = set[str](), _answers(items)
    for item in items:
        if isinstance(item, Summary):
            _, _, added = item.text.partition(f"\n{ADDED}\n")
            carried.update(added.splitlines())
            yield from (_Sentence(item.id, line) for line in added.splitlines())
        elif isinstance(item, Message) and item.role in ("user", "assistant"):
            for match in _SENTENCE.finditer(item.text[:_MAX_READ]):
                line = _Sentence(item.id, match[0][:_LONGEST], item.role, answers.get(item.id, ""))
                if line.text not in carried:
                    yield line


def _answers(items: Iterable[Item]) -> dict[str, str]:
    """Return the beginning of the last answer to each message of the user."""
    answers, asked = dict[str, str](), ""
    for item in items:
        if isinstance(item, Message) and item.role == "user":
            asked = item.id
        elif isinstance(item, Message) and item.role == "assistant" and asked and item.text.strip():
            answers[asked] = " ".join(item.text.split())[:_LONGEST_ANSWER]
    return answers
