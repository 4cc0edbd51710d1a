"""The node of `service.py`: an agent whose every turn runs a tool that writes a row, and then says which."""

import json
import os
import time
from typing import Any

from psycopg_pool import ConnectionPool

from load import Instant
from quire import Agent, Node, ToolCall, tool
from quire.agent import running_call

STORE = os.environ.get("QUIRE_STORE", "memory:")
LATENCY = float(os.environ.get("BENCH_LATENCY", "0.05"))
"""Seconds that the model takes for an answer, and a tool before and after it writes."""


ROWS = ConnectionPool(STORE, min_size=0, max_size=4, kwargs={"autocommit": True}, open=False)
"""Connections to the tables that the tools write, opened at their first use."""


def write(query: str, *values: str) -> None:
    time.sleep(LATENCY)  # a process dies here without a trace of the work
    ROWS.open()
    with ROWS.connection() as connection:
        connection.execute(query.encode(), values)
    time.sleep(LATENCY)  # and here, when it is done and nobody was told


@tool
def charge(order: str) -> str:
    """Charge an order: each run of the tool charges again."""
    write("INSERT INTO shop.charges (of) VALUES (%s)", order)
    return "charged"


@tool(idempotent=True)
def book(order: str) -> str:
    """Book an order: with the id of its call, once, however often it runs."""
    running = running_call()
    assert running is not None
    write("INSERT INTO shop.bookings (call, of) VALUES (%s, %s) ON CONFLICT DO NOTHING", running.id, order)
    return "booked"


def says(sent: Any) -> Any:
    """What the model says: a call of a tool, then what the tool said."""
    last = sent.payload["messages"][-1]
    words = last["content"] if isinstance(last["content"], str) else last["content"][0]["text"]
    if last["role"] == "tool":
        return f"Order {last['tool_call_id']}: {words}"
    order = words.rsplit(" ", 1)[1]
    name = "book" if int(order.rsplit("-", 1)[1]) % 2 else "charge"
    return ToolCall(order, name, json.dumps({"order": order}))


node = Node(store=STORE)
node.add("shop", lambda session: Agent(session, model=Instant(says, seconds=LATENCY), tools=[charge, book]))
