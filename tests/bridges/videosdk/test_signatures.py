"""Thought signatures go back while all that was said is still there, and not after something went."""

import asyncio
import json

import pytest

from quire.bridges.videosdk import ChatContext

SIGNATURE = "c2lnbmVk"


def signed() -> ChatContext:
    context = ChatContext.empty()
    context.add_message("user", "Who was here?")
    context.add_message("assistant", "Ada was.")
    context.add_message("user", "Look her up.")
    context.add_function_call("look_up", "{}", "c1", metadata={"thought_signature": SIGNATURE})
    context.add_function_output("look_up", "found", "c1")
    context.add_message("user", "And now?")
    return context


def is_sent(context: ChatContext) -> bool:
    contents, _ = asyncio.run(context.to_google_contents())
    return SIGNATURE in json.dumps(contents)


def test_a_signature_goes_back_while_nothing_was_left_out() -> None:
    context = signed()
    assert is_sent(context)
    assert is_sent(context.fork())
    assert is_sent(context.copy())


def test_after_a_truncation_no_signature_is_sent() -> None:
    context = signed()
    context.truncate(max_items=4)
    assert len(context.items) < 6
    assert not is_sent(context)
    assert not is_sent(context.copy())
    assert not is_sent(context.fork())


def test_a_signature_kept_for_a_tool_is_not_sent_either() -> None:
    context = signed()
    context.truncate(max_items=4)
    contents, _ = asyncio.run(context.to_google_contents(thought_signatures={"look_up": SIGNATURE}))
    assert SIGNATURE not in json.dumps(contents)


def test_a_copy_of_some_items_sends_none() -> None:
    context = signed()
    context.add_message("user", "")
    assert not is_sent(context.copy(exclude_empty_messages=True))


def test_an_emptied_context_begins_anew() -> None:
    context = signed().copy(tools=["look_up"])
    context.add_message("user", "")
    picked = context.copy(exclude_empty_messages=True)
    picked.cleanup()
    picked.add_message("user", "Look it up.")
    picked.add_function_call("look_up", "{}", "c2", metadata={"thought_signature": SIGNATURE})
    assert is_sent(picked)


@pytest.mark.parametrize("turns", [0, -1])
def test_a_filtered_fork_keeps_at_least_one_turn_as_the_page_says(turns: int) -> None:
    with pytest.raises(ValueError, match="recent_turns"):
        signed().fork_filtered(turns)
