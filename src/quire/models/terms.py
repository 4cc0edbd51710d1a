"""The terms of a request: how long the answer may be, in what shape, and whether tools must be used."""

from collections.abc import Mapping
from typing import Any, TypedDict, cast

from quire.errors import InvalidValue, WrongType, cut
from quire.tokens import whole

CHOICES = ("auto", "required", "none")
"""What `tool_choice` may be beside the name of a tool."""


class Terms(TypedDict, total=False):
    """What an answer has to keep to. What is left out, or None, is left to the model and its provider."""

    max_tokens: int | None
    """How long the answer may be."""
    tool_choice: str | None
    """`auto`, `required`, `none`, or the name of the tool that must be called."""
    output: Mapping[str, Any] | None
    """A JSON schema that the words of the answer fit, where the wire knows such a thing."""
    options: Mapping[str, Any] | None
    """Anything else that the wire's own API takes, by the name it has there."""


def checked(terms: Terms) -> Terms:
    """The terms that were set, if they are ones."""
    unknown = terms.keys() - Terms.__annotations__.keys()
    if unknown:
        names = ", ".join(map(cut, sorted(unknown)))
        raise WrongType(f"no such term: {names}; what only one wire knows goes into options")
    kept = {name: value for name, value in terms.items() if value is not None}
    if "max_tokens" in kept:
        whole(kept["max_tokens"], "max_tokens", least=1)
    for name in ("output", "options"):
        if not isinstance(kept.get(name, {}), Mapping):
            raise WrongType(f"{name} is a mapping, not {type(kept[name]).__name__}")
    choice = kept.get("tool_choice", "auto")
    if not isinstance(choice, str):
        raise WrongType(f"tool_choice is a text, not {type(choice).__name__}; a wire's own goes into options")
    if not choice:
        raise InvalidValue(f"tool_choice is {', '.join(CHOICES)} or the name of a tool, and not empty")
    return cast(Terms, kept)
