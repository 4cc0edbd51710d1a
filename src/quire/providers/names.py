"""Ids and names that a wire accepts, in place of those that it refuses: deterministic and unique."""

import re
from base64 import b32encode
from collections import ChainMap
from collections.abc import MutableMapping
from hashlib import blake2b
from typing import NamedTuple

_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
_RENAMED = re.compile(r"_[0-9a-f]{10}$")


class Alphabet(NamedTuple):
    """The ids or names that a wire accepts: a pattern for the whole text, and the greatest length.

    With `is_fixed` only letters and digits of exactly that length are accepted, such as Mistral's ids.
    """

    pattern: re.Pattern[str]
    max_length: int
    is_fixed: bool = False

    def accepts(self, text: str) -> bool:
        """Whether a text can be sent as it is."""
        return self.pattern.fullmatch(text) is not None

    def rename(self, text: str) -> str:
        """A text of the alphabet made from this one; two different texts never get the same result."""
        if self.is_fixed:
            return b32encode(blake2b(text.encode(), digest_size=10).digest()).decode()[: self.max_length]
        digest = blake2b(text.encode(), digest_size=5).hexdigest()
        plain = _OTHER.sub("_", text)[: self.max_length - len(digest) - 2]
        return f"{plain if plain[:1].isalpha() else 'x' + plain[1:]}_{digest}"

    def name_for_use(self, text: str, count: int) -> str:
        """The wire text for the `count`-th use of a text: for the first use the text itself, if accepted."""
        if count > 1:
            return self.rename(f"{text}#{count}")
        return text if self.accepts(text) else self.rename(text)


def may_be_renamed(name: str) -> bool:
    """Whether a name ends in a digest, so that `Alphabet.rename` may have made it."""
    return _RENAMED.search(name) is not None


class WireNames:
    """Wire names of tools or parameters: each own name gets one that no other has."""

    __slots__ = ("_alphabet", "_used", "by_own_name")

    def __init__(self, alphabet: Alphabet) -> None:
        self._alphabet = alphabet
        self.by_own_name: dict[str, str] = {}
        self._used: set[str] = set()  # wire names

    def branch(self) -> "WireNames":
        """A copy; names that are added to it are not added here."""
        twin = WireNames(self._alphabet)
        twin.by_own_name, twin._used = self.by_own_name.copy(), self._used.copy()
        return twin

    def can_keep(self, text: str) -> bool:
        """Whether a name without a wire name yet can be sent as it is."""
        return self._alphabet.accepts(text) and text not in self._used

    def wire_name(self, text: str) -> str:
        """The wire name of an own name; the first call for a name chooses it."""
        count = 0
        while text not in self.by_own_name:
            count += 1
            name = self._alphabet.name_for_use(text, count)
            if name not in self._used:
                self.by_own_name[text] = name
                self._used.add(name)
        return self.by_own_name[text]

    def originals(self) -> dict[str, str]:
        """Own names by wire name, for the names that were changed."""
        return {name: text for text, name in self.by_own_name.items() if name != text}


class WireIds:
    """Wire ids of calls: each call gets one that no other has, even if the model repeats an id."""

    __slots__ = ("alphabet", "uses_by_id")

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.uses_by_id: MutableMapping[str, int] = {}

    def branch(self) -> "WireIds":
        """A copy; ids that are added to it are not added here."""
        twin = WireIds(self.alphabet)
        twin.uses_by_id = ChainMap({}, self.uses_by_id)
        return twin

    def next_id(self, text: str) -> str:
        """The wire id for the next call that has the id `text` in the history."""
        first = wire_id = self.alphabet.name_for_use(text, 1)
        while wire_id in self.uses_by_id:
            self.uses_by_id[first] += 1
            wire_id = self.alphabet.name_for_use(text, self.uses_by_id[first])
        self.uses_by_id[wire_id] = 1
        return wire_id
