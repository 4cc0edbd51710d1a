"""Summaries of old turns: what they cover, what stays, how they fold, and who may write them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from quire.bridges.videosdk import ChatContext, ChatMessage, ChatRole, ImageContent
from quire.errors import InvalidValue, WrongType
from quire.items import Summary, Undo
from tests.bridges.videosdk.talks import Answering, Chunk, Streaming, calls, outputs, talk, told

GIST = "[Conversation Summary]\nTHE GIST"


def summarized(context: ChatContext, keep: int = 2, model: Any = None) -> ChatContext:
    return asyncio.run(context.summarize(model or Streaming(), keep_recent_turns=keep))


def test_old_turns_become_one_message_after_the_instructions() -> None:
    context = talk()
    assert summarized(context) is context
    assert told(context)[:3] == ["Be brief.", GIST, "question 4"] and context.turn_count() == 2
    assert calls(context) == outputs(context) == ["c4", "c5"]


def test_a_summary_is_shown_as_a_message_of_the_assistant() -> None:
    message = summarized(talk()).messages()[1]
    assert message.role is ChatRole.ASSISTANT and message.extra == {"summary": True}
    assert isinstance(message.item, Summary)


def test_three_turns_are_kept_unless_told() -> None:
    context = talk()
    asyncio.run(context.summarize(Streaming()))
    assert context.turn_count() == 3


def test_it_works_inside_a_running_loop() -> None:
    async def conversation() -> ChatContext:
        return await talk().summarize(Streaming(), keep_recent_turns=1)

    assert asyncio.run(conversation()).turn_count() == 1


def test_few_turns_are_left_alone_and_nobody_is_asked() -> None:
    context, model = talk(2), Streaming()
    summarized(context, 2, model)
    assert len(context.items) == 9 and not model.asked


def test_the_model_is_given_instructions_of_its_own_and_the_old_turns() -> None:
    context, model = talk(), Streaming()
    summarized(context, 4, model)
    request = model.asked[0]
    assert [message.role for message in request.messages()] == [ChatRole.SYSTEM, ChatRole.USER]
    asked = told(request)[1]
    assert "question 1" in asked and "found 1" in asked and "answer 1" in asked
    assert "question 2" not in asked and "Be brief." not in asked


def test_images_and_long_outputs_are_told_in_few_words() -> None:
    context, model = talk(0), Streaming()
    context.add_message(ChatRole.USER, ["look", ImageContent("https://x.io/a.png")])
    context.add_function_call("read", "{}", call_id="r")
    context.add_function_output("read", "x" * 100_000, call_id="r", is_error=True)
    context.add_message(ChatRole.USER, "well?")
    summarized(context, 1, model)
    asked = told(model.asked[0])[1]
    assert "https://x.io/a.png" in asked and "failed" in asked and len(asked) < 2_000


def test_instructions_updates_and_handoffs_are_not_summarised() -> None:
    context = talk(2)
    context.add_handoff("b")
    context.add_message(ChatRole.DEVELOPER, "Be exact.")
    context.add_config_update(tools=["x"])
    for n in range(2):
        context.add_message(ChatRole.USER, f"more {n}")
    summarized(context, 1)
    assert told(context) == ["Be brief.", GIST, "Be exact.", "more 1"]
    assert len(context.items) == 6 and context.active_config_at() == ("Be exact.", ["x"])


def test_a_call_in_flight_is_not_summarised() -> None:
    context = talk(1)
    context.add_function_call("slow", "{}", call_id="open")
    for n in range(3):
        context.add_message(ChatRole.USER, f"more {n}")
    summarized(context, 1)
    assert calls(context) == ["open"] and told(context) == ["Be brief.", GIST, "more 2"]
    context.add_function_output("slow", "done", call_id="open")
    assert "done" in str(context.to_openai_messages())


def test_a_call_that_is_answered_in_a_recent_turn_is_kept_whole() -> None:
    context = talk(1)
    context.add_function_call("slow", "{}", call_id="s")
    context.add_message(ChatRole.USER, "well?")
    context.add_function_output("slow", "done", call_id="s")
    summarized(context, 1)
    assert calls(context) == outputs(context) == ["s"]


def test_an_earlier_summary_is_folded_into_the_next() -> None:
    context = summarized(talk())
    for n in range(6, 9):
        context.add_message(ChatRole.USER, f"question {n}")
    model = Streaming("more")
    summarized(context, 2, model)
    assert told(context) == ["Be brief.", "[Conversation Summary]\nmore", "question 7", "question 8"]
    assert "THE GIST" in told(model.asked[0])[1]


def test_summaries_never_pile_up() -> None:
    context = talk()
    for n in range(5):
        context.add_message(ChatRole.USER, f"more {n}")
        summarized(context, 1)
    assert sum(bool(message.extra.get("summary")) for message in context.messages()) == 1


def test_a_summary_that_was_saved_or_merged_is_folded_too() -> None:
    context = ChatContext.from_dict(summarized(talk()).to_dict())
    child = context.fork()
    child.add_message(ChatRole.ASSISTANT, "found it")
    asyncio.run(context.merge_with_summary(child, llm=Streaming("THE FIND")))
    for n in range(2):
        context.add_message(ChatRole.USER, f"more {n}")
    model = Streaming("all")
    summarized(context, 1, model)
    assert told(context) == ["Be brief.", "[Conversation Summary]\nall", "more 1"]
    assert "THE GIST" in told(model.asked[0])[1] and "THE FIND" in told(model.asked[0])[1]


def test_summarising_again_without_news_asks_nobody() -> None:
    context, model = summarized(talk()), Streaming()
    summarized(context, 2, model)
    assert told(context)[1] == GIST and not model.asked


def test_after_truncation_what_is_shown_is_summarised() -> None:
    context, model = talk(), Streaming()
    context.truncate(max_items=17)
    summarized(context, 1, model)
    assert told(context) == ["Be brief.", GIST, "question 5", "answer 5"]
    assert "question 2" in told(model.asked[0])[1] and "question 1" not in told(model.asked[0])[1]


def test_to_keep_no_turn_still_keeps_the_last_message_of_the_user() -> None:
    context = summarized(talk(), 0)
    assert told(context) == ["Be brief.", GIST, "question 5"]


def test_what_a_summary_covers_is_still_in_the_transcript() -> None:
    context = summarized(talk())
    summary = context.messages()[1].id
    context.transcript.append(Undo(summary))
    assert len(context.items) == 25


async def later(value: Any) -> Any:
    return value


async def pieces() -> AsyncIterator[Any]:
    for piece in ("THE ", {"content": "GI"}, None, Chunk("ST")):
        yield piece


def generated() -> Iterator[str]:
    yield from ("THE ", "GIST")


@pytest.mark.parametrize(
    "answer",
    [
        "THE GIST",
        "  THE GIST\n",
        Chunk("THE GIST"),
        {"content": "THE GIST"},
        ["THE ", Chunk("GIST")],
        generated,
        pieces,
        lambda: later("THE GIST"),
        lambda: later(Chunk("THE GIST")),
        lambda: later(pieces()),
        ChatMessage(role=ChatRole.ASSISTANT, content=["THE ", "GIST"]),
    ],
)
def test_anything_that_can_chat_may_write_it(answer: Any) -> None:
    assert told(summarized(talk(), 2, Answering(answer)))[1] == GIST


def test_a_failed_or_empty_summary_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> str:
        raise ConnectionError("the secret words")

    async def broken() -> AsyncIterator[str]:
        yield "THE"
        raise ConnectionError("the secret words")

    context = talk()
    answers: list[Any] = ["", " \n", None, {"content": None}, [], fail, broken]
    for answer in answers:
        summarized(context, 2, Answering(answer))
        assert len(context.items) == 25
    assert caplog.text.count("ConnectionError") == 2 and "secret" not in caplog.text
    assert caplog.text.count("empty") == 5


def test_a_cancelled_summary_is_cancelled() -> None:
    async def conversation() -> None:
        task = asyncio.create_task(
            context.summarize(Answering(lambda: asyncio.sleep(60)), keep_recent_turns=1)
        )
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    context = talk()
    asyncio.run(conversation())
    assert len(context.items) == 25


def test_what_is_said_meanwhile_stays() -> None:
    context = talk()
    model = Streaming(meanwhile=lambda: context.add_message(ChatRole.USER, "meanwhile"))
    summarized(context, 2, model)
    assert told(context)[1] == GIST and told(context)[-1] == "meanwhile"


def test_a_late_summary_is_kept_only_if_all_that_it_tells_is_still_shown() -> None:
    context = talk()
    summarized(context, 2, Streaming(meanwhile=lambda: context.truncate(max_items=13)))
    assert not any(message.extra for message in context.messages()) and len(context.items) == 13
    summarized(context, 1, Streaming(meanwhile=context.cleanup))
    assert context.items == []


def test_two_summaries_at_once_are_one() -> None:
    async def both() -> None:
        await asyncio.gather(*(context.summarize(Streaming(), keep_recent_turns=2) for _ in range(2)))

    context = talk()
    asyncio.run(both())
    assert told(context).count(GIST) == 1


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InvalidValue):
        summarized(talk(), -1)
    with pytest.raises(WrongType):
        summarized(talk(), "2")  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(WrongType):
        summarized(talk(), 2, object())
