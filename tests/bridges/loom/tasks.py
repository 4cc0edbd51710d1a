"""Tasks for the tests of this bridge, and an embedding that counts letters."""

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any

from quire.bridges.loom import Task


def said(content: str, **fields: Any) -> Task:
    """Something the user wants done."""
    return Task(action="execute", parameters={"content": content}, **fields)


def thought(content: str, **fields: Any) -> Task:
    """Something an agent thought."""
    return Task(action="node.thinking", parameters={"content": content}, **fields)


def letter(content: str, **parameters: Any) -> Task:
    """A direct message to agent-b."""
    return Task(
        action="node.message",
        source_agent="agent-a",
        target_agent="agent-b",
        parameters={"content": content, **parameters},
    )


def contents(tasks: Sequence[Task]) -> list[str]:
    """What some tasks say."""
    return [task.parameters["content"] for task in tasks]


def words(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """What some messages say."""
    return [message["content"] for message in messages]


class Letters:
    """An embedding by how often each letter comes; it notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, text: str) -> list[float]:
        self.asked.append(text)
        return [float(text.lower().count(letter)) for letter in ascii_lowercase]

    async def embed_batch(self, texts: list[str]) -> list[list[float]]:
        return [await self.embed(text) for text in texts]
