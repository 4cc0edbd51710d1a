"""Sessions of the Claude Agent SDK in Quire's stores: the owners' suite, and what it does not ask."""

# pyright: basic, reportMissingImports=false

import asyncio
from pathlib import Path
from typing import Any

import pytest

from quire.stores import MemoryStore
from tests.docs.pages import DOCS, run_page

pytest.importorskip("claude_agent_sdk", reason="run by `make integrations`, in an environment of its own")

from claude_agent_sdk import (
    get_session_messages_from_store,
    list_sessions_from_store,
    project_key_for_directory,
)
from claude_agent_sdk.testing import run_session_store_conformance

from quire.integrations.claude_agent import QuireSessionStore

KEY: Any = {"project_key": "shop", "session_id": "0b5f3e1c-7a51-4f6e-9d3a-2f3c8a1b9e10"}


def line(number: int, role: str, text: str) -> Any:
    uuid = f"00000000-0000-4000-8000-{number:012}"
    parent = f"00000000-0000-4000-8000-{number - 1:012}" if number else None
    message = {"role": role, "content": text}
    common = {"uuid": uuid, "parentUuid": parent, "sessionId": KEY["session_id"], "isSidechain": False}
    return {"type": role, "timestamp": f"2026-01-01T00:00:{number:02}.000Z", "message": message, **common}


LINES = [line(0, "user", "Which orders are open?"), line(1, "assistant", "Three are.")]


@pytest.mark.parametrize("kind", ["memory", "sqlite", "jsonl"])
async def test_the_owners_suite_passes(kind: str, tmp_path: Path) -> None:
    made = iter(range(100))

    def store() -> QuireSessionStore:
        path = {"memory": "memory:", "sqlite": "s{}.db", "jsonl": "s{}.jsonl"}[kind].format(next(made))
        return QuireSessionStore(path if kind == "memory" else tmp_path / path)

    await run_session_store_conformance(store)


async def test_a_batch_that_is_sent_again_is_kept_once() -> None:
    store = QuireSessionStore("memory:")
    await store.append(KEY, LINES[:1])
    await store.append(KEY, LINES)
    assert await store.load(KEY) == LINES


async def test_the_sdk_reads_a_session_that_another_process_wrote(tmp_path: Path) -> None:
    key: Any = {**KEY, "project_key": project_key_for_directory("/shop")}
    await QuireSessionStore(tmp_path / "quire.db").append(key, LINES)
    other = QuireSessionStore(tmp_path / "quire.db")
    messages = await get_session_messages_from_store(other, KEY["session_id"], directory="/shop")
    listed = await list_sessions_from_store(other, directory="/shop")
    assert [one.session_id for one in listed] == [KEY["session_id"]]
    assert [one.message["content"] for one in messages] == [one["message"]["content"] for one in LINES]


async def test_two_writers_lose_nothing() -> None:
    shared = MemoryStore()
    one, other = QuireSessionStore(shared), QuireSessionStore(shared)
    batches = [[line(number, "user", f"line {number}")] for number in range(20)]
    await asyncio.gather(*(store.append(KEY, batch) for store in (one, other) for batch in batches))
    loaded: Any = await one.load(KEY)
    assert sorted(one["uuid"] for one in loaded) == sorted({one["uuid"] for one in loaded})
    assert len(loaded) == 20


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(DOCS / "integrations" / "claude-agent.md")
