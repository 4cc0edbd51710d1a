"""What one chooses for a tool."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import msgspec

from quire.errors import InvalidLimit, WrongType
from quire.items import MAX_TEXT
from quire.tokens import named, number, whole

MAX_OUTPUT = 50_000
"""Characters of output that a model is given, unless a tool says otherwise."""

Approve = bool | Callable[[Mapping[str, Any]], bool]
"""Whether a person approves of calls: of all, or of those whose arguments a function says yes to."""


class Chosen(TypedDict, total=False):
    """The options by name, as `tool` takes them; see `Options`."""

    name: str | None
    description: str | None
    timeout: float | None
    lock: bool
    idempotent: bool
    approve: Approve
    asks_person: bool
    max_output: int
    fixed: Mapping[str, Any]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What one chooses for a tool.

    With `lock` its calls run one at a time. One that is `idempotent` is run again where nobody knows whether
    it ran. `fixed` arguments are set here, and no model sees or changes them. A call of a tool that
    `asks_person` waits for a person's answer.
    """

    name: str | None = None
    description: str | None = None
    timeout: float | None = None
    lock: bool = False
    idempotent: bool = False
    approve: Approve = False
    asks_person: bool = False
    max_output: int = MAX_OUTPUT
    fixed: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        if self.name is not None:
            named(self.name, "the name of a tool")
        if not isinstance(self.description, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a description is a text, not {type(self.description).__name__}")
        if self.timeout is not None and number(self.timeout, "a timeout", 0) == 0:
            raise InvalidLimit("a timeout is more than 0 seconds; None is for ever")
        for name in ("lock", "idempotent", "asks_person"):
            if not isinstance(value := getattr(self, name), bool):
                raise WrongType(f"{name} is true or false, not {type(value).__name__}")
        if not isinstance(self.approve, bool) and not callable(self.approve):
            raise WrongType(f"approve is true, false or a function, not {type(self.approve).__name__}")
        if whole(self.max_output, "max_output", least=1) > MAX_TEXT:
            raise InvalidLimit(f"max_output is above {MAX_TEXT:,}, which one result may have")
        if not isinstance(self.fixed, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"fixed arguments are given by name, not as {type(self.fixed).__name__}")
