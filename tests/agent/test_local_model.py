"""The loop on the model of this machine: it is tiny, so shapes are held and never sense."""

import asyncio
from dataclasses import dataclass

import pytest

from quire import Message, Session
from quire.agent import Agent, tool
from quire.errors import ModelFailed
from quire.stores import MemoryStore
from tests.models.answerers import NEEDS_LOCAL, shared_local

pytestmark = list(NEEDS_LOCAL)


@tool
async def order_status(number: int) -> str:
    """Look up where an order is."""
    return f"Order {number} left the warehouse on Monday."


@dataclass
class Mood:
    """How somebody feels."""

    is_happy: bool


def local_agent(**options: object) -> Agent:
    session = Session.open(store=MemoryStore())
    return Agent(session, model=shared_local(), instructions="Help.", **options)  # type: ignore[arg-type]


def test_tools_are_refused_where_the_chat_template_has_no_place_for_them() -> None:
    with pytest.raises(ModelFailed, match="takes no tools"):
        asyncio.run(local_agent(tools=[order_status]).ask("Where is order 17?"))


def test_an_answer_can_be_a_value() -> None:
    async def talk() -> None:
        reply = await local_agent().ask("I won a prize today!", output=Mood)
        assert isinstance(reply.output, Mood)
        assert any(isinstance(item, Message) for item in reply.items)

    asyncio.run(talk())
