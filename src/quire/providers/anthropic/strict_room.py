"""Anthropic Messages: how much may be strict in one request. What is more is refused, all of it."""

from quire.providers.definitions import Tool
from quire.providers.strictness import Weight

_MOST = Weight(tools=20, optional=24, unions=16)
_FULL = "no room beside the strict tools before it"
_CLOUD = "to go by way of a cloud, where some models refuse the word"


class StrictRoom:
    """What is left for strict tools; they come in the order of their names, so the same ones stay strict."""

    def __init__(self, *, by_cloud: bool = False) -> None:
        self._left = _MOST
        self._by_cloud = by_cloud

    def refusal(self, tool: Tool) -> str:
        """Why a tool cannot be strict here; one that can, and is to be, takes its room."""
        found = tool.refusals
        if tool.strict is not True or found.anthropic:
            return found.anthropic
        if self._by_cloud:
            return _CLOUD
        left = Weight(*(has - takes for has, takes in zip(self._left, found.weight, strict=True)))
        if min(left) < 0:
            return _FULL
        self._left = left
        return ""
