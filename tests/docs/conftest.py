"""A server in the place of OpenAI's, so that pages run as they are written, with the official client."""

import json
from collections.abc import Iterator

import pytest

from quire.providers import PROVIDERS
from tests.clients.scenes import Exchange, stage
from tests.clients.speaking import says

ANSWERS = {"Suggest a dinner": "Pasta with tomatoes and basil, without peanuts."}
"""Answers to questions that begin so; all others are answered by "Done."."""

ARGUMENTS = {"string": "4711", "number": 20, "integer": 20, "boolean": True}
"""The arguments of a call, by the type of the parameter."""


def answer(exchange: Exchange) -> None:
    """A call of the first tool to a message of the user, if there are tools, and a text otherwise."""
    asked = exchange.body
    last = next(one for one in reversed(asked["messages"]) if one["role"] in ("user", "tool"))
    if asked.get("tools") and last["role"] == "user":
        function = asked["tools"][0]["function"]
        fields = function["parameters"]["properties"]
        arguments = {name: ARGUMENTS[field["type"]] for name, field in fields.items()}
        says("openai", calls=[(function["name"], arguments)])(exchange)
    else:
        words = json.dumps(asked["messages"])
        says("openai", next((ANSWERS[one] for one in ANSWERS if one in words), "Done."))(exchange)
    exchange.hang_up()  # or clients that a page leaves behind hold connections


@pytest.fixture(scope="session")
def openai_address() -> Iterator[str]:
    with stage() as server:
        yield f"{server.scene(answer).base_url}/v1"


@pytest.fixture(autouse=True)
def openai_here(openai_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", openai_address)
    monkeypatch.setenv("OPENAI_API_KEY", "none")


@pytest.fixture(autouse=True)
def providers() -> Iterator[None]:
    """Take out what a page registers."""
    before = dict(PROVIDERS)
    yield
    PROVIDERS.clear()
    PROVIDERS.update(before)
