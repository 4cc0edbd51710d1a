"""What is wrong with a payload: where, by which rule, and in words."""

from collections.abc import Mapping
from typing import NamedTuple

HISTORY = {"openai": "messages", "openai-responses": "input", "anthropic": "messages", "gemini": "contents"}
"""The field of a payload that has the conversation, of each wire."""


class Fault(NamedTuple):
    """One thing that a provider would refuse, or take for something else than was meant.

    `place` is a path into the payload, such as `messages[3].tool_calls[0].id`; `rule` is a name from the
    provider's table of rules. A fault never quotes content.
    """

    place: str
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text} ({self.rule})"


class Findings:
    """The faults found so far, each by a rule that the provider's table has."""

    def __init__(self, rules: Mapping[str, str]) -> None:
        self._rules = rules
        self.faults: list[Fault] = []

    def add(self, place: str, rule: str, text: str) -> None:
        """Note a fault."""
        assert rule in self._rules, rule
        self.faults.append(Fault(place, rule, text))
