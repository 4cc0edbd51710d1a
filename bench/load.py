"""Many conversations on one node: whether each reply is its own, and what the node adds to the model's time.

Usage: python bench/load.py [--conversations N] [--turns N] [--latency SECONDS] [--clients N]
                            [--messages N] [--memory MB] [--store FILE] [--json] [--page FILE]

Each of 1,000 conversations sends 20 messages, one after the other, all conversations side by side, or as many
at a time as there are clients. The model answers after 50 ms with what it was asked, so that a reply in the
wrong place is seen. All is kept in one SQLite file. With `--messages` each conversation has so many already;
a `--store` is made once and used again. Our share of a turn is its time less the model's. Afterwards the file
is opened anew and every conversation is read: nothing may be missing, double or in another order.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import quantiles
from typing import Any

import page
from quire import Budget, Message, Session, Template
from quire.agent import Agent
from quire.models import Answering, Asks, Delta
from quire.node import Node
from quire.providers import Parsed, Rendered
from quire.sections import History, Instructions
from quire.stores import Store
from quire.tokens import Usage

WINDOW = 8_000


class Instant(Asks):
    """Says the same to every request, or what a function of the request gives."""

    wire = "openai"

    def __init__(
        self, said: Any = "Fine, thank you.", *, seconds: float = 0.0, name: str = "gpt-5.6"
    ) -> None:
        self.name = name
        self._said = said
        self._seconds = seconds

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Any) -> Answering:
        """The answer."""
        said: Any = self._said(rendered) if callable(self._said) else self._said
        item = Message("assistant", said) if isinstance(said, str) else said
        finish = "stop" if isinstance(said, str) else "calls"
        parsed = Parsed((item,), Usage(100, 5), finish, self.name)
        return Answering(self._deltas(), lambda: parsed)

    async def _deltas(self) -> AsyncGenerator[Delta, None]:
        if self._seconds:
            await asyncio.sleep(self._seconds)
        return
        yield


def last_words(sent: Rendered) -> str:
    """What the model says: what it was asked."""
    asked = sent.payload["messages"][-1]["content"]
    words = asked if isinstance(asked, str) else asked[0]["text"]  # in parts, where it is marked for a cache
    return f"You said: {words}"


def words_of(conversation: int, turn: int) -> str:
    """A message that says where it belongs."""
    return f"message {turn} of conversation {conversation}"


def past(count: int) -> list[Message]:
    """Messages that a conversation has before its first turn: about 170 characters each."""
    words = "the order of last week still waits for a refund, and the second shipment was moved; " * 2
    return [Message("assistant" if nth % 2 else "user", f"{nth}: {words}") for nth in range(count)]


def fill(path: Path, conversations: int, messages: int) -> None:
    """Make a file of conversations; what is there already stays."""
    with Store.open(path) as store:
        known = store.conversations("echo/load")
        for number in range(conversations if messages else 0):
            if str(number) not in known:
                Session.open(scope="echo/load", conversation=str(number), store=store).append(*past(messages))
            if number % 1_000 == 999:
                page.progress(f"{number + 1:,} conversations")


async def talk(
    node: Node, conversation: int, given: argparse.Namespace, clients: asyncio.Semaphore, shares: list[float]
) -> int:
    """One conversation; how many replies were not its own."""
    wrong = 0
    async with clients:
        for turn in range(given.turns):
            words, began = words_of(conversation, turn), time.perf_counter()
            reply = await node.send("echo", words, scope="load", conversation=str(conversation))
            shares.append(time.perf_counter() - began - given.latency)
            wrong += reply.text != f"You said: {words}"
    return wrong


async def load(store: Path, given: argparse.Namespace) -> dict[str, Any]:
    """All conversations on one node."""
    model = Instant(last_words, seconds=given.latency)
    clients = asyncio.Semaphore(given.clients or given.conversations)
    shares, began = list[float](), time.perf_counter()
    template = Template(Instructions("Repeat."), History(), budget=Budget(window=WINDOW), model="gpt-5.6")
    options: Any = {"memory": given.memory * 1_000_000} if given.memory else {}
    async with Node(store=store, **options) as node:
        node.add("echo", lambda session: Agent(session, model=model, template=template))
        work = (talk(node, number, given, clients, shares) for number in range(given.conversations))
        wrong = sum(await asyncio.gather(*work))
    seconds = time.perf_counter() - began
    cuts = quantiles(shares, n=100)
    return {
        "wrong": wrong,
        "seconds": seconds,
        "turns a second": len(shares) / seconds,
        "median ms": cuts[49] * 1_000,
        "p99 ms": cuts[98] * 1_000,
        "most MB": getrusage(RUSAGE_SELF).ru_maxrss * 1_024 / 1e6,
    }


def missing(store: Path, given: argparse.Namespace) -> int:
    """How many messages are not where they must be, in a file that is opened anew."""
    lost = 0
    for conversation in range(given.conversations):
        session = Session.open(scope="echo/load", conversation=str(conversation), store=store)
        view, asked = session.view(), [words_of(conversation, turn) for turn in range(given.turns)]
        wanted = [text for one in asked for text in (one, f"You said: {one}")]
        found = [item.text for item in view[-len(wanted) :] if isinstance(item, Message)]
        lost += sum(one != other for one, other in zip(found, wanted, strict=False))
        lost += len(wanted) - len(found)
    return lost


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--conversations", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--clients", type=int, help="conversations at a time; otherwise all")
    parser.add_argument("--messages", type=int, default=0, help="that each conversation has before")
    parser.add_argument("--memory", type=int, metavar="MB", help="that the node may take; otherwise any")
    parser.add_argument("--store", type=Path, help="made by the first run")
    parser.add_argument("--fill", action="store_true", help="make the store, and no more")
    given = parser.parse_args()
    if given.fill:
        fill(given.store, given.conversations, given.messages)
        return
    with tempfile.TemporaryDirectory() as folder:
        store = given.store or Path(folder, "load.db")
        # In a process of its own: its memory is not counted.
        subprocess.run([sys.executable, *sys.argv, "--fill", "--store", store], check=True)
        found = asyncio.run(load(store, given))
        found["missing"] = missing(store, given)
    before = f", {given.messages:,} messages each before," if given.messages else ""
    limit = f" (the node may take {given.memory} MB)" if given.memory else ""
    text = (
        f"{given.conversations:,} conversations{before} of {given.turns} turn{'s' * (given.turns > 1)}, "
        f"{given.clients or given.conversations:,} at a time, the model at "
        f"{given.latency * 1_000:.0f} ms: {found['turns a second']:,.0f} turns a second; "
        f"a turn without the model {found['median ms']:,.0f} ms in the median, "
        f"{found['p99 ms']:,.0f} ms at the 99th percentile; "
        f"at most {found['most MB']:,.0f} MB resident{limit}; "
        f"{found['wrong']} replies in the wrong place, {found['missing']} messages missing."
    )
    page.report(given, {"load many" if given.messages else "load": text}, found)


if __name__ == "__main__":
    main()
