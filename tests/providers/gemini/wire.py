"""What the tests of this wire share."""

from collections.abc import Sequence
from typing import Any

from quire.items import Item
from quire.providers import Gemini, Rendered

GEMINI = Gemini()
OLD, NEW = "gemini-2.5-pro", "gemini-3-pro"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
PNG64 = "iVBORw0KGgoAAAAAAAAAAA=="
Json = dict[str, Any]


def rendered(items: Sequence[Item], model: str | None = OLD, **more: Any) -> Rendered:
    """A rendering that the provider would take."""
    made = GEMINI.render(items, model=model, **more)
    assert GEMINI.check(made.payload, model) == []
    return made


def contents(items: Sequence[Item], model: str | None = OLD) -> list[Json]:
    """The contents of a rendering."""
    found: list[Json] = rendered(items, model).payload["contents"]
    return found


def changes(made: Rendered) -> list[str]:
    """What was changed, in order."""
    return [downgrade.change for downgrade in made.downgrades]


def user(*parts: Json | str) -> Json:
    """A content of the user."""
    return {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def model(*parts: Json | str) -> Json:
    """A content of the model."""
    return {**user(*parts), "role": "model"}


def call(call_id: str, name: str, args: Json | None = None, **more: Any) -> Json:
    """A part that calls."""
    return {"functionCall": {"id": call_id, "name": name, "args": args or {}}, **more}


def answer(call_id: str, name: str, response: Json, **more: Any) -> Json:
    """A part that answers a call."""
    return {"functionResponse": {"id": call_id, "name": name, "response": response, **more}}
