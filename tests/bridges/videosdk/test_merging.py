"""What comes back from a sub-agent: everything, its answer, or a summary."""

import asyncio

import pytest

from quire.bridges.videosdk import ChatContext, ChatMessage, ChatRole, ReadOnlyChatContext
from quire.errors import WrongType
from quire.items import Summary, use_clock
from tests.bridges.videosdk.talks import Answering, Streaming, calls, outputs, talk, told


def sub_agent(context: ChatContext) -> ChatContext:
    child = context.fork_brief("You check figures.", "Is 17 % low?", agent_id="sub")
    child.add_message(ChatRole.ASSISTANT, "draft")
    child.add_message(ChatRole.ASSISTANT, "It is.")
    return child


def test_a_merge_takes_over_every_item_by_time() -> None:
    context = ChatContext([ChatMessage(role=ChatRole.USER, content=["one"], created_at=1.0)])
    other = ChatContext([ChatMessage(role=ChatRole.USER, content=["two"], created_at=2.0)])
    context.add_message(ChatRole.USER, "three", created_at=3.0)
    assert asyncio.run(context.merge(other)) is context
    assert told(context) == ["one", "two", "three"] and told(other) == ["two"]


def test_merging_twice_adds_nothing() -> None:
    context = talk()
    child = context.fork()
    child.add_message(ChatRole.ASSISTANT, "found it")
    for _ in range(2):
        asyncio.run(context.merge(child))
        assert len(context.items) == 26 and told(context)[-1] == "found it"


def test_a_merge_does_not_bring_back_what_was_truncated() -> None:
    context = talk()
    child = context.fork()
    child.add_message(ChatRole.ASSISTANT, "found it")
    context.truncate(max_items=9)
    asyncio.run(context.merge(child))
    assert len(context.items) == 10 and told(context)[-1] == "found it"


def test_what_a_child_left_out_is_its_own_affair() -> None:
    context = talk()
    child = context.fork()
    child.truncate(max_items=5)
    asyncio.run(context.merge(child))
    assert len(context.items) == 25


def test_an_output_that_only_closed_a_call_for_a_fork_is_not_merged() -> None:
    context = talk(1)
    context.add_function_call("slow", "{}", call_id="open")
    child = context.fork()
    child.add_message(ChatRole.ASSISTANT, "meanwhile")
    asyncio.run(context.merge(child))
    assert calls(context) == ["c0", "open"] and outputs(context) == ["c0"]


def test_after_a_merge_new_items_come_last() -> None:
    context = talk(1)
    child = context.fork()
    with use_clock(lambda: 4e9):
        child.add_message(ChatRole.ASSISTANT, "from the future")
    asyncio.run(context.merge(child))
    context.add_message(ChatRole.USER, "now")
    assert told(context)[-2:] == ["from the future", "now"]


def test_only_the_final_answer_is_merged_under_a_name() -> None:
    context = talk()
    child = sub_agent(context)
    assert asyncio.run(context.merge_result(child, agent_id="checker")) is context
    assert len(context.items) == 26 and told(context)[-1] == "It is."
    assert context.items[-1].agent_id == "checker" and child.items[-1].agent_id is None


def test_a_name_is_stamped_on_an_answer_that_has_one() -> None:
    context, child = talk(1), ChatContext()
    child.add_message(ChatRole.ASSISTANT, "It is.", agent_id="x")
    asyncio.run(context.merge_result(child, agent_id="checker"))
    assert context.items[-1].agent_id == "checker"
    other = ChatContext()
    other.add_message(ChatRole.ASSISTANT, "It is not.", agent_id="x")
    asyncio.run(context.merge_result(other))
    assert context.items[-1].agent_id == "x"


def test_an_answer_comes_once() -> None:
    context = talk()
    child = sub_agent(context)
    for _ in range(2):
        asyncio.run(context.merge_result(child))
    assert told(context).count("It is.") == 1


def test_without_an_answer_of_its_own_a_child_brings_nothing() -> None:
    context = talk()
    asyncio.run(context.merge_result(context.fork()))
    asyncio.run(context.merge_result(context.fork_brief("Do it.")))
    assert len(context.items) == 25


