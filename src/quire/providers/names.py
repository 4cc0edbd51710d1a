"""Ids and names in the alphabet of a wire: the same one for the same input, and never two alike."""

import re
from base64 import b32encode
from hashlib import blake2b
from typing import NamedTuple

_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
_MENDED = re.compile(r"_[0-9a-f]{10}$")
_COUNTED = re.compile(r"(.*:)(\d{1,9})")


class Alphabet(NamedTuple):
    """What a wire takes: a pattern for the whole, and the length that a mended one is cut to."""

    pattern: re.Pattern[str]
    longest: int

    def takes(self, text: str) -> bool:
        """Whether a text may go as it is."""
        return self.pattern.fullmatch(text) is not None

    def mended(self, text: str) -> str:
        """A text of the alphabet that stands for this one and no other."""
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
        plain = _OTHER.sub("_", text)[: self.longest - len(digest) - 2]
        return f"{plain if plain[:1].isalpha() else 'x' + plain[1:]}_{digest}"

    def again(self, text: str, count: int) -> str:
        """A text of the alphabet for one that was given out before, for the second time on."""
        return self.mended(f"{text}#{count}")


class Exact(Alphabet):
    """Texts of letters and digits that are all equally long, so that nothing of another fits in."""

    __slots__ = ()

    def mended(self, text: str) -> str:
        """A text of the alphabet that stands for this one and hardly for another."""
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).digest()
        return b32encode(digest).decode()[: self.longest]


class Counted(Alphabet):
    """Texts that may end in a number, as those of a model that counts its calls."""

    __slots__ = ()

    def again(self, text: str, count: int) -> str:
        """The same text with the number counted on; one without a number as in every alphabet."""
        found = _COUNTED.fullmatch(text)
        name = f"{found[1]}{int(found[2]) + count - 1}" if found else ""
        return name if self.takes(name) else super().again(text, count)


def may_be_mended(name: str) -> bool:
    """Whether a name can be one that stands for another, by the digest at its end."""
    return _MENDED.search(name) is not None


def alphabet(longest: int, pattern: str = r"[a-zA-Z0-9_-]") -> Alphabet:
    """Texts of up to so many characters, each of a class."""
    return Alphabet(re.compile(f"{pattern}{{1,{longest}}}"), longest)


class Names:
    """Wire names of one payload; where they are `unique`, each is given out once."""

    __slots__ = ("_alphabet", "_before", "_counts", "_unique", "taken", "takes")

    def __init__(self, letters: Alphabet, unique: bool, before: "Names | None" = None) -> None:
        self._alphabet = letters
        self._unique = unique
        self._before = before
        self._counts: dict[str, int] = {}  # how often each text was given out, where names are unique
        self.taken: dict[str, str] = {}  # the wire's name to the original
        self.takes = letters.pattern.fullmatch

    @property
    def is_branch(self) -> bool:
        """Whether names were given out before it."""
        return self._before is not None

    def branch(self) -> "Names":
        """The same names, to give out more of them on its own."""
        return Names(self._alphabet, self._unique, self)

    def give(self, text: str) -> str:
        """The wire's name for a text; where names are unique, a new one each time."""
        taken = self.taken
        if text not in taken and self._before is None and self.takes(text):
            taken[text] = text
            return text
        count = self._counted(text) + 1
        name = self._numbered(text, count)
        while not self._is_free(name, text):
            count += 1
            name = self._numbered(text, count)
        taken[name] = text
        if self._unique:
            self._counts[text] = count  # all up to it are taken, and stay so: the next one begins there
        return name

    def _numbered(self, text: str, count: int) -> str:
        if count > 1:
            return self._alphabet.again(text, count)
        return text if self._alphabet.takes(text) else self._alphabet.mended(text)

    def _counted(self, text: str) -> int:
        count = self._counts.get(text)
        return count if count is not None else self._before._counted(text) if self._before else 0

    def originals(self) -> dict[str, str]:
        """The originals of names that had to be changed."""
        before = self._before.originals() if self._before else {}
        return before | {name: text for name, text in self.taken.items() if name != text}

    def _is_free(self, name: str, text: str) -> bool:
        holder = self._holder(name)
        return holder is None or (not self._unique and holder == text)

    def _holder(self, name: str) -> str | None:
        holder = self.taken.get(name)
        return self._before._holder(name) if holder is None and self._before else holder
