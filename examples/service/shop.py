"""A lamp shop on many machines: the agents that `quire work` runs and `quire serve` offers.

Without a key for OpenAI a script plays the model: it orders the lamp that is named last in a message.
"""

import json
import os
import time
from typing import Any

from quire import Agent, Node, Session, ToolCall, tool
from quire.agent import running_call
from quire.models import Model, Scripted

SECONDS = float(os.environ.get("SHOP_SECONDS", "2"))
"""How long an order takes: time enough to kill the worker that places it."""


@tool(idempotent=True)
def order(lamp: str) -> str:
    """Order a lamp.

    Args:
        lamp: The name of the lamp.
    """
    call = running_call()
    assert call is not None
    time.sleep(SECONDS)  # the wholesaler is asked here, with the id of the call: it takes an order once
    return f"Ordered {lamp} as number {call.id[-6:]}."


def clerk(request: Any) -> str | ToolCall:
    """What the script says: a call for a message, and the result for a call."""
    last = request["messages"][-1]
    text = last["content"] if isinstance(last["content"], str) else last["content"][0]["text"]
    if last["role"] == "tool":
        return str(text)
    lamp = text.split()[-1].strip(".!?")
    return ToolCall(f"order-{len(request['messages'])}", "order", json.dumps({"lamp": lamp}))


def seller(session: Session) -> Agent:
    """The agent of one conversation."""
    model = Model("gpt-5.6") if "OPENAI_API_KEY" in os.environ else Scripted(clerk)
    return Agent(session, model=model, tools=[order], instructions="You sell lamps.")


node = Node(store=os.environ["QUIRE_STORE"])
node.add("seller", seller)
