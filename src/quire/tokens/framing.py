"""What providers wrap around items and requests, as data.

OpenAI publishes its figures for messages and tools, Anthropic those of the prompt that comes with tools. The
others are not published and are kept small: calibration takes up what they miss.
"""

import msgspec

from quire.errors import WrongType
from quire.tokens.numbers import named, whole


class Framing(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens that one provider adds."""

    name: str
    message: int
    call: int
    result: int
    request: int
    tools: int
    tool: int
    typed: bool = False
    """Whether tools are rewritten as type declarations, as OpenAI does, rather than given as JSON."""

    def __post_init__(self) -> None:
        named(self.name, "Framing.name")
        for field in ("message", "call", "result", "request", "tools", "tool"):
            whole(getattr(self, field), f"Framing.{field}", least=0)
        if not isinstance(self.typed, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"Framing.typed is true or false, not {type(self.typed).__name__}")


FRAMINGS: dict[str, Framing] = {
    framing.name: framing
    for framing in (
        Framing(name="openai", message=4, call=8, result=4, request=3, tools=12, tool=7, typed=True),
        Framing(name="openai-gpt-4", message=4, call=8, result=4, request=3, tools=12, tool=10, typed=True),
        Framing(name="anthropic", message=4, call=12, result=12, request=3, tools=346, tool=8),
        Framing(name="google", message=2, call=6, result=6, request=1, tools=0, tool=8),
        Framing(name="plain", message=4, call=8, result=8, request=3, tools=16, tool=8),
    )
}
