"""What a durable agent writes into the tables of its engine: references beside histories.

Usage: python bench/durable.py [--turns N] [--tokens N] [--before N …] [--only NAME …] [--json] [--page FILE]

In each of 100 turns of one conversation the model calls a tool and answers: 2,000 tokens. The conversation is
empty at first, or has 200,000 tokens. The engine is DBOS on PostgreSQL, and the same turns are run by

- quire: a worker that takes jobs from the queue; workflows and steps are given references;
- workflow: a plain agent, whose workflow is given the history and returns it; its steps return what is new;
- steps: the same, and its steps are given the history and return it;
- pydantic-ai: `agent.run` with `DBOSDurability`, in a workflow that is given the history and returns it.

Each has a process and a database of its own. Counted are the bytes of all columns in the engine's schema,
before the server compresses them; what its tables and indexes take; and what the server writes to its log for
all tables, Quire's among them. DBOS does not keep the arguments of steps, but others do: they are counted
apart. The texts are those of the documentation.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from dbos import DBOS
from psycopg.conninfo import make_conninfo

import page
from crash import postgres
from load import Instant
from quire import Agent, Message, Node, ToolCall, counter_for, tool
from quire.service.durable import DurableRunner
from quire.service.worker import Worker
from quire.session import Job

DOCS = Path(__file__).parent.parent / "docs"
MODEL = "gpt-5.6"
QUESTION, ANSWER = 40, 160
"""Tokens of a question and of an answer; the output of the tool has the rest of a turn."""

Plain = list[dict[str, Any]]
Turn = Callable[[int], Awaitable[None]]
"""Runs one turn, by its number."""


# What is said


@cache
def _prose() -> tuple[str, float]:
    """A long text, and its characters a token."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md")))
    return text, 100_000 / counter_for(MODEL).count(Message("user", text[:100_000]))


def _words(kind: int, nth: int, tokens: int) -> str:
    text, rate = _prose()
    start = (nth * 7_919 + kind * 1_009) % 400_000
    return text[start : start + round(tokens * rate)]


def question(nth: int) -> str:
    return f"{_words(0, nth, QUESTION)} What of order {nth}?"


def output(nth: int, tokens: int) -> str:
    return _words(1, nth, tokens - QUESTION - ANSWER)


def answer(nth: int) -> str:
    return _words(2, nth, ANSWER)


