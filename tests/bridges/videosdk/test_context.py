"""Contexts: changing, forking, merging, shrinking and converting."""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from quire.bridges.videosdk import (
    ChatContext,
    ChatMessage,
    ChatRole,
    FunctionCallOutput,
    ImageContent,
    ReadOnlyChatContext,
)
from quire.errors import InvalidValue, OutOfRange, UnknownId
from tests.bridges.videosdk.shop import Answering, Streaming, at, calls, outputs, talk, told

# Reading and changing


def test_the_list_of_items_refuses_changes_and_assigning_it_replaces_the_items() -> None:
    context = talk(2)
    with pytest.raises(TypeError, match="change the context"):
        context.items.append(at(1))
    context._items = [*context.items[:2], at(1.0, "new")]  # pyright: ignore[reportPrivateUsage]
    assert told(context) == ["Sell lamps.", "lamp 0?", "new"] and context.turn_count() == 2
    assert context.to_openai_messages()[-1] == {"role": "user", "content": "new"}


def test_inserted_items_go_by_time_and_never_between_a_call_and_its_output() -> None:
    context = talk(1)
    context.insert(at(context.items[2].created_at, "within"))
    kinds = ["message", "message", "function_call", "function_call_output", "message", "message"]
    assert [item.type for item in context.items] == kinds and told(context)[2] == "within"
    context.insert(FunctionCallOutput(name="f", output="3", call_id="x", created_at=0.5))
    assert outputs(context)[0] == "x"
    late = talk(1)
    late.add_function_call("f", "{}", call_id="late")
    late.insert(FunctionCallOutput(name="f", output="4", call_id="late", created_at=0.5))
    assert [item.type for item in late.items[-2:]] == ["function_call", "function_call_output"]


def test_the_configuration_in_force_is_found_by_id_or_index() -> None:
    context = talk(1)
    update = context.add_config_update(instructions="Sell all.", tools=["fry"])
    context.add_message("developer", ["Be", "kind."])
    assert context.active_config_at() == ("Be kind.", ["fry"])
    assert context.active_config_at(update.id) == ("Sell all.", ["fry"]) == context.active_config_at(5)
    assert context.active_config_at(0) == ("Sell lamps.", None)
    with pytest.raises(OutOfRange):
        context.active_config_at(99)
    with pytest.raises(UnknownId):
        context.active_config_at("missing")


def test_a_read_only_context_is_live_and_refuses_changes() -> None:
    context = talk(2)
    view = ReadOnlyChatContext(context)
    context.truncate(max_items=5)
    assert view.items == context.items and view.to_openai_messages() == context.to_openai_messages()
    for verb in ("add_message", "insert", "truncate", "cleanup", "add_handoff", "insert_many"):
        with pytest.raises(RuntimeError, match="read-only"):
            getattr(view, verb)("x")
    for verb in ("merge", "summarize", "merge_result", "merge_with_summary"):
        with pytest.raises(RuntimeError, match="read-only"):
            asyncio.run(getattr(view, verb)(context))
    view.fork().add_message("user", "x")
    assert len(view.items) == 5


# Copies and forks


def test_a_call_in_flight_is_closed_in_a_fork_and_open_in_a_copy_and_the_parent() -> None:
    context = talk(1)
    context.add_function_call("stock", "{}", call_id="open")
    for fork in (context.fork(), context.fork_filtered()):
        assert outputs(fork) == ["c0", "open"]
        asyncio.run(context.merge(fork))
    assert outputs(context) == outputs(context.copy()) == ["c0"], "a merge does not close it either"


# Items


@pytest.mark.parametrize("content", ["words", ["words"], ["two", "texts"], [ImageContent("https://x/a.png")]])
def test_content_keeps_the_form_in_which_it_was_given(content: Any) -> None:
    given = ChatMessage(role=ChatRole.USER, content=content)
    (shown,) = ChatContext([given]).messages()
    assert shown == given and shown.content == content


def test_an_image_is_the_bytes_of_a_file() -> None:
    image = ImageContent(b"\x89PNG\r\n\x1a\n" + bytes(8), "low").image
    assert isinstance(image, str) and image.startswith("data:image/png;base64,iVBOR")
    with pytest.raises(InvalidValue, match="image of a known kind"):
        ImageContent(b"no image")


# Merging


async def test_an_answer_is_merged_once_as_said_now_and_under_a_name() -> None:
    context = talk(1)
    child = context.fork_brief("Check.", "Is it true?")
    child.add_message("assistant", "a draft")
    child.add_message("assistant", "It is.", agent_id="own")
    context.add_message("user", "later")
    for _ in range(2):
        await context.merge_result(child, agent_id="checker")
    assert told(context)[-2:] == ["later", "It is."] and context.items[-1].agent_id == "checker"


