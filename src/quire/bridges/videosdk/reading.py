"""Reading a context: what it holds, how large it is, what is in force, and what a provider is sent."""

from collections.abc import Mapping
from typing import Any

from quire.bridges.videosdk import converting
from quire.bridges.videosdk.choosing import BETWEEN_TEXTS
from quire.bridges.videosdk.items import ChatItem
from quire.bridges.videosdk.keeping import Holding
from quire.bridges.videosdk.messages import ChatMessage
from quire.errors import OutOfRange, UnknownId
from quire.state import config_at
from quire.tokens import whole


class Reading(Holding):
    """The verbs that change nothing."""

    def messages(self) -> list[ChatMessage]:
        """The messages, without calls, outputs and records of other kinds."""
        return [item for item in self._kept.shown() if isinstance(item, ChatMessage)]

    def turn_count(self) -> int:
        """How often the user spoke."""
        return self._kept.turns()

    def estimated_tokens(self) -> int:
        """About how many tokens a model would be sent, by the counter of the context."""
        return self._kept.transcript.view.tokens(self._kept.counter)

    def get_by_id(self, item_id: str) -> ChatItem | None:
        """The item with this id, if it is shown."""
        return next((item for item in self._kept.shown() if item.id == item_id), None)

    def active_config_at(self, target: str | int | None = None) -> tuple[str | None, list[str] | None]:
        """The instructions and the names of the tools in force after an item.

        It is given by its id or its index; without one they are those at the end.
        """
        view = self._kept.transcript.view
        item_id = self._id_at(target) if isinstance(target, int) else target
        if item_id is not None and all(item.id != item_id for item in view):
            raise UnknownId(f"no item {item_id!r} is shown")
        told, tools = config_at(view, item_id, separator=BETWEEN_TEXTS)
        return told, None if tools is None else list(tools)

    def _id_at(self, index: int) -> str:
        shown = self._kept.shown()
        if not -len(shown) <= whole(index, "an index") < len(shown):
            raise OutOfRange(f"the context has {len(shown)} items; there is none at {index}")
        return shown[index].id

    def to_openai_messages(
        self, *, reasoning_model: bool = False, model: str | None = None
    ) -> list[dict[str, Any]]:
        """Messages for OpenAI's chat completions."""
        return converting.openai_messages(self._kept, reasoning_model, model)

    def to_anthropic_messages(
        self, *, caching: bool = False, model: str | None = None
    ) -> tuple[list[dict[str, Any]], Any]:
        """Messages for Anthropic, and the instructions: a text, or with `caching` blocks that bear marks."""
        return converting.anthropic_messages(self._kept, caching, model)

    async def to_google_contents(
        self,
        *,
        thought_signatures: Mapping[str, converting.Signature] | None = None,
        model: str = "gemini",
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Contents for Gemini, and the instructions.

        `thought_signatures` are by the names of tools: each is for the last call of its tool that it can have
        come with, if that has none of its own. None is sent once something was left out before it.
        """
        return converting.google_contents(self._kept, thought_signatures, model)

    def to_dict(self) -> dict[str, Any]:
        """What is shown, as plain values fit for JSON."""
        return {"items": [item.model_dump() for item in self._kept.shown()]}
