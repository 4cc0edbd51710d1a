"""What a Gemini model asks for, read from its name; unknown names are given the benefit."""

import re

_NAME = re.compile(r"gemini-(\d+)(?:\.(\d+))?")


class Model:
    """A model by its name, with or without the path in front."""

    def __init__(self, name: str | None) -> None:
        self._name = (name or "").lower()
        found = _NAME.search(self._name)
        self._version: tuple[int, int] = (int(found[1]), int(found[2] or 0)) if found else (0, 0)

    def wants_signatures(self) -> bool:
        """Whether a call without its thought signature is refused; models for images let it pass."""
        return self._version >= (3, 0) and "image" not in self._name

    def mixes_tools(self) -> bool:
        """Whether functions go together with tools of the provider; an unknown name is given that."""
        return not (0, 0) < self._version < (3, 0) and "vertex" not in self._name

    def ends_with_user(self) -> bool:
        """Whether a request that ends with the model is refused and not continued."""
        return self._version > (3, 1)