async def test_a_summary_of_a_sub_agent_is_about_what_is_new_and_made_once() -> None:
    context, model = talk(1), Streaming()
    child = context.fork()
    child.add_message("user", "check the lamps")
    for _ in range(2):
        await context.merge_with_summary(child, llm=model, agent_id="checker")
    assert len(model.asked) == 1 and "check the lamps" in model.asked[0]
    assert "lamp 0?" not in model.asked[0] and told(context)[-1] == "[Sub-agent Summary]\nTHE GIST"


# Shrinking


async def test_summaries_fold_and_keep_calls_in_flight() -> None:
    context = talk(3)
    context.add_function_call("stock", "{}", call_id="open")
    for n in range(3):
        context.add_message("user", f"more {n}")
        await context.summarize(Streaming(f"gist {n}"), keep_recent_turns=1)
    summaries = [text for text in told(context) if text.startswith("[Conversation Summary]")]
    assert summaries == ["[Conversation Summary]\ngist 2"] and calls(context) == ["open"]
    assert told(context)[-1] == "more 2"
    saved = ChatContext.from_dict(context.to_dict())
    saved.add_message("user", "and more")
    model = Streaming("all of it")
    await saved.summarize(model, keep_recent_turns=1)
    assert "gist 2" in model.asked[0] and sum("Summary]" in text for text in told(saved)) == 1


@pytest.mark.parametrize("answer", [" \n", None, object()])
async def test_a_summary_without_text_is_not_used_and_logged(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    context = talk()
    await context.summarize(Answering(answer))
    await context.merge_with_summary(talk(2), llm=Answering(answer))
    assert len(context.items) == 25 and "summary" in caplog.text


async def test_a_late_summary_is_used_only_if_all_it_is_about_is_still_shown() -> None:
    context, other = talk(), talk()
    await context.summarize(Streaming(meanwhile=lambda: context.add_message("user", "meanwhile")))
    await other.summarize(Streaming(meanwhile=lambda: other.truncate(max_items=8)))
    assert "GIST" in told(context)[1] and told(context)[-1] == "meanwhile"
    assert "GIST" not in str(told(other))


# Converting

CONVERTERS: list[Callable[[ChatContext], Any]] = [
    lambda context: context.to_openai_messages(),
    lambda context: context.to_anthropic_messages()[0],
    lambda context: asyncio.run(context.to_google_contents())[0],
]


@pytest.mark.parametrize("convert", CONVERTERS, ids=["openai", "anthropic", "google"])
def test_parallel_calls_are_one_message_with_the_words_before_them(convert: Any) -> None:
    context = ChatContext([at(1.0, "ask")])
    context.add_message("assistant", "I look.")
    for name in "ab":
        context.add_function_call("stock", "{}", call_id=name)
    for name in "ab":
        context.add_function_output("stock", "x", call_id=name)
    messages = convert(context)
    assert all(one["role"] != two["role"] or one["role"] == "tool" for one, two in pairwise(messages))
    assert str(messages[1]).count("stock") == 2 and "I look." in str(messages[1])


OWN, KEPT = "b3du", "a2VwdA=="


@pytest.mark.parametrize(
    ("steps", "sent"),
    [
        (["a"], [KEPT]),
        (["aa"], [KEPT, None]),
        (["aa", "aa"], [None, None, KEPT, None]),
        (["Aa"], [OWN, None]),
        (["a", "A"], [None, OWN]),
        (["a", "ba"], [KEPT, None, None]),
    ],
)
async def test_a_signature_kept_for_a_tool_goes_to_the_last_call_it_can_have_come_with(
    steps: list[str], sent: list[str | None]
) -> None:
    context = ChatContext([at(1.0, "ask")])
    for step in steps:
        metadata = [{"thought_signature": OWN} if name.isupper() else None for name in step]
        made = [
            context.add_function_call(n.lower(), "{}", metadata=m)
            for n, m in zip(step, metadata, strict=True)
        ]
        for call in made:
            context.add_function_output(call.name, "x", call.call_id)

    async def signatures(context: ChatContext) -> list[str | None]:
        contents, _ = await context.to_google_contents(thought_signatures={"a": KEPT})
        parts = [part for content in contents for part in content["parts"] if "functionCall" in part]
        found = [part.get("thoughtSignature") for part in parts]
        return [one if one in (OWN, KEPT) else None for one in found]

    assert await signatures(context) == await signatures(context.copy()) == sent
    context.insert(at(0.0))
    assert not any(await signatures(context)), "none is sent once something before it changed"
