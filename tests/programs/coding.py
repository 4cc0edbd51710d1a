"""Coders for tests: with a scripted model, tools that can be watched, and the real sandbox."""

from typing import Any, TypedDict

from quire import Message, Session, ToolCall, ToolResult
from quire.agent import tool
from quire.items import Item
from quire.models import Scripted
from quire.programs import Coder, Task
from quire.providers import PROVIDERS, Finish, Parsed
from quire.stores import MemoryStore


class Sum(TypedDict):
    result: int


@tool
async def calculator(a: int, b: int, operation: str = "add") -> Sum:
    if operation != "add":
        raise ValueError("only add is known")
    return {"result": a + b}


ADDING = "r = await calculator(a=2, b=2)\noutput = {'result': str(r['result'])}"


class Solved(TypedDict):
    result: str


def solving(**options: Any) -> Task:
    """A task of one field and an answer of one field."""
    given: dict[str, Any] = {"input": {"problem": str}, "output": Solved, "tools": [calculator]}
    described: dict[str, Any] = {"description": "Solve a problem.", **given, **options}
    return Task("solve", **described)


def fenced(code: str) -> str:
    """A program as a model writes it."""
    return f"Here it is:\n\n```python\n{code}\n```\n"


def opened(**options: Any) -> Session:
    return Session.open("ana/one", store=MemoryStore(), **options)


def ended(words: str, finish: Finish) -> Parsed:
    """A reply that ended in some way."""
    return Parsed((Message("assistant", words),), None, finish, "m")


def coder_of(*programs: Any, **options: Any) -> Coder:
    """A coder whose model writes these programs, one after the other; what is no text is said as it is."""
    replies = [fenced(one) if isinstance(one, str) else one for one in programs]
    chosen: dict[str, Any] = {"session": opened(), "candidates": 1, **options}
    return Coder(Scripted(replies), **chosen)


def said(session: Session, transcript: str = "main") -> list[tuple[str, str]]:
    """What a transcript shows, in short."""
    return [_short(item) for item in session.view(transcript)]


def _short(item: Item) -> tuple[str, str]:
    match item:
        case Message():
            return item.role, item.text
        case ToolCall():
            return "call", f"{item.name} {item.arguments}"
        case ToolResult():
            return "error" if item.is_error else "result", item.text
        case _:
            return type(item).__name__, ""


def assert_whole(session: Session, transcript: str = "main") -> None:
    """No call waits, and every provider takes the history."""
    assert session.view(transcript).pending() == []
    for provider in PROVIDERS.values():
        assert provider.check(provider.render(session.view(transcript)).payload) == []
