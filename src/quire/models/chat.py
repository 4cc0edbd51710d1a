"""The short way to ask: messages of roles and contents in, a text out."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from quire.errors import WrongType
from quire.items import Item
from quire.models.replies import words_of
from quire.providers import Finish, Parsed, provider_for
from quire.tokens import Usage, cost, facts_for


class ChatReply:
    """An answer whose `str` is its text; `parsed` has the items of it."""

    __slots__ = ("_model", "parsed")

    def __init__(self, parsed: Parsed, model: str) -> None:
        self.parsed = parsed
        self._model = model

    def __str__(self) -> str:
        return words_of(self.parsed)

    def __repr__(self) -> str:
        return f"<ChatReply of {self._model}: {self.finish}>"

    @property
    def finish(self) -> Finish:
        """Why the model stopped."""
        return self.parsed.finish

    @property
    def usage(self) -> Usage | None:
        """The tokens it took, as far as the provider said."""
        return self.parsed.usage

    @property
    def cost(self) -> float | None:
        """USD at list prices; None where the usage or a price is not known."""
        if self.usage is None:
            return None
        price = cost(facts_for(self._model), self.usage)
        return price if price is not None else cost(facts_for(self.parsed.model or self._model), self.usage)


def read_messages(messages: Sequence[Mapping[str, Any]]) -> list[Item]:
    """Messages as items. A content is a text, a block such as `{"type": "text", "text": …}`, or several."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"messages come as a list, not as {type(messages).__name__}")
    return provider_for("openai").read_history([_with_blocks(message) for message in messages])


def _with_blocks(message: Any) -> Mapping[str, Any]:
    if not isinstance(message, Mapping):
        raise WrongType(f"a message is a mapping with a role and a content, not {type(message).__name__}")
    told = cast("Mapping[str, Any]", message)
    content = told.get("content")
    return {**told, "content": [content]} if isinstance(content, Mapping) else told
