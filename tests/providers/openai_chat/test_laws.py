"""Chat Completions: what must hold whatever the history."""

import pytest
from hypothesis import given, strategies as st

from quire.items import Item
from quire.providers import CachePlan, OpenAIChat
from quire.providers.openai_chat.writing import ChatWriter
from tests.histories import OPS, Op
from tests.providers.openai_chat import laws

pytestmark = pytest.mark.laws
WIRE = OpenAIChat()
MODELS = st.sampled_from(laws.MODELS)


@given(laws.anything(), MODELS, laws.plans())
def test_any_history_is_sound(history: list[Item], model: str | None, plan: CachePlan | None) -> None:
    laws.is_sound(WIRE, history, model, plan)


@given(OPS, MODELS)
def test_growing_is_as_from_scratch(ops: list[Op], model: str | None) -> None:
    laws.is_incremental(WIRE, ops, model)


@given(laws.anything(), MODELS, laws.plans())
def test_the_fast_path_writes_the_same(
    history: list[Item], model: str | None, plan: CachePlan | None
) -> None:
    laws.plain_is_general(WIRE, ChatWriter, history, model, plan)


@given(laws.conversations(pictured_results=False, role="system"))
def test_a_conversation_comes_back(history: list[Item]) -> None:
    laws.comes_back(WIRE, history)


@given(laws.conversations(pictured_results=False, role="system"))
def test_what_was_sent_stays_the_beginning(history: list[Item]) -> None:
    laws.grows_at_the_end(WIRE, history, "messages")
