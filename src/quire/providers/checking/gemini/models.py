"""What a Gemini model asks for, read from its name; unknown names are given the benefit."""

import re

from quire.errors import InvalidValue
from quire.providers.routes import cloud_of
from quire.tokens import model_named

_NAME = re.compile(r"gemini-(\d+)(?:\.(\d+))?")


class Model:
    """A model by its name, with or without the path in front."""

    def __init__(self, name: str | None) -> None:
        self._name = (name or "").lower()
        found = _NAME.search(_resolved(self._name))
        self._version: tuple[int, int] = (int(found[1]), int(found[2] or 0)) if found else (0, 0)

    def wants_signatures(self) -> bool:
        """Whether a call without its thought signature is refused; models for images let it pass."""
        return self._version >= (3, 0) and "image" not in self._name

    def wants_words_signed(self) -> bool:
        """Whether what the model said and drew is refused without its signatures; Vertex AI lets it pass."""
        draws = self._version >= (3, 0) and "image" in self._name
        return draws and cloud_of(self._name) != "vertex"

    def mixes_tools(self) -> bool:
        """Whether functions go together with tools of the provider; an unknown name is given that."""
        return not (0, 0) < self._version < (3, 0) and cloud_of(self._name) != "vertex"

    def ends_with_user(self) -> bool:
        """Whether a request that ends with the model is refused and not continued."""
        return self._version > (3, 1)


def _resolved(name: str) -> str:
    """The model that a name stands for, where it is one that moves on."""
    try:
        return model_named(name)
    except InvalidValue:  # a name that is empty once prefixes are off
        return name
