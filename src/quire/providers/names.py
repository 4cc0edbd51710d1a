"""Ids and names in the alphabet of a wire: deterministic, and never two alike."""

import re
from base64 import b32encode
from collections import ChainMap
from collections.abc import MutableMapping
from hashlib import blake2b
from typing import NamedTuple

_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
_RENAMED = re.compile(r"_[0-9a-f]{10}$")


class Alphabet(NamedTuple):
    """The ids or names that a wire accepts: a pattern for the whole text, and the length of a new one.

    `is_fixed` alphabets accept letters and digits of exactly that length, as Mistral does for ids.
    """

    pattern: re.Pattern[str]
    longest: int
    is_fixed: bool = False

    def takes(self, text: str) -> bool:
        """Whether a text can be sent as it is."""
        return self.pattern.fullmatch(text) is not None

    def renamed(self, text: str) -> str:
        """A text of the alphabet that stands for this one and no other."""
        if self.is_fixed:
            return b32encode(blake2b(text.encode(), digest_size=10).digest()).decode()[: self.longest]
        digest = blake2b(text.encode(), digest_size=5).hexdigest()
        plain = _OTHER.sub("_", text)[: self.longest - len(digest) - 2]
        return f"{plain if plain[:1].isalpha() else 'x' + plain[1:]}_{digest}"

    def numbered(self, text: str, count: int) -> str:
        """The text that stands for the `count`-th use of this one; for the first use itself, if it can."""
        if count > 1:
            return self.renamed(f"{text}#{count}")
        return text if self.takes(text) else self.renamed(text)


def may_be_renamed(name: str) -> bool:
    """Whether a name may stand for another one, by the digest at its end."""
    return _RENAMED.search(name) is not None


class Names:
    """Wire names of tools or parameters: one for each own name, and never two alike."""

    __slots__ = ("_alphabet", "_taken", "given")

    def __init__(self, letters: Alphabet) -> None:
        self._alphabet = letters
        self.given: dict[str, str] = {}  # wire names by own name
        self._taken: set[str] = set()

    def branch(self) -> "Names":
        """A copy that gives further names without changing this one."""
        twin = Names(self._alphabet)
        twin.given, twin._taken = self.given.copy(), self._taken.copy()
        return twin

    def keeps(self, text: str) -> bool:
        """Whether a text that has no wire name yet can be its own."""
        return self._alphabet.takes(text) and text not in self._taken

    def give(self, text: str) -> str:
        """The wire name for a text."""
        count = 0
        while text not in self.given:
            count += 1
            name = self._alphabet.numbered(text, count)
            if name not in self._taken:
                self.given[text] = name
                self._taken.add(name)
        return self.given[text]

    def originals(self) -> dict[str, str]:
        """The own names of all that were renamed, by wire name."""
        return {name: text for text, name in self.given.items() if name != text}


class Ids:
    """Wire ids of calls: each call has one that no other has, also where the model repeats its own."""

    __slots__ = ("alphabet", "taken")

    def __init__(self, letters: Alphabet) -> None:
        self.alphabet = letters
        self.taken: MutableMapping[str, int] = {}  # by id: how often it was asked for

    def branch(self) -> "Ids":
        """A copy that gives further ids without changing this one."""
        twin = Ids(self.alphabet)
        twin.taken = ChainMap({}, self.taken)
        return twin

    def give(self, text: str) -> str:
        """The wire id for the next call with an id."""
        first = given = self.alphabet.numbered(text, 1)
        while given in self.taken:
            self.taken[first] += 1
            given = self.alphabet.numbered(text, self.taken[first])
        self.taken[given] = 1
        return given
