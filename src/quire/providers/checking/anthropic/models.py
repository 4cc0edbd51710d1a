"""What a Claude model takes and what it does not, read from its name; unknown names are given the benefit."""

import re
from typing import NamedTuple

from quire.errors import InvalidValue
from quire.tokens.facts import facts_for

_NAME = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")
_PREVIEW = "mythos-preview"
_MOST_IMAGES = 600  # of any model
_CLOUD = re.compile(r"bedrock|(^|[/.:])anthropic\.")


class ImageLimits(NamedTuple):
    """How large an image may be, by itself and where there are many."""

    side: int = 8000
    many: int = 20
    many_side: int = 2000


class Model:
    """A model by its name, with or without the prefixes and dates that clouds add."""

    def __init__(self, name: str | None) -> None:
        self.name = (name or "").lower()
        found = _NAME.search(self.name)
        self._version = (int(found[1]), int(found[2] or 0)) if found else None

    def refuses_prefill(self) -> bool:
        """Whether the last message may not be the assistant's."""
        return _PREVIEW in self.name or (self._version is not None and self._version >= (4, 6))

    def refuses_system_messages(self) -> bool:
        """Whether instructions may only stand at the top."""
        return _PREVIEW in self.name or (self._version is not None and self._version < (4, 8))

    def wants_user_first(self) -> bool:
        """Whether the first message may not be the assistant's: so it is on Bedrock, told by its names."""
        return _CLOUD.search(self.name) is not None

    def image_limits(self) -> ImageLimits:
        """How large images may be."""
        try:
            known = facts_for(self.name).images
        except InvalidValue:
            return ImageLimits()
        most = ImageLimits()
        return ImageLimits(
            known.side or most.side, known.many or most.many, known.many_side or most.many_side
        )

    def most_images(self) -> int:
        """How many images a request may have."""
        try:
            return facts_for(self.name).images.count or _MOST_IMAGES
        except InvalidValue:  # a name that is empty once prefixes are off
            return _MOST_IMAGES