def test_an_answer_is_read_from_a_view_too() -> None:
    context = talk()
    asyncio.run(context.merge_result(ReadOnlyChatContext(sub_agent(context))))
    assert told(context)[-1] == "It is."


def test_a_summary_of_the_work_is_merged_under_a_name() -> None:
    context, model = talk(), Streaming()
    child = context.fork()
    child.add_message(ChatRole.ASSISTANT, "found it")
    assert asyncio.run(context.merge_with_summary(child, llm=model, agent_id="sub")) is context
    merged = context.messages()[-1]
    assert merged.content == ["[Sub-agent Summary]\nTHE GIST"] and merged.role is ChatRole.ASSISTANT
    assert merged.extra == {"summary": True} and merged.agent_id == "sub" and len(context.items) == 26
    assert isinstance(merged.item, Summary)


def test_the_model_is_told_what_is_new_and_not_the_instructions() -> None:
    context, model = talk(), Streaming()
    child = context.fork()
    child.add_message(ChatRole.SYSTEM, "You are secret.")
    child.add_function_call("read", '{"page": 3}', call_id="r")
    child.add_function_output("read", "17 %", call_id="r")
    child.add_message(ChatRole.ASSISTANT, "It is 17 %.")
    asyncio.run(context.merge_with_summary(child, llm=model))
    request = told(model.asked[0])[1]
    assert "It is 17 %." in request and '{"page": 3}' in request and "17 %" in request
    assert "secret" not in request and "question 0" not in request


def test_a_child_that_did_nothing_is_told_whole() -> None:
    context, model = talk(), Streaming()
    asyncio.run(context.merge_with_summary(context.fork(), llm=model))
    assert len(context.items) == 26 and "question 5" in told(model.asked[0])[1]


@pytest.mark.parametrize("works", [True, False])
def test_what_was_told_once_is_not_told_again(works: bool) -> None:
    context, model = talk(), Streaming()
    child = context.fork()
    if works:
        child.add_message(ChatRole.ASSISTANT, "found it")
    for _ in range(2):
        asyncio.run(context.merge_with_summary(child, llm=model))
    assert len(context.items) == 26 and len(model.asked) == 1
    child.add_message(ChatRole.ASSISTANT, "found more")
    asyncio.run(context.merge_with_summary(child, llm=model))
    assert len(context.items) == 27 and "found it" not in told(model.asked[1])[1]


def test_an_empty_or_failed_summary_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> str:
        raise RuntimeError("the secret words")

    context = talk()
    for model in (Answering("  "), Answering(None), Answering(fail)):
        asyncio.run(context.merge_with_summary(context.fork(), llm=model))
    assert len(context.items) == 25
    assert "RuntimeError" in caplog.text and "secret" not in caplog.text


def test_an_empty_child_asks_nobody() -> None:
    context, model = talk(), Streaming()
    asyncio.run(context.merge_with_summary(ChatContext(), llm=model))
    assert len(context.items) == 25 and not model.asked


def test_only_contexts_are_merged() -> None:
    context = talk()
    for merge in (context.merge, context.merge_result):
        with pytest.raises(WrongType):
            asyncio.run(merge([]))  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(WrongType):
        asyncio.run(context.merge_with_summary(context.fork(), llm=object()))  # type: ignore[arg-type]  # pyright: ignore


@pytest.mark.parametrize("is_saved", [False, True])
@pytest.mark.parametrize("verb", ["merge", "merge_result", "merge_with_summary"])
def test_a_sub_agent_on_a_copy_of_what_was_summarised_is_merged(verb: str, is_saved: bool) -> None:
    context = talk()
    asyncio.run(context.summarize(Streaming(), keep_recent_turns=1))
    child = ChatContext.from_dict(context.to_dict()) if is_saved else context.copy()
    child.add_message(ChatRole.ASSISTANT, "found it")
    before = len(context.items)
    writer = {"llm": Streaming()} if verb == "merge_with_summary" else {}
    asyncio.run(getattr(context, verb)(child, **writer))
    assert len(context.items) == before + 1
