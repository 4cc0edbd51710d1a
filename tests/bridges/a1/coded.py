"""Agents whose programs are written beforehand, for tests: a scripted model, and the real sandbox."""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, TypeVar

from pydantic import BaseModel

from quire.bridges.a1 import LLM, Agent, Context, Runtime, set_runtime, tool
from quire.models import Scripted

T = TypeVar("T")


class Order(BaseModel):
    """What a customer wants."""

    lamps: int


class Bill(BaseModel):
    """What it comes to."""

    total: str


class Quote(BaseModel):
    """What one lamp costs, and why."""

    price: int
    reason: str


@tool(name="multiply", description="Multiply two numbers")
async def multiply(a: int, b: int) -> dict[str, int]:
    if a < 0:
        raise ValueError("less than no lamps")
    return {"product": a * b}


PLAIN = "output = {'total': str(lamps * 5)}"
CALLING = "found = await multiply(a=lamps, b=5)\noutput = {'total': str(found['product'])}"
ASKING = "said = await llm_a('What is five lamps?')\noutput = {'total': said}"
CATCHING = """try:
    await multiply(a=-1, b=5)
except ValueError as fault:
    output = {'total': str(fault)}
"""
BROKEN = "output = {'total': str(1 // (lamps - lamps))}"


def written(*programs: str) -> list[str]:
    """Programs as a model writes them."""
    return [f"```python\n{program}\n```" for program in programs]


def writing(*programs: str, **options: Any) -> Runtime:
    """A runtime at work whose model writes these programs, one each time that it is asked; the last again."""
    replies = iter(written(*programs))
    last = written(programs[-1])[0]
    runtime = Runtime(generate=Scripted(lambda _: next(replies, last)), **options)
    set_runtime(runtime)
    return runtime


def seller(*tools: Any, **options: Any) -> Agent:
    """An agent that bills orders."""
    given: dict[str, Any] = {"input_schema": Order, "output_schema": Bill, "tools": list(tools)}
    return Agent(name="seller", description="Bills an order.", **{**given, **options})


def llm(*replies: Any) -> LLM:
    """A model that says these, one after the other."""
    return LLM(Scripted(list(replies), name="clerk"))


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run an async test."""
    return asyncio.run(work)


def shown(context: Context) -> list[tuple[str, Any]]:
    """Messages in short: what is JSON as values, calls by their names."""
    return [(message.role, _called(message.tool_calls) or _value(message.content)) for message in context]


def _called(calls: list[dict[str, Any]] | None) -> str:
    return " ".join(f"{call['function']['name']} {call['function']['arguments']}" for call in calls or ())


def _value(content: str) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content
