"""Whoever gives a task hears what had been called, however it ended before it was done."""

import asyncio
from typing import Any

import pytest

from quire import Session
from quire.agent import Agent, Limits, tool
from quire.agent.builtin import Role, delegating_tools
from quire.models import Scripted
from quire.stores import MemoryStore
from tests.agent.answering import call, results

CALLED = "\nIt had called pay (1 done): look before you do it again."


@tool
def pay() -> str:
    """Pay."""
    return "paid"


async def sleeps(_sent: Any) -> str:
    await asyncio.sleep(30)
    return "never"


def told(then: Any, limits: Limits | None = None, timeout: float | None = 60.0, first: Any = None) -> str:
    """What is told of an agent that pays, and then does something else."""

    def make(session: Session) -> Agent:
        replies = [call("pay") if first is None else first, then]
        return Agent(session, model=Scripted(replies), tools=[pay], limits=limits or Limits())

    async def talk() -> str:
        task = call("delegate", '{"to": "payer", "task": "Pay the bill."}')
        session = Session.open("ana/one", store=MemoryStore())
        role = Role(name="payer", description="Pays.", make=make)
        parent = Agent(
            session, model=Scripted([task, "Well."]), tools=delegating_tools(role, timeout=timeout)
        )
        await parent.ask("Have it paid.")
        (result,) = results(parent)
        return result.text

    return asyncio.run(talk())


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (OSError(111, "Connection refused"), "ConnectionRefusedError: [Errno 111] Connection refused"),
        (KeyError("gone"), "KeyError: 'gone'"),
        (ExceptionGroup("many", [ValueError("x")]), "ExceptionGroup: many (1 sub-exception): ValueError: x"),
        (ConnectionError("gone"), "ConnectionError: gone"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "odd"), "UnicodeDecodeError: 'utf-8' codec"),
        (RuntimeError(), "RuntimeError: "),
    ],
)
def test_an_error_of_any_kind(fault: Exception, words: str) -> None:
    said = told(fault)
    assert said.startswith(words) and said.endswith(CALLED)
    assert said.count("It had called") == 1


def test_a_limit() -> None:
    assert told("never", Limits(requests=1)) == f"payer-1 stopped before it was done (requests): {CALLED}"
    assert told(sleeps, Limits(seconds=0.3)).endswith(CALLED)


def test_the_time() -> None:
    said = told(sleeps, timeout=0.5)
    assert said == f"payer-1 did not finish in 0.5 seconds, and was stopped.{CALLED}"


def test_nothing_is_told_where_nothing_was_called() -> None:
    assert told("", first=OSError(111, "refused")) == "ConnectionRefusedError: [Errno 111] refused"
    assert told("", timeout=0.5, first=sleeps).endswith("and was stopped.")
