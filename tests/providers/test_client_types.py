"""The payloads are of the types that the official clients declare."""

from types import GenericAlias
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import TypeAdapter

from quire.providers import PROVIDERS, CachePlan
from quire.testing.conversations import MODELS, STEPS, TOOLSETS, Step, Talk

openai_chat: Any = pytest.importorskip("openai.types.chat", reason="the openai client is not installed")
openai_responses: Any = pytest.importorskip("openai.types.responses")
anthropic_types: Any = pytest.importorskip("anthropic.types", reason="the anthropic client is not installed")
genai_types: Any = pytest.importorskip(
    "google.genai.types", reason="the google-genai client is not installed"
)


def _many(kind: Any) -> TypeAdapter[Any]:
    alias: Any = GenericAlias(list, (kind,))
    return TypeAdapter(alias)


CHAT = _many(openai_chat.ChatCompletionMessageParam)
RESPONSES = _many(openai_responses.ResponseInputItemParam)
ANTHROPIC = _many(anthropic_types.MessageParam)
CHAT_TOOLS = _many(openai_chat.ChatCompletionToolUnionParam)
RESPONSES_TOOLS = _many(openai_responses.ToolParam)
ANTHROPIC_TOOLS = _many(anthropic_types.ToolUnionParam)
SYSTEM = _many(anthropic_types.TextBlockParam)
CONTENTS = _many(genai_types.Content)
CONFIG: TypeAdapter[Any] = TypeAdapter(genai_types.GenerateContentConfig)


WIRES = [(wire, model) for wire, models in MODELS.items() for model in models]
PLANS = [None, CachePlan(static=1, slow=3, key="k"), CachePlan(slow=2, keep="long")]


def forced(value: Any) -> Any:
    """Iterables are validated when they are read, so they are read."""
    if isinstance(value, dict):
        return {name: forced(inner) for name, inner in value.items()}  # pyright: ignore
    if isinstance(value, str | bytes | int | float | bool | None):
        return value
    return [forced(inner) for inner in value] if hasattr(value, "__iter__") else value


def hold_types(wire: str, payload: dict[str, Any]) -> None:
    match wire:
        case "openai":
            forced(CHAT.validate_python(payload["messages"]))
            forced(CHAT_TOOLS.validate_python(payload.get("tools", [])))
        case "openai-responses":
            forced(RESPONSES.validate_python(payload["input"]))
            forced(RESPONSES_TOOLS.validate_python(payload.get("tools", [])))
        case "anthropic":
            forced(ANTHROPIC.validate_python(payload["messages"]))
            forced(ANTHROPIC_TOOLS.validate_python(payload.get("tools", [])))
            forced(SYSTEM.validate_python(payload.get("system", [])))
        case _:
            CONTENTS.validate_python(payload["contents"])
            CONFIG.validate_python(payload.get("config", {}))


@pytest.mark.laws
@given(STEPS, st.sampled_from(WIRES), st.sampled_from(TOOLSETS), st.sampled_from(PLANS))
def test_payloads_of_random_histories_are_of_the_clients_types(
    steps: list[Step], asked: tuple[str, str | None], tools: list[dict[str, Any]], plan: CachePlan | None
) -> None:
    talk, (wire, model) = Talk(), asked
    talk.play(steps)
    hold_types(
        wire, PROVIDERS[wire].render(talk.transcript.view, model=model, tools=tools, plan=plan).payload
    )
