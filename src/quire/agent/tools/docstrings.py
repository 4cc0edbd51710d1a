"""What a docstring says: what a thing does, and what each of its parameters is.

The styles of Google, of NumPy and of Sphinx are read. Sections that are about the code and not about its use
(what is returned or raised, examples) are left out.
"""

import re
from inspect import cleandoc
from typing import NamedTuple

_PARAMETERS = "args|arguments|parameters|params|keyword args|keyword arguments|other parameters|attributes"
_OTHERS = "returns?|yields?|raises|warns|examples?|notes?|references|see also|todo|warnings?|receives|methods"
_GOOGLE = re.compile(rf"(?P<named>{_PARAMETERS})|(?:{_OTHERS})", re.IGNORECASE)
_UNDERLINE = re.compile(r"-{3,}\s*")
_FIELD = re.compile(r":(?P<kind>\w+)(?:\s+(?P<about>[^:]*?))?:(?:\s+(?P<words>.*)|\s*)$")
_ENTRY = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\([^)]*(?:\([^)]*\)[^)]*)*\))?\s*:(?:\s+(?P<words>.*)|\s*)$")
_PARAMETER_FIELDS = ("param", "parameter", "arg", "argument", "key", "keyword", "ivar", "var", "cvar")


class Told(NamedTuple):
    """What a docstring says."""

    description: str
    parameters: dict[str, str]


def told_by(docstring: str | None) -> Told:
    """A docstring, read."""
    reading = _Reading(cleandoc(docstring or "").splitlines())
    reading.read()
    description = re.sub(r"\n{3,}", "\n\n", "\n".join(reading.body)).strip()
    parameters = {name: " ".join(" ".join(words).split()) for name, words in reading.parameters.items()}
    return Told(description, {name: words for name, words in parameters.items() if words})


class _Reading:
    """A docstring on its way to what it says, line by line."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self.body: list[str] = []
        self.parameters: dict[str, list[str]] = {}

    def read(self) -> None:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            heading = _GOOGLE.fullmatch(line.strip().removesuffix(":"))
            if heading and self._is_underlined():
                self._at += 2
                self._numpy(self._section_of_numpy(), bool(heading["named"]))
            elif heading and line.rstrip().endswith(":") and self._is_followed_by_more():
                self._at += 1
                self._google(self._indented(_indent(line)), bool(heading["named"]))
            elif field := _FIELD.match(line):
                self._at += 1
                self._sphinx(field, self._indented(_indent(line)))
            else:
                self.body.append(line)
                self._at += 1

    def _is_underlined(self) -> bool:
        following = self._lines[self._at + 1 : self._at + 2]
        return bool(following) and _UNDERLINE.fullmatch(following[0].strip()) is not None

    def _is_followed_by_more(self) -> bool:
        """Whether lines follow that belong to a heading; a sentence may be one word and a colon too."""
        rest = (line for line in self._lines[self._at + 1 :] if line.strip())
        return _indent(next(rest, "")) > _indent(self._lines[self._at])

    def _indented(self, level: int) -> list[str]:
        """The lines that follow and stand further in."""
        taken: list[str] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() and _indent(line) <= level:
                break
            taken.append(line)
            self._at += 1
        return taken

    def _section_of_numpy(self) -> list[str]:
        """The lines until the next heading that is underlined."""
        taken: list[str] = []
        while self._at < len(self._lines) and not self._is_underlined():
            taken.append(self._lines[self._at])
            self._at += 1
        return taken

    def _google(self, lines: list[str], is_about_parameters: bool) -> None:
        if not is_about_parameters:
            return
        level = min((_indent(line) for line in lines if line.strip()), default=0)
        name: str | None = None
        for line in lines:
            entry = _ENTRY.match(line.strip()) if _indent(line) == level else None
            if entry:
                name = entry["name"]
                self.parameters[entry["name"]] = [entry["words"] or ""]
            elif name is not None:
                self.parameters[name].append(line)

    def _numpy(self, lines: list[str], is_about_parameters: bool) -> None:
        if not is_about_parameters:
            return
        names: list[str] = []
        for line in lines:
            if line.strip() and _indent(line) == 0:
                names = [name.strip().lstrip("*") for name in line.partition(":")[0].split(",")]
                self.parameters.update((name, []) for name in names)
                continue
            for name in names:
                self.parameters[name].append(line)

    def _sphinx(self, field: re.Match[str], more: list[str]) -> None:
        about = (field["about"] or "").split()
        if field["kind"] in _PARAMETER_FIELDS and about:
            self.parameters[about[-1].lstrip("*")] = [field["words"] or "", *more]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
