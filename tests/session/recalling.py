"""Conversations that recall from others: by a section, or because the model looks something up."""

from typing import Any

from quire import Agent, Budget, Session, Template
from quire.agent.builtin import recall_tools
from quire.items import Message, ToolCall, ToolResult
from quire.memory import Recall
from quire.models import Scripted
from quire.sections import History, Instructions
from quire.stores import Store
from tests.session.opened import run, send

SECRET = "My passport number is X99-swordfish-4411."
ASKED = "What is my passport number?"
QUOTING = Template(Instructions("Help."), History(), Recall("knowledge"), budget=Budget(window=4_000))
PLAIN = Template(Instructions("Help."), History(), budget=Budget(window=4_000))


def told(store: Store) -> tuple[Session, Message]:
    """A conversation in which the secret is said."""
    monday = Session.open("ana/monday", store=store)
    secret = monday.user(SECRET)
    monday.assistant("Noted.")
    return monday, secret


def quoted(store: Store, name: str) -> Session:
    """A conversation in which a section quotes what was said in another."""
    one = Session.open(f"ana/{name}", store=store)
    one.user(ASKED)
    send(one.build(QUOTING))
    return one


def looked_up(store: Store, name: str, tool: str = "recall", limit: int = 10, **arguments: Any) -> Session:
    """A conversation in which the model looked it up."""
    one = Session.open(f"ana/{name}", store=store)
    call = ToolCall("r1", tool, f'{{"question": "{ASKED}", "limit": {limit}}}')
    agent = Agent(
        one, template=PLAIN, model=Scripted([[call], "I have it."]), tools=recall_tools(**arguments)
    )
    run(agent.ask(ASKED))
    return one


def results(one: Session) -> list[str]:
    """What tools gave in a conversation."""
    return [item.text for item in one.view() if isinstance(item, ToolResult)]
