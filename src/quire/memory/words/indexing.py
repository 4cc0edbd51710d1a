"""The terms of a text: what a lexical index holds of it and what a question asks for."""

from quire.memory.words.folding import composed
from quire.memory.words.languages import ENGLISH, FUNCTION_WORDS, language_of
from quire.memory.words.pieces import cut

_KEPT = 1 << 15
_LONGEST_KEPT = 40


class _Cuts(dict[str, tuple[str, ...]]):
    """The terms of texts without spaces, as met so far in one language; emptied when it is full."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        found = cut(chunk, self._language)
        if len(chunk) <= _LONGEST_KEPT:
            if len(self) >= _KEPT:
                self.clear()
            self[chunk] = found
        return found


_CUTS = {language: _Cuts(language) for language in (ENGLISH, *FUNCTION_WORDS)}


def terms(text: str, *, like: str | None = None) -> list[str]:
    """The terms of a text in order, with repetitions; any text has some or none.

    It is read in its own language, or in that of a text that it is part of.
    """
    plain = composed(text)
    cuts = _CUTS[language_of(plain if like is None else composed(like))]
    return [term for chunk in plain.split() for term in cuts[chunk]]
