"""What only OpenAI knows is sent to nobody else, so that services that refuse unknown fields can be asked."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from quire import Agent, Session
from quire.models import Model
from quire.models.services import options_for
from quire.providers import PROVIDERS
from tests.clients.scenes import Exchange, Stage, Step, stage
from tests.clients.speaking import error, fails, says
from tests.models.answerers import NEEDS_SDK

ADDRESS = "ana@example.com/q3"
KEY = "prompt_cache_key"
UNSENT = {KEY: None}
on_both = pytest.mark.parametrize("wire", ["openai", "openai-responses"])


@pytest.fixture(scope="module")
def server() -> Iterator[Stage]:
    with stage() as open_stage:
        yield open_stage


def knows_no_key(wire: str) -> Step:
    """Answers, and refuses a field that only OpenAI has."""
    refusal = fails(400, error(wire, 400, "invalid_request_error", f"property '{KEY}' is unsupported"))

    def step(exchange: Exchange) -> None:
        (refusal if KEY in exchange.body else says(wire, "Hello."))(exchange)

    return step


async def asked(model: Model) -> str:
    async with model:
        return str(await Agent(Session.open(ADDRESS, store="memory:"), model=model).ask("Hi."))


@NEEDS_SDK["openai"]
@on_both
@pytest.mark.parametrize("name", ["llama-3.3-70b-versatile", "openai/gpt-oss-120b", "gpt-5.6"])
def test_a_service_that_refuses_what_it_does_not_know_is_asked(server: Stage, wire: str, name: str) -> None:
    scene = server.scene(knows_no_key(wire))
    model = Model(f"{wire}:{name}@{scene.base_url}/v1", api_key="k")
    assert asyncio.run(asked(model)) == "Hello."
    assert "ana@example" not in str(scene.requests[0].body)


@NEEDS_SDK["openai"]
@on_both
@pytest.mark.parametrize(("option", "sent"), [(None, None), ("my-key", "my-key")])
def test_options_say_otherwise(server: Stage, wire: str, option: str | None, sent: str | None) -> None:
    scene = server.scene(says(wire, "Hello."))
    model = Model(f"{wire}:gpt-5.6@{scene.base_url}/v1", api_key="k", options={KEY: option})
    assert asyncio.run(asked(model)) == "Hello."
    assert [request.body.get(KEY, "none") for request in scene.requests] == [sent or "none"]


@NEEDS_SDK["openai"]
@on_both
def test_openai_itself_gets_it(server: Stage, wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = server.scene(says(wire, "Hello."))
    monkeypatch.setattr("quire.models.services._OWN", "127.0.0.1")
    assert asyncio.run(asked(Model(f"{wire}:gpt-5.6@{scene.base_url}/v1", api_key="k"))) == "Hello."
    assert len(scene.requests[0].body[KEY]) == 32


@on_both
def test_a_service_is_known_by_its_address(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for own in (None, "https://api.openai.com/v1", "https://eu.api.openai.com/v1/"):
        assert options_for(wire, own, None) == {}
    for other in ("http://127.0.0.1:8000/v1", "https://x.example/api.openai.com", "https://[", "nowhere"):
        assert options_for(wire, other, None) == UNSENT
    monkeypatch.setenv("OPENAI_BASE_URL", "https://llm.example/v1")
    assert options_for(wire, None, None) == UNSENT
    assert options_for(wire, "https://api.openai.com/v1", None) == {}


@NEEDS_SDK["openai"]
def test_a_client_of_ones_own_tells_where_it_goes() -> None:
    import openai

    for address, options in (("https://llm.example/v1", UNSENT), ("https://api.openai.com/v1", {})):
        client = openai.AsyncOpenAI(api_key="k", base_url=address)
        assert options_for("openai", None, client) == options


@pytest.mark.parametrize("wire", sorted(PROVIDERS.keys() - {"openai", "openai-responses"}))
def test_other_wires_have_no_such_field(wire: str) -> None:
    nothing: dict[str, Any] = {}
    assert options_for(wire, "http://127.0.0.1:8000", None) == nothing
