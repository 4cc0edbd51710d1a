"""One more message costs one more message: what was converted before is gone on from, and is its caller's."""

import asyncio
import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given

from quire.bridges.videosdk import ChatContext, ChatMessage, ChatRole, speaking as room
from quire.bridges.videosdk.choosing import frame
from quire.items import Item, Message
from quire.providers import CachePlan, provider_for
from quire.state import config_at
from tests.bridges.videosdk.strategies import histories
from tests.bridges.videosdk.talks import talk
from tests.bridges.videosdk.test_laws import History, Steps

Convert = Callable[[ChatContext], list[dict[str, Any]]]


def google(context: ChatContext) -> list[dict[str, Any]]:
    return asyncio.run(context.to_google_contents())[0]


def marked(context: ChatContext) -> list[dict[str, Any]]:
    return context.to_anthropic_messages(caching=True)[0]


CONVERTERS: list[Convert] = [
    ChatContext.to_openai_messages,
    lambda context: context.to_openai_messages(reasoning_model=True),
    lambda context: context.to_anthropic_messages()[0],
    marked,
    google,
]
in_any_way = pytest.mark.parametrize("convert", CONVERTERS)


def from_a_list(context: ChatContext) -> list[Any]:
    """What the engine gives for the same items in a list, of which it keeps nothing."""
    view = context.transcript.view
    said: list[Item] = [item for item in view if not frame(item)]
    told = config_at(view).instructions or ""
    whole = [Message("system", told), *said] if told.strip() else said
    plan = CachePlan(static=len(whole) - len(said))
    return [
        provider_for("openai").render(whole).payload["messages"],
        provider_for("anthropic").render(whole, plan=plan).payload["messages"],
        provider_for("gemini").render(said, model="gemini").payload["contents"],
    ]


@pytest.mark.laws
@given(histories)
def test_going_on_gives_what_a_list_gives(steps: Steps) -> None:
    history = History()
    for step in steps:
        context = history.play([step])
        assert [context.to_openai_messages(), marked(context), google(context)] == from_a_list(context)
        users = [message for message in context.messages() if message.role is ChatRole.USER]
        assert context.turn_count() == len(users)


@in_any_way
def test_what_was_written_stands_and_only_what_is_new_is_looked_at(
    convert: Convert, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, looked = talk(40), list[Item]()
    before = convert(context)

    def looking(item: Item) -> bool:
        looked.append(item)
        return frame(item)

    monkeypatch.setattr(room, "frame", looking)
    context.add_message(ChatRole.USER, "more")
    after = convert(context)
    assert [item.id for item in looked] == [context.items[-1].id]
    assert before[40] == after[40] and before[40] is not after[40], "a payload is its caller's own"


@in_any_way
def test_a_list_is_its_callers_own(convert: Convert) -> None:
    context = talk()
    kept = deepcopy(convert(context))
    given = convert(context)
    for message in given:
        message["role"] = "spoilt"
        for value in message.values():
            if isinstance(value, list):
                value.clear()  # pyright: ignore[reportUnknownMemberType]
    given.append({"role": "user"})
    del given[:3]
    assert convert(context) == kept and json.loads(json.dumps(kept)) == kept


def test_instructions_with_marks_are_their_callers_own() -> None:
    context = talk()
    _, system = context.to_anthropic_messages(caching=True)
    system[0]["text"] = "spoilt"
    assert context.to_anthropic_messages(caching=True)[1][0]["text"] == "Be brief."


def test_other_instructions_are_sent_from_the_next_time_on() -> None:
    context = talk()
    first = context.to_openai_messages()
    context.add_config_update(instructions="Be long.")
    context.add_message(ChatRole.USER, "more")
    second = context.to_openai_messages()
    assert second[0]["content"] == "Be long." and first[0]["content"] == "Be brief."
    assert second[1:-1] == first[1:]


def test_a_signature_kept_for_a_tool_moves_on_with_its_calls() -> None:
    context, kept = talk(1), {"search": b"tool"}
    for number in (1, 2):
        context.add_message(ChatRole.USER, "next")
        context.add_function_call("search", "{}", call_id=f"n{number}")
        context.add_function_output("search", "x", call_id=f"n{number}")
        contents, _ = asyncio.run(context.to_google_contents(thought_signatures=kept))
        signs = [part["thoughtSignature"] for c in contents for part in c["parts"] if "functionCall" in part]
        assert [sign == "dG9vbA==" for sign in signs] == [False] * number + [True]


def test_what_was_summed_up_or_inserted_is_written_anew() -> None:
    context = talk()
    context.to_openai_messages()
    time = context.items[3].created_at
    context.insert(ChatMessage(role=ChatRole.USER, content="late", created_at=time))
    context.truncate(max_items=14)
    assert context.to_openai_messages() == from_a_list(context)[0]
