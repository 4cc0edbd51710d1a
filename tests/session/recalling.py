"""Conversations that recall from others: by a section, or because the model looks something up."""

import asyncio
from typing import Any

from quire import Agent, Budget, Session, Template
from quire.agent.builtin import recall_tools
from quire.items import Message, ToolCall, ToolResult
from quire.memory import Recall
from quire.models import Scripted
from quire.sections import History, Instructions
from quire.stores import MemoryStore, Store

SECRET = "My passport number is X99-swordfish-4411."
ASKED = "What is my passport number?"
QUOTING = Template(Instructions("Help."), History(), Recall("knowledge"), budget=Budget(window=4_000))
PLAIN = Template(Instructions("Help."), History(), budget=Budget(window=4_000))


def quoted(store: Store, name: str) -> Session:
    """A conversation in which a section quotes what was said in another."""
    one = Session.open(f"ana/{name}", store=store)
    one.user(ASKED)
    assert "swordfish" in str(asyncio.run(one.build(QUOTING)).render("openai").payload)
    return one


def looked_up(store: Store, name: str, tool: str = "recall", limit: int = 10, **arguments: Any) -> Session:
    """A conversation in which the model looked it up."""
    one = Session.open(f"ana/{name}", store=store)
    call = ToolCall("r1", tool, f'{{"question": "{ASKED}", "limit": {limit}}}')
    agent = Agent(one, PLAIN, model=Scripted([[call], "I have it."]), tools=recall_tools(**arguments))
    asyncio.run(agent.ask(ASKED))
    return one


def results(one: Session) -> list[str]:
    return [item.text for item in one.view() if isinstance(item, ToolResult)]


def told(store: MemoryStore) -> tuple[Session, Message]:
    monday = Session.open("ana/monday", store=store)
    secret = monday.user(SECRET)
    monday.assistant("Noted.")
    return monday, secret