def past(tokens: int) -> list[str]:
    """What was said before: questions and long answers."""
    return [_words(3, nth, 1_000) for nth in range(tokens // 1_000)]


def order_in(text: str) -> int:
    return int(text.rsplit(" ", 1)[1].rstrip("?"))


# Plain agents: a history is a list of messages, as a provider takes it

_passed = 0
"""Bytes that were given to steps as arguments."""


def passed(*arguments: Any) -> None:
    global _passed
    _passed += len(json.dumps(arguments))


def said(history: Plain) -> dict[str, Any]:
    """What the model says."""
    if history[-1]["role"] == "tool":
        return {"role": "assistant", "content": answer(int(history[-1]["tool_call_id"]))}
    order = str(order_in(history[-1]["content"]))
    function = {"name": "look_up", "arguments": json.dumps({"order": order})}
    return {"role": "assistant", "tool_calls": [{"id": order, "type": "function", "function": function}]}


def found(call: dict[str, Any], tokens: int) -> dict[str, Any]:
    """What the tool says."""
    return {"role": "tool", "tool_call_id": call["id"], "content": output(int(call["id"]), tokens)}


def plain_workflow(given: argparse.Namespace) -> Turn:
    @DBOS.step()
    async def ask_model(history: Plain) -> dict[str, Any]:
        passed(history)
        return said(history)

    @DBOS.step()
    async def look_up(call: dict[str, Any]) -> dict[str, Any]:
        passed(call)
        return found(call, given.tokens)

    @DBOS.workflow()
    async def turn(history: Plain, asked: str) -> Plain:
        history = [*history, {"role": "user", "content": asked}]
        history.append(await ask_model(history))
        history.append(await look_up(history[-1]["tool_calls"][0]))
        history.append(await ask_model(history))
        return history

    return _kept(turn, plain_past(given.before))


def plain_steps(given: argparse.Namespace) -> Turn:
    @DBOS.step()
    async def ask_model(history: Plain) -> Plain:
        passed(history)
        return [*history, said(history)]

    @DBOS.step()
    async def look_up(history: Plain) -> Plain:
        passed(history)
        return [*history, found(history[-1]["tool_calls"][0], given.tokens)]

    @DBOS.workflow()
    async def turn(history: Plain, asked: str) -> Plain:
        history = await ask_model([*history, {"role": "user", "content": asked}])
        return await ask_model(await look_up(history))

    return _kept(turn, plain_past(given.before))


def plain_past(tokens: int) -> Plain:
    return [
        {"role": "assistant" if nth % 2 else "user", "content": text} for nth, text in enumerate(past(tokens))
    ]


def _kept(workflow: Callable[[Any, str], Awaitable[Any]], history: Any) -> Turn:
    """Turns of a workflow that is given the history and returns it."""

    async def turn(nth: int) -> None:
        nonlocal history
        history = await workflow(history, question(nth))

    return turn


def pydantic_ai(given: argparse.Namespace) -> Turn:
    from pydantic_ai import Agent as Theirs
    from pydantic_ai.durable_exec.dbos import DBOSDurability
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models.function import FunctionModel

    def says(history: list[ModelMessage], _: Any) -> ModelResponse:
        last = history[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            return ModelResponse(parts=[TextPart(answer(int(last.tool_call_id)))])
        assert isinstance(last, UserPromptPart) and isinstance(last.content, str)
        order = str(order_in(last.content))
        return ModelResponse(parts=[ToolCallPart("look_up", {"order": order}, order)])

    agent = Theirs(FunctionModel(says), name="desk", capabilities=[DBOSDurability()])

    @agent.tool_plain
    @DBOS.step()
    async def look_up(order: str) -> str:
        return output(int(order), given.tokens)

    @DBOS.workflow()
    async def turn(history: list[ModelMessage], asked: str) -> list[ModelMessage]:
        return (await agent.run(asked, message_history=history)).all_messages()

    before: list[ModelMessage] = [
        ModelResponse(parts=[TextPart(text)]) if nth % 2 else ModelRequest(parts=[UserPromptPart(text)])
        for nth, text in enumerate(past(given.before))
    ]
    return _kept(turn, before)


PLAIN: dict[str, Callable[[argparse.Namespace], Turn]] = {
    "workflow": plain_workflow,
    "steps": plain_steps,
    "pydantic-ai": pydantic_ai,
}


# What is measured


class Tables:
    """The tables of the engine: what is in them."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(make_conninfo(url), autocommit=True)
        rows = self._connection.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = 'dbos' AND table_name <> 'dbos_migrations'"
        )
        columns: dict[str, list[str]] = {}
        for name, column, kind in rows:
            size = "octet_length" if kind == "text" else "pg_column_size"  # the one is before compression
            columns.setdefault(name, []).append(f"""coalesce(sum({size}("{column}")), 0)""")
        self._query = " UNION ALL ".join(
            f"SELECT count(*), {' + '.join(sizes)} FROM dbos.{name}" for name, sizes in columns.items()
        )

    def counted(self) -> tuple[int, int]:
        """Rows, and bytes in all columns."""
        rows = self._connection.execute(self._query.encode()).fetchall()
        return sum(row[0] for row in rows), sum(int(row[1]) for row in rows)

    def number(self, query: str) -> int:
        """The number that a query returns."""
        row = self._connection.execute(query.encode()).fetchone()
        assert row is not None
        return int(row[0])

    def on_disk(self, schema: str) -> int:
        """What all tables and indexes of a schema take."""
        return self.number(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class"
            f" WHERE relkind = 'r' AND relnamespace = to_regnamespace('{schema}')"
        )

    def logged(self) -> int:
        """How far the server's log is."""
        return self.number("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")


async def measured(turn: Turn, tables: Tables, given: argparse.Namespace) -> dict[str, Any]:
    """Run all turns; what each wrote."""
    rows, content, log, disk = *tables.counted(), tables.logged(), tables.on_disk("dbos")
    written = [content]
    for nth in range(1, given.turns + 1):
        await turn(nth)
        while tables.number("SELECT count(*) FROM dbos.workflow_status WHERE status <> 'SUCCESS'"):
            await asyncio.sleep(0.01)
        written.append(tables.counted()[1])
    last, count = given.turns, tables.counted()[0] - rows
    return {
        "before": given.before,
        "rows a turn": count / last,
        "turns": [written[nth] - written[nth - 1] for nth in (1, last // 2, last)],
        "content": written[-1] - content,
        "disk": tables.on_disk("dbos") - disk,
        "log": tables.logged() - log,
        "quire disk": tables.on_disk("quire"),
        "arguments": _passed,
    }


# Quire: a job is a reference


def desk(url: str, given: argparse.Namespace) -> Node:
    """A node with the same agent."""

    def says(sent: Any) -> Any:
        last = sent.payload["messages"][-1]
        if last["role"] == "tool":
            return answer(int(last["tool_call_id"]))
        order = str(order_in(text_of(last["content"])))
        return ToolCall(order, "look_up", json.dumps({"order": order}))

    @tool
    async def look_up(order: str) -> str:
        """Look up an order."""
        return output(int(order), given.tokens)

    node = Node(store=url)
    node.add("desk", lambda session: Agent(session, model=Instant(says, name=MODEL), tools=[look_up]))
    return node


def text_of(content: Any) -> str:
    """The text of a message: in parts, where it is marked for a cache."""
    return content if isinstance(content, str) else content[0]["text"]


async def run_quire(url: str, given: argparse.Namespace) -> dict[str, Any]:
    node = desk(url, given)
    before = [Message(one["role"], one["content"]) for one in plain_past(given.before)]
    if before:
        node.session("desk", "ana", "orders").append(*before)
    runner, worker = DurableRunner(node), Worker(node)
    await runner.start()
    working = asyncio.ensure_future(worker.run())

    async def turn(nth: int) -> None:
        await runner.submit("desk", "ana", "orders", Job.of(question(nth)))

    try:
        return await measured(turn, Tables(url), given)
    finally:
        worker.stop()
        await working
        await runner.stop(0)
        await node.stop()


async def run_plain(name: str, url: str, given: argparse.Namespace) -> dict[str, Any]:
    DBOS(
        config={
            "name": "desk",
            "system_database_url": url.replace("://", "+psycopg://", 1),
            "application_version": "1",
            "log_level": "ERROR",
        }
    )
    turn = PLAIN[name](given)
    DBOS.launch()
    try:
        return await measured(turn, Tables(url), given)
    finally:
        DBOS.destroy()


# The report

HEAD = (
    "tokens before",
    "",
    "first turn, kB",
    "last, kB",
    "all turns, MB",
    "times quire",
    "all on disk, MB",
    "log of the server, MB",
)
LABELS = {
    "quire": "quire: references",
    "workflow": "plain: the workflow has the history",
    "steps": "plain: each step has it",
    "pydantic-ai": "Pydantic AI, `DBOSDurability`",
}


def table_of(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    rows = []
    for before, runs in found.items():
        least = runs.get("quire", {}).get("content")
        for name, one in runs.items():
            rows.append(
                (
                    f"{int(before):,}",
                    LABELS[name],
                    *(size / 1e3 for size in (one["turns"][0], one["turns"][-1])),
                    one["content"] / 1e6,
                    one["content"] / least if least else None,
                    (one["disk"] + one["quire disk"]) / 1e6,
                    one["log"] / 1e6,
                )
            )
    return page.table(HEAD, rows, left=2)


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=2_000, help="that a turn adds")
    parser.add_argument(
        "--before", type=int, nargs="*", default=[0, 200_000], help="tokens before the first turn"
    )
    parser.add_argument("--only", nargs="*", choices=LABELS, default=list(LABELS))
    parser.add_argument("--run", nargs=2, metavar=("NAME", "URL"), help="one run, in this process")
    given = parser.parse_args()
    if given.run:
        name, url = given.run
        (given.before,) = given.before
        run = run_quire(url, given) if name == "quire" else run_plain(name, url, given)
        print(json.dumps(asyncio.run(run)))
        return
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for before in given.before:
        for name in given.only:
            page.progress(f"{name}, {before:,} tokens before")
            with postgres() as url:
                if url is None:
                    raise SystemExit("no PostgreSQL here")
                asked = ["--turns", str(given.turns), "--tokens", str(given.tokens), "--before", str(before)]
                done = subprocess.run(
                    [sys.executable, __file__, "--run", name, url, *asked], stdout=subprocess.PIPE, check=True
                )
            found.setdefault(str(before), {})[name] = json.loads(done.stdout.splitlines()[-1])
    page.report(given, {"durable": table_of(found)}, found)


if __name__ == "__main__":
    main()
