"""What a server of ours says, whichever wire it speaks."""

from collections.abc import Sequence
from typing import Any, NamedTuple

NAMES = {
    "openai": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-sonnet-5",
    "gemini": "gemini-2.5-pro",
}
CLIENTS = {wire: wire for wire in NAMES} | {"gemini": "google"}

Call = tuple[str, dict[str, Any]]


class Said(NamedTuple):
    """Words in pieces, calls, and a thought before them."""

    pieces: Sequence[str] = ()
    calls: Sequence[Call] = ()
    thought: str = ""
