"""Marks of a cache go where its key goes: to OpenAI's own address, and to who asks for them."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from quire import Agent, Session
from quire.models import Model
from tests.clients.scenes import Stage, stage
from tests.clients.speaking import says
from tests.models.answerers import NEEDS_SDK

MARK = "prompt_cache_breakpoint"
KEY = "prompt_cache_key"
LONG = "Be brief. " * 800
on_both = pytest.mark.parametrize("wire", ["openai", "openai-responses"])


@pytest.fixture(scope="module")
def server() -> Iterator[Stage]:
    with stage() as open_stage:
        yield open_stage


def asked(server: Stage, wire: str, **options: Any) -> Any:
    """The body of a request to an address."""
    scene = server.scene(says(wire, "Hello."))

    async def run() -> None:
        async with Model(f"{wire}:gpt-5.6@{scene.base_url}/v1", api_key="k", **options) as model:
            agent = Agent(Session.open("a/b", store="memory:"), model=model, instructions=LONG)
            assert str(await agent.ask("Hi.")) == "Hello."

    asyncio.run(run())
    return scene.requests[0].body


@NEEDS_SDK["openai"]
@on_both
def test_another_address_gets_neither_key_nor_marks(server: Stage, wire: str) -> None:
    body = asked(server, wire)
    assert MARK not in str(body) and KEY not in body
    messages = body["messages" if wire == "openai" else "input"]
    assert [message["content"] for message in messages] == [LONG, "Hi."]


@NEEDS_SDK["openai"]
@on_both
def test_who_gives_a_key_gets_the_marks(server: Stage, wire: str) -> None:
    body = asked(server, wire, options={KEY: "k"})
    assert MARK in str(body) and body[KEY] == "k"


@NEEDS_SDK["openai"]
@on_both
def test_openai_gets_both(server: Stage, wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire.models.services._OWN", "127.0.0.1")
    body = asked(server, wire)
    assert MARK in str(body) and KEY in body
