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


def may_be_renamed(name: str) -> bool:
    """Whether a name may stand for another one, by the digest at its end."""
    return _RENAMED.search(name) is not None


def alphabet(longest: int, pattern: str = r"[a-zA-Z0-9_-]") -> Alphabet:
    """Texts of one to `longest` characters of a class."""
    return Alphabet(re.compile(f"{pattern}{{1,{longest}}}"), longest)


class Names:
    """Wire names of one payload. With `unique`, each call of `give` returns a new name."""

    __slots__ = ("_counts", "_unique", "alphabet", "taken")

    def __init__(self, letters: Alphabet, unique: bool) -> None:
        self.alphabet = letters
        self._unique = unique
        self._counts: MutableMapping[str, int] = {}  # how often each text was given, if unique
        self.taken: MutableMapping[str, str] = {}  # wire name to own name

    def branch(self) -> "Names":
        """A copy that gives further names without changing this one."""
        twin = Names(self.alphabet, self._unique)
        twin.taken, twin._counts = ChainMap({}, self.taken), ChainMap({}, self._counts)
        return twin

    def give(self, text: str) -> str:
        """The wire name for a text."""
        count = self._counts.get(text, 0)
        name = None
        while name is None or not self._is_free(name, text):
            count += 1
            name = self._numbered(text, count)
        self.taken[name] = text
        if self._unique:
            self._counts[text] = count  # the next search begins here
        return name

    def originals(self) -> dict[str, str]:
        """The own names of all that were renamed, by wire name."""
        return {name: text for name, text in self.taken.items() if name != text}

    def _numbered(self, text: str, count: int) -> str:
        """The wire name for the `count`-th use of a text."""
        if count > 1:
            return self.alphabet.renamed(f"{text}#{count}")
        return text if self.alphabet.takes(text) else self.alphabet.renamed(text)

    def _is_free(self, name: str, text: str) -> bool:
        holder = self.taken.get(name)
        return holder is None or (not self._unique and holder == text)
