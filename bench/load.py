"""Many conversations on one node: whether each reply is its own, and what the node adds to the model's time.

Usage: python bench/load.py [--conversations N] [--turns N] [--latency SECONDS] [--json] [--page FILE]

Each of 1,000 conversations sends 20 messages, one after the other, all conversations side by side. The model
answers after 50 ms with what it was asked, so that a reply in the wrong place is seen. All is kept in one
SQLite file. Our share of a turn is its time less the model's. Afterwards the file is opened anew and every
conversation is read: nothing may be missing, double or in another order.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from statistics import quantiles
from typing import Any

import page
from quire import Message, Session
from quire.agent import Agent
from quire.models import Answering, Asks, Delta
from quire.node import Node
from quire.providers import Parsed, Rendered
from quire.tokens import Usage


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


async def talk(node: Node, conversation: int, turns: int, latency: float, shares: list[float]) -> int:
    """One conversation; how many replies were not its own."""
    wrong = 0
    for turn in range(turns):
        words, began = words_of(conversation, turn), time.perf_counter()
        reply = await node.send("echo", words, scope="load", conversation=str(conversation))
        shares.append(time.perf_counter() - began - latency)
        wrong += reply.text != f"You said: {words}"
    return wrong


async def load(store: Path, conversations: int, turns: int, latency: float) -> dict[str, Any]:
    """All conversations at once, on one node."""
    model = Instant(last_words, seconds=latency)
    shares: list[float] = []
    began = time.perf_counter()
    async with Node(store=store) as node:
        node.add("echo", lambda session: Agent(session, model=model, instructions="Repeat."))
        work = (talk(node, number, turns, latency, shares) for number in range(conversations))
        wrong = sum(await asyncio.gather(*work))
    seconds = time.perf_counter() - began
    cuts = quantiles(shares, n=100)
    return {
        "wrong": wrong,
        "seconds": seconds,
        "turns a second": conversations * turns / seconds,
        "median ms": cuts[49] * 1_000,
        "p99 ms": cuts[98] * 1_000,
    }


def missing(store: Path, conversations: int, turns: int) -> int:
    """How many messages are not where they must be, in a file that is opened anew."""
    lost = 0
    for conversation in range(conversations):
        session = Session.open(scope="echo/load", conversation=str(conversation), store=store)
        found = [item.text for item in session.view() if isinstance(item, Message)]
        asked = [words_of(conversation, turn) for turn in range(turns)]
        wanted = [text for one in asked for text in (one, f"You said: {one}")]
        lost += sum(one != other for one, other in zip(found, wanted, strict=False))
        lost += abs(len(found) - len(wanted))
    return lost


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--conversations", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--latency", type=float, default=0.05)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "load.db")
        found = asyncio.run(load(store, given.conversations, given.turns, given.latency))
        found["missing"] = missing(store, given.conversations, given.turns)
    text = (
        f"{given.conversations:,} conversations of {given.turns} turns, the model at "
        f"{given.latency * 1_000:.0f} ms: {found['turns a second']:,.0f} turns a second; our share of a turn "
        f"{found['median ms']:,.0f} ms in the median, {found['p99 ms']:,.0f} ms at the 99th percentile; "
        f"{found['wrong']} replies in the wrong place, {found['missing']} messages missing."
    )
    page.report(given, {"load": text}, found)


if __name__ == "__main__":
    main()
