"""What a Claude model takes and what it does not, read from its name; unknown names are given the benefit."""

import re
from typing import NamedTuple

from quire.errors import InvalidValue
from quire.providers.routes import Cloud, cloud_of
from quire.providers.thinkers import is_unsealed
from quire.tokens import UNKNOWN, ModelFacts, facts_for

_NAME = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")
_PREVIEW = "mythos-preview"
_MOST_IMAGES = 600  # of any model
_LARGEST: dict[Cloud | None, int] = {None: 32, "vertex": 30, "bedrock": 20}  # MB of a request


class ImageLimits(NamedTuple):
    """How large an image may be, by itself and where there are many."""

    side: int = 8000
    many: int = 20
    many_side: int = 2000


class Model:
    """A model by its name, with or without the prefixes and dates that clouds add."""

    def __init__(self, name: str | None) -> None:
        self.name = (name or "").lower()
        self.cloud: Cloud | None = cloud_of(self.name)
        found = _NAME.search(self.name)
        self._facts = _facts_of(self.name)
        self._version = (int(found[1]), int(found[2] or 0)) if found else None

    def refuses_prefill(self) -> bool:
        """Whether the last message may not be the assistant's."""
        return _PREVIEW in self.name or (self._version is not None and self._version >= (4, 6))

    def refuses_system_messages(self) -> bool:
        """Whether instructions may only stand at the top."""
        return _PREVIEW in self.name or (self._version is not None and self._version < (4, 8))

    def signs_thinking(self) -> bool | None:
        """Whether thinking goes back with a signature: some that speak this wire give none, and want none.

        None where no model is named, so that it may be one of these.
        """
        return not is_unsealed(self.name) if self.name else None

    def wants_user_first(self) -> bool:
        """Whether the first message may not be the assistant's: so it is on Bedrock, told by its names."""
        return self.cloud == "bedrock"

    def largest_request(self) -> int:
        """Bytes of a request, counted here in characters, of which none has less than one."""
        return _LARGEST[self.cloud] * 1024 * 1024

    def refused_media(self) -> tuple[str, ...]:
        """The kinds of blocks that the model is known not to take: images, where it takes words alone.

        A model of others takes no document either, unless it is known to. Which of Anthropic's take which
        documents is not told here.
        """
        facts = self._facts
        if facts is UNKNOWN:
            return ()
        blind = "image_input" not in facts.features
        unread = "pdf_input" not in facts.features and facts.provider != "anthropic"
        return ("image",) * blind + ("document",) * unread

    def image_limits(self) -> ImageLimits:
        """How large images may be."""
        known, most = self._facts.images, ImageLimits()
        return ImageLimits(
            known.side or most.side, known.many or most.many, known.many_side or most.many_side
        )

    def most_images(self) -> int:
        """How many images a request may have."""
        return self._facts.images.count or _MOST_IMAGES


def _facts_of(name: str) -> ModelFacts:
    try:
        return facts_for(name)
    except InvalidValue:  # a name that is empty once prefixes are off
        return UNKNOWN
