"""What an event of a stream tells beside words."""

from typing import Any

from quire.models.deltas import beside


def told(content: Any) -> list[tuple[str, str]]:
    event = {"choices": [{"index": 0, "delta": {"content": content}}]}
    return [(delta.kind, delta.text) for delta in beside("openai", {})(event)]


def test_thoughts_in_chunks_of_the_content_are_told_while_they_come() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "I look"}, {"type": "text"}]}
    assert told([thinking, {"type": "text", "text": "It rains."}]) == [("thinking", "I look")]


def test_words_are_no_thoughts() -> None:
    assert told("It rains.") == told(None) == told([{"type": "thinking", "thinking": 5}]) == []
