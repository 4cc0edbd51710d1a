"""What a Claude model takes and what it does not, read from its name; unknown names are given the benefit."""

import re

_NAME = re.compile(r"claude-(?:([a-z]+)-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?(?:-([a-z]+))?")
_PREVIEW = "mythos-preview"


class Model:
    """A model by its name, with or without the prefixes and dates that clouds add."""

    def __init__(self, name: str | None) -> None:
        self.name = (name or "").lower()
        found = _NAME.search(self.name)
        self._family = (found[1] or found[4] or "") if found else ""
        self._version = (int(found[2]), int(found[3] or 0)) if found else None

    def refuses_prefill(self) -> bool:
        """Whether the last message may not be the assistant's."""
        return _PREVIEW in self.name or (self._version is not None and self._version >= (4, 6))

    def refuses_system_messages(self) -> bool:
        """Whether instructions may only stand at the top."""
        return _PREVIEW in self.name or (self._version is not None and self._version < (4, 8))

    def most_images(self) -> int:
        """How many images a request may have."""
        small = self._family in ("haiku", "opus") and self._version is not None and self._version <= (4, 5)
        old = self._version is not None and self._version < (4, 0)
        return 100 if small or old else 600
