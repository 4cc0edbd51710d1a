"""Adding at the end, and inserting by time."""

import pytest

from quire.bridges.videosdk import (
    AgentConfigUpdate,
    AgentHandoff,
    ChatContent,
    ChatContext,
    ChatMessage,
    ChatRole,
    FunctionCallOutput,
    ImageContent,
)
from quire.errors import DuplicateId, WrongType
from quire.items import Hide, Undo, use_clock
from tests.bridges.videosdk.talks import calls, outputs, talk, told


def said(text: str, created_at: float, item_id: str | None = None) -> ChatMessage:
    return ChatMessage(role=ChatRole.USER, content=[text], created_at=created_at, id=item_id)


def test_what_is_added_is_given_back_and_is_last() -> None:
    context = ChatContext()
    message = context.add_message(ChatRole.USER, "hi", message_id="m", agent_id="a")
    assert (message.id, message.content, message.agent_id) == ("m", ["hi"], "a")
    assert context.items[-1] == message
    call = context.add_function_call("search", "{}", agent_id="a")
    assert call.call_id.startswith("call_") and call.id != call.call_id and context.items[-1] == call
    output = context.add_function_output("search", "none", call.call_id, is_error=True)
    assert output.is_error and output.output == "none" and context.items[-1] == output
    handoff = context.add_handoff("b", from_agent="a", reason="tired")
    assert (handoff.to_agent, handoff.from_agent, handoff.reason) == ("b", "a", "tired")
    update = context.add_config_update(instructions="Be long.", tools=["x"], agent_id="b")
    assert (update.instructions, update.tools, update.agent_id) == ("Be long.", ["x"], "b")
    assert [type(item) for item in context.items[-2:]] == [AgentHandoff, AgentConfigUpdate]


def test_a_message_with_an_early_time_is_still_added_at_the_end() -> None:
    context = talk(1)
    message = context.add_message(ChatRole.USER, "early", created_at=1.0)
    assert told(context)[-1] == "early" and message.created_at == 1.0 == context.items[-1].created_at


def test_a_clock_that_goes_back_does_not_change_the_order() -> None:
    context = ChatContext()
    for time in (9.0, 5.0, 7.0):
        with use_clock(lambda: time):  # noqa: B023
            context.add_message(ChatRole.USER, f"{time}")
    assert told(context) == ["9.0", "5.0", "7.0"]


def test_a_message_may_hold_texts_and_images() -> None:
    parts: list[ChatContent] = ["look", ImageContent("https://x.io/a.png")]
    assert ChatContext().add_message(ChatRole.USER, parts).content == parts


def test_replace_puts_a_message_of_the_system_in_place_of_all_earlier_ones() -> None:
    context = talk(1)
    context.add_message(ChatRole.SYSTEM, "Be polite.")
    context.add_message(ChatRole.DEVELOPER, "Be exact.")
    context.add_message(ChatRole.SYSTEM, "New.", replace=True)
    assert [m.content for m in context.messages() if m.role is ChatRole.SYSTEM] == [["New."]]
    assert "Be exact." in told(context) and context.active_config_at() == ("New.", None)


def test_replace_does_nothing_else_for_other_roles_or_a_first_message() -> None:
    context = ChatContext()
    context.add_message(ChatRole.SYSTEM, "First.", replace=True)
    context.add_message(ChatRole.USER, "hi", replace=True)
    context.add_message(ChatRole.USER, "ho", replace=True)
    assert told(context) == ["First.", "hi", "ho"]


def test_what_was_replaced_can_be_brought_back() -> None:
    context = talk(0)
    context.add_message(ChatRole.SYSTEM, "New.", replace=True)
    hide = next(item for item in context.transcript.recorded() if isinstance(item, Hide))
    context.transcript.append(Undo(hide.id))
    assert told(context) == ["Be brief.", "New."]


def test_an_insert_goes_by_time_after_what_is_as_old() -> None:
    context = ChatContext([said("one", 1.0), said("three", 3.0)])
    assert context.insert(said("two", 2.0, "t")).id == "t"
    context.insert(said("also one", 1.0))
    context.insert(said("last", 9.0))
    assert told(context) == ["one", "also one", "two", "three", "last"]


def test_many_are_inserted_each_by_its_time() -> None:
    context = ChatContext([said("two", 2.0)])
    context.insert_many([said("three", 3.0), said("one", 1.0)])
    assert told(context) == ["one", "two", "three"]


def test_many_are_inserted_all_or_none() -> None:
    context = ChatContext([said("one", 1.0, "same")])
    with pytest.raises(DuplicateId):
        context.insert_many([said("zero", 0.0), said("one", 2.0, "same")])
    assert told(context) == ["one"]


def test_an_item_that_was_placed_elsewhere_is_inserted_by_its_own_time() -> None:
    other = ChatContext([said("five", 5.0)])
    early = other.add_message(ChatRole.USER, "one", created_at=1.0)
    context = ChatContext([said("two", 2.0)])
    context.insert(early)
    assert told(context) == ["one", "two"]


def test_an_insert_never_comes_between_a_call_and_its_output() -> None:
    context = ChatContext([said("ask", 1.0)])
    with use_clock(lambda: 2.0):
        context.add_function_call("f", "{}", call_id="c")
    with use_clock(lambda: 4.0):
        context.add_function_output("f", "x", call_id="c")
    context.insert(said("between", 3.0))
    assert [type(item).__name__ for item in context.items] == [
        *("ChatMessage", "FunctionCall", "FunctionCallOutput", "ChatMessage")
    ]


def test_an_output_that_comes_late_belongs_to_its_call() -> None:
    context = talk(1)
    context.add_function_call("slow", "{}", call_id="s")
    context.add_message(ChatRole.USER, "well?")
    context.insert(FunctionCallOutput(name="slow", output="done", call_id="s"))
    assert calls(context) == outputs(context) == ["c0", "s"]


def test_an_id_is_there_once() -> None:
    context = talk(1)
    context.add_message(ChatRole.USER, "hi", message_id="m")
    with pytest.raises(DuplicateId):
        context.add_message(ChatRole.USER, "hi", message_id="m")
    with pytest.raises(DuplicateId):
        context.insert(context.items[0])


def test_content_that_is_none_is_refused() -> None:
    with pytest.raises(WrongType):
        ChatContext().add_message(ChatRole.USER, None)  # type: ignore[arg-type]  # pyright: ignore
