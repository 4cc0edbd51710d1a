"""Services that refuse a history without what they gave with it are talked to on, by the official client."""

import asyncio
from typing import Any

import pytest

from quire.agent import Agent
from quire.agent.reply import Done
from quire.agent.tools import tool
from quire.models import Model
from tests.clients.scenes import Exchange, Scene, Stage
from tests.clients.speaking import send

pytest.importorskip("openai", reason="the openai client is not installed")

THOUGHT = "I should look."
SIGNED = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
MODELS = {"deepseek": "deepseek-v4-pro", "gemini": "gemini-3-pro"}


def is_refused(service: str, message: Any) -> bool:
    """Whether a message with calls is one that a service answers 400 to."""
    if service == "deepseek":
        return bool(message.get("reasoning_content") != THOUGHT)
    return bool(message["tool_calls"][0].get("extra_content") != SIGNED["extra_content"])


def message_of(service: str, call_id: str | None) -> dict[str, Any]:
    """What a model says, with its state; where no call is named, words."""
    function = {"name": "look", "arguments": "{}"}
    call = {
        "id": call_id,
        "type": "function",
        "function": function,
        **(SIGNED if service == "gemini" else {}),
    }
    said: dict[str, Any] = {"content": None, "tool_calls": [call]} if call_id else {"content": "It rains."}
    return {"role": "assistant", **said, **({"reasoning_content": THOUGHT} if service == "deepseek" else {})}


def pieces_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """A message as the deltas of a stream, thoughts in two of them."""
    thought, words = message.get("reasoning_content", ""), message["content"]
    pieces: list[dict[str, Any]] = [{"role": "assistant", "content": None}]
    pieces += [{"reasoning_content": piece} for piece in (thought[:4], thought[4:]) if piece]
    pieces += [{"content": words}] if words else []
    return [*pieces, *({"tool_calls": [{"index": 0, **call}]} for call in message.get("tool_calls", ()))]


def body_of(model: str, **choice: Any) -> dict[str, Any]:
    return {"id": "x", "created": 0, "model": model, "choices": [{"index": 0, **choice}]}


def speaks(service: str, exchange: Exchange) -> None:
    """Answer as a service does: a call for each question, words for its result, 400 for what it refuses."""
    sent: list[Any] = exchange.body["messages"]
    if any(is_refused(service, message) for message in sent if message.get("tool_calls")):
        exchange.answer({"error": {"message": "must be passed back", "type": "invalid_request_error"}}, 400)
        return
    call_id, model = f"c{len(sent)}" if sent[-1]["role"] == "user" else None, exchange.body["model"]
    message, reason = message_of(service, call_id), "tool_calls" if call_id else "stop"
    if not exchange.body.get("stream"):
        exchange.answer(body_of(model, finish_reason=reason, message=message) | {"object": "chat.completion"})
        return
    choices: list[Any] = [{"delta": piece, "finish_reason": None} for piece in pieces_of(message)]
    choices.append({"delta": {}, "finish_reason": reason})
    kind = {"object": "chat.completion.chunk"}
    send("openai", exchange, [body_of(model, **choice) | kind for choice in choices])


@tool
async def look() -> str:
    """Look out of the window."""
    return "rain"


async def asked(scene: Scene, service: str, streams: bool) -> list[str]:
    """What an agent answers to two questions."""
    async with Model(f"openai:{MODELS[service]}", base_url=f"{scene.base_url}/v1") as model:
        agent, heard = Agent("Be careful.", model=model, tools=[look]), list[str]()
        for question in ("Does it rain?", "And now?"):
            if streams:
                told = [delta async for delta in agent.stream(question)]
                heard += [delta.reply.text for delta in told if isinstance(delta, Done)]
            else:
                heard.append((await agent.ask(question)).text)
        return heard


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("service", MODELS)
def test_a_service_that_wants_its_state_back_is_talked_to_on(
    server: Stage, service: str, streams: bool
) -> None:
    scene = server.scene(lambda exchange: speaks(service, exchange))
    assert asyncio.run(asked(scene, service, streams)) == ["It rains.", "It rains."]
    roles = [message["role"] for message in scene.requests[-1].body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user", "assistant", "tool"]
