"""Ids and names in the alphabet of a wire: deterministic, and never two alike."""

import re
from base64 import b32encode
from hashlib import blake2b
from typing import NamedTuple

from msgspec.structs import replace

from quire.items import ToolCall
from quire.providers.types import Rendered
from quire.providers.values import Json, json_text, object_in

_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
_RENAMED = re.compile(r"_[0-9a-f]{10}$")
_COUNTED = re.compile(r"(.*:)(\d{1,9})")


class Alphabet(NamedTuple):
    """The ids or names that a wire takes: a pattern for the whole, and the length of a new one."""

    pattern: re.Pattern[str]
    longest: int

    def takes(self, text: str) -> bool:
        """Whether a text can be sent as it is."""
        return self.pattern.fullmatch(text) is not None

    def renamed(self, text: str) -> str:
        """A text of the alphabet that stands for this one and no other."""
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
        plain = _OTHER.sub("_", text)[: self.longest - len(digest) - 2]
        return f"{plain if plain[:1].isalpha() else 'x' + plain[1:]}_{digest}"

    def again(self, text: str, count: int) -> str:
        """A text of the alphabet for the `count`-th use of a text; counted from two."""
        return self.renamed(f"{text}#{count}")


class Exact(Alphabet):
    """Texts of letters and digits of one fixed length, such as Mistral's ids."""

    __slots__ = ()

    def renamed(self, text: str) -> str:
        """A text of the alphabet that stands for this one."""
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).digest()
        return b32encode(digest).decode()[: self.longest]


class Counted(Alphabet):
    """Texts that may end in a number, such as the ids of Kimi, which counts its calls."""

    __slots__ = ()

    def again(self, text: str, count: int) -> str:
        """The text with its number counted on; one without a number is renamed as in every alphabet."""
        found = _COUNTED.fullmatch(text)
        name = f"{found[1]}{int(found[2]) + count - 1}" if found else ""
        return name if self.takes(name) else super().again(text, count)


def may_be_renamed(name: str) -> bool:
    """Whether a name may stand for another one, by the digest at its end."""
    return _RENAMED.search(name) is not None


def alphabet(longest: int, pattern: str = r"[a-zA-Z0-9_-]") -> Alphabet:
    """Texts of one to `longest` characters of a class."""
    return Alphabet(re.compile(f"{pattern}{{1,{longest}}}"), longest)


class Names:
    """Wire names of one payload. With `unique`, each call of `give` gets a name of its own."""

    __slots__ = ("_alphabet", "_before", "_counts", "_unique", "identifiers", "taken", "takes")

    def __init__(self, letters: Alphabet, unique: bool, before: "Names | None" = None) -> None:
        self._alphabet = letters
        self._unique = unique
        self._before = before
        self._counts: dict[str, int] = {}  # how often each text was given, if unique
        self.taken: dict[str, str] = {}  # wire name to own name
        self.takes = letters.pattern.fullmatch
        # Up to this length, all ASCII identifiers are taken; asking that is cheaper than a pattern.
        self.identifiers = letters.longest if type(letters) is Alphabet else 0

    @property
    def is_branch(self) -> bool:
        """Whether names were given before this branch."""
        return self._before is not None

    def branch(self) -> "Names":
        """A copy that gives further names without changing this one."""
        return Names(self._alphabet, self._unique, self)

    def give(self, text: str) -> str:
        """The wire name for a text."""
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
            self._counts[text] = count  # all up to it are taken, so the next search begins there
        return name

    def _numbered(self, text: str, count: int) -> str:
        if count > 1:
            return self._alphabet.again(text, count)
        return text if self._alphabet.takes(text) else self._alphabet.renamed(text)

    def _counted(self, text: str) -> int:
        count = self._counts.get(text)
        return count if count is not None else self._before._counted(text) if self._before else 0

    def originals(self) -> dict[str, str]:
        """The own names of all that were renamed, by wire name."""
        before = self._before.originals() if self._before else {}
        return before | {name: text for name, text in self.taken.items() if name != text}

    def _is_free(self, name: str, text: str) -> bool:
        holder = self._holder(name)
        return holder is None or (not self._unique and holder == text)

    def _holder(self, name: str) -> str | None:
        holder = self.taken.get(name)
        return self._before._holder(name) if holder is None and self._before else holder


class Aliases:
    """All that was renamed in requests of one wire: tools, and parameters by the own name of their tool."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._parameters: dict[str, dict[str, str]] = {}

    def learn(self, rendered: Rendered) -> None:
        """Take in the names of a request."""
        self._names.update(rendered.names)
        for tool, parameters in rendered.parameters.items():
            self._parameters.setdefault(tool, {}).update(parameters)

    def knows(self, call: ToolCall) -> bool:
        """Whether every name in a call that may be an alias is a known one."""
        if may_be_renamed(call.name) and call.name not in self._names:
            return False
        known = self._parameters.get(self._own(call), {})
        return all(name in known for name in _arguments(call) if may_be_renamed(name))

    def own_names(self, call: ToolCall) -> ToolCall:
        """The call under the own names of its tool and parameters; the same one where it has them."""
        name = self._own(call)
        known = self._parameters.get(name, {})
        fields = _arguments(call) if known else {}
        arguments = call.arguments
        if not known.keys().isdisjoint(fields):
            own = {known.get(field, field): value for field, value in fields.items()}
            arguments = json_text(own, "arguments")
        if name == call.name and arguments is call.arguments:
            return call
        return replace(call, name=name, arguments=arguments)

    def _own(self, call: ToolCall) -> str:
        return self._names.get(call.name, call.name) if may_be_renamed(call.name) else call.name


def _arguments(call: ToolCall) -> Json:
    return object_in(call.arguments) or {}
