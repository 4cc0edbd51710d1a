"""A person who is forgotten leaves no string in the database, those of DBOS included, nor in the log."""

import asyncio
import logging
from functools import partial

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from quire import Agent, Node, Session
from quire.errors import ModelFailed
from quire.items import now
from quire.memory import Knowledge, Memory, recalled
from quire.models import Scripted
from quire.providers import Rendered
from quire.session import Job
from tests.cli.command_line import ran_json
from tests.service.test_durable import happens
from tests.stores.server import database

durable = pytest.importorskip("quire.service.durable")
working = pytest.importorskip("quire.service.worker")

STRINGS = (
    *("lovelace", "heliotrope", "marmalade", "zeppelin", "quince", "sarsaparilla"),
    *("tangerine", "umbrella", "velvet", "walrus"),
)
"""A string of each thing that is kept: scope, names, messages, answers, documents, ids, keys, parameters."""


def left_in(url: str) -> list[str]:
    """The strings that the tables of the database have, with what the server knows of columns."""
    with psycopg.connect(make_conninfo(url), autocommit=True) as connection:
        every = (
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname <> 'pg_catalog'"
        )
        tables = ["pg_stats", *(name for (name,) in connection.execute(every).fetchall())]
        rows = [
            one if isinstance(one, bytes) else str(one).encode()
            for table in tables
            for row in connection.execute(f"SELECT * FROM {table}".encode()).fetchall()
            for one in row
        ]
    data = b"\n".join(rows).lower()
    return [text for text in STRINGS if text.encode() in data]


def answered(sent: Rendered) -> str:
    asked = str(sent.payload["messages"][-1]["content"])
    if asked == "fail":
        raise ModelFailed("umbrella is down")
    return "Take some marmalade, walrus." if "umbrella" in asked else "You stay."


async def lived(node: Node) -> None:
    """A person leaves all of it with a durable service, and another one something."""
    runner = durable.DurableRunner(node)
    await runner.start()
    session = node.session("shop", "house/lovelace", "about heliotrope")
    submitted = [
        Job.of("I like umbrellas.", id="job zeppelin", is_streamed=True, parameters={"user": "quince"}),
        Job.of("fail", id="job velvet"),
        Job.of("later", id="job tangerine", not_before=now() + 3_600.0),
    ]
    for job in submitted:
        await runner.submit("shop", "house/lovelace", "about heliotrope", job)
    await runner.submit("shop", "house/bob", "q3", kept := Job.of("I stay."))
    for job in submitted[:2]:
        await happens(partial(session.jobs.outcome, job.id))
    await happens(lambda: node.session("shop", "house/bob", "q3").jobs.outcome(kept.id))
    await session.aio.fork("sarsaparilla")
    Knowledge(node.store, "shop/house/lovelace").add_text("The tangerine ripens.", source="tangerine.md")
    assert list(recalled(Memory.of(node.store, "shop/house/lovelace"), "tangerine"))
    await runner.stop(0)


async def test_no_string_of_a_person_is_left_in_the_database_or_in_logs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    with database() as url:
        node = Node(store=url)
        node.add("shop", lambda session: Agent(session, model=Scripted(answered)))
        worker = working.Worker(node, beat=0.1, grace=10.0)
        running = asyncio.create_task(worker.run())
        await lived(node)
        assert left_in(url) == list(STRINGS)
        (row,) = await asyncio.to_thread(
            ran_json, "forget", "--store", url, "--scope", "shop/house/lovelace", "--yes"
        )
        assert (row["conversations"], row["documents"], row["jobs"]) == (2, 1, 1)
        assert left_in(url) == []
        worker.stop()
        await running
        assert left_in(url) == []
        with Session.open(scope="shop/house/bob", conversation="q3", store=node.store) as session:
            assert "I stay." in str(session.view()[0])
        node.store.close()
    logs = "\n".join(one.getMessage() for one in caplog.records if not one.name.startswith("asyncio")).lower()
    assert "a job failed: modelfailed" in logs
    assert [text for text in STRINGS if text in logs] == []
