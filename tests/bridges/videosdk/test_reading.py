"""What a context holds, how large it is, and what is in force."""

import asyncio

import pytest

from quire.bridges.videosdk import ChatContext, ChatMessage, ChatRole, FunctionCall
from quire.errors import OutOfRange, UnknownId, WrongType
from quire.items import Note, Reasoning
from quire.tokens import counter_for
from tests.bridges.videosdk.talks import Streaming, talk, words


def test_an_empty_context_holds_nothing() -> None:
    assert ChatContext.empty().items == [] == ChatContext().items == ChatContext([]).items


def test_items_are_all_kinds_and_messages_only_messages() -> None:
    context = talk()
    assert len(context.items) == 25 and len(context.messages()) == 13
    assert isinstance(context.items[2], FunctionCall)


def test_items_keep_the_order_of_the_list_they_came_in() -> None:
    items = [ChatMessage(role=ChatRole.USER, content=[f"{n}"], created_at=n) for n in (5.0, 1.0, 9.0, 3.0)]
    context = ChatContext(items)
    assert [words(item) for item in context.items] == ["5.0", "1.0", "9.0", "3.0"]
    assert [item.created_at for item in context.items] == [5.0, 1.0, 9.0, 3.0]
    assert context.items == items


def test_items_are_a_list_to_read() -> None:
    context = talk()
    shown = context.items
    context.add_message(ChatRole.USER, "more")
    assert len(shown) == 25 and len(context.items) == 26 and isinstance(shown, list)
    for change in (shown.clear, shown.pop, lambda: shown.append(shown[0])):
        with pytest.raises(WrongType):
            change()
    assert len(context.items) == 26 and [*shown, shown[0]][-1] == shown[0]


def test_turns_are_messages_of_the_user() -> None:
    assert talk(4).turn_count() == 4 and ChatContext().turn_count() == 0


def test_tokens_are_estimated_and_grow_with_what_is_said() -> None:
    context = talk()
    before = context.estimated_tokens()
    context.add_message(ChatRole.USER, "word " * 100)
    assert before > 0 and context.estimated_tokens() > before + 80


def test_tokens_are_counted_by_the_counter_that_is_given_in_forks_too() -> None:
    counter = counter_for("gpt-5.6")
    message = ChatMessage(role=ChatRole.USER, content="How did Q3 compare with Q2?")
    context = ChatContext([message], counter=counter)
    expected = counter.total(counter.count(message.item))
    assert context.estimated_tokens() == expected == context.fork().estimated_tokens()
    assert context.copy().estimated_tokens() == expected


def test_an_item_is_found_by_its_id() -> None:
    context = talk()
    assert context.get_by_id(context.items[4].id) == context.items[4]
    assert context.get_by_id("nothing") is None


def test_an_item_that_is_no_longer_shown_is_not_found() -> None:
    context = talk()
    first = context.items[1].id
    context.truncate(max_items=9)
    assert context.get_by_id(first) is None


def test_the_last_instructions_and_tools_are_in_force() -> None:
    context = talk()
    assert context.active_config_at() == ("Be brief.", None)
    update = context.add_config_update(instructions="Be long.", tools=["search"])
    context.add_message(ChatRole.DEVELOPER, "Be kind.")
    assert context.active_config_at() == ("Be kind.", ["search"])
    assert context.active_config_at(update.id) == ("Be long.", ["search"])
    assert context.active_config_at(0) == ("Be brief.", None)
    assert context.active_config_at(-2) == ("Be long.", ["search"])


def test_an_update_leaves_in_force_what_it_does_not_name() -> None:
    context = talk(1)
    context.add_config_update(tools=["search"])
    assert context.active_config_at() == ("Be brief.", ["search"])
    context.add_config_update(instructions="Be long.", tools=[])
    assert context.active_config_at() == ("Be long.", [])


def test_what_is_in_force_at_a_summary() -> None:
    context = talk()
    asyncio.run(context.summarize(Streaming(), keep_recent_turns=1))
    assert context.active_config_at(context.items[1].id) == ("Be brief.", None)


def test_nothing_is_in_force_at_the_start() -> None:
    assert ChatContext().active_config_at() == (None, None)


def test_a_place_that_does_not_exist_is_an_error() -> None:
    context = talk(1)
    with pytest.raises(UnknownId):
        context.active_config_at("nothing")
    for index in (5, -6):
        with pytest.raises(OutOfRange):
            context.active_config_at(index)
    with pytest.raises(WrongType):
        context.active_config_at(True)


def test_what_only_the_engine_knows_is_sent_and_not_listed() -> None:
    context = talk(1)
    context.transcript.append(Note("The shop is closed today."))
    context.transcript.append(Reasoning("Hm."))
    context.add_message(ChatRole.USER, "and now?")
    assert len(context.items) == 6
    assert "closed today" in str(context.to_openai_messages())
    assert context.active_config_at(5) == ("Be brief.", None)
