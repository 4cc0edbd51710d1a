"""Thought signatures go back while all that was said is still there, and not after something went."""

import asyncio
import json

import pytest

from quire.bridges.videosdk import ChatContext

PLACEHOLDER = "skip_thought_signature_validator"  # Gemini takes it for a call that it did not sign
SIGNATURE = "c2lnbmVk"
KEPT, OWN = "a2VwdA==", "b3du"


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


def signatures_of(context: ChatContext, **kept: str | bytes) -> list[str | None]:
    """What each call carries, in order, as it goes to Gemini; a placeholder is none."""
    contents, _ = asyncio.run(context.to_google_contents(thought_signatures=kept, model="gemini-3-pro"))
    parts = [part for content in contents for part in content["parts"] if "functionCall" in part]
    return [
        None if part.get("thoughtSignature") == PLACEHOLDER else part.get("thoughtSignature")
        for part in parts
    ]


def called(*steps: str) -> ChatContext:
    """A context with a step for each text, in which each letter is a call of the tool of that name.

    A capital is a call that has a signature of its own.
    """
    context = ChatContext.empty()
    context.add_message("user", "Look them up.")
    for step in steps:
        made = [
            context.add_function_call(
                name.lower(), "{}", metadata={"thought_signature": OWN} if name.isupper() else None
            )
            for name in step
        ]
        for call in made:
            context.add_function_output(call.name, "found", call.call_id)
    return context


@pytest.mark.parametrize(
    ("steps", "sent"),
    [
        (["a"], [KEPT]),
        (["aa"], [KEPT, None]),
        (["aa", "aa"], [None, None, KEPT, None]),
        (["a", "a"], [None, KEPT]),
        (["Aa"], [OWN, None]),
        (["a", "A"], [None, OWN]),
        (["a", "ba"], [KEPT, None, None]),
        (["ba"], [None, None]),
    ],
)
def test_a_signature_kept_for_a_tool_is_for_the_last_call_that_it_can_have_come_with(
    steps: list[str], sent: list[str | None]
) -> None:
    assert signatures_of(called(*steps), a=KEPT) == sent


def test_each_tool_has_the_signature_that_was_kept_for_it() -> None:
    assert signatures_of(called("a", "b", "a"), a=KEPT, b=OWN) == [None, OWN, KEPT]
    assert signatures_of(called("ab"), a=KEPT, b=OWN) == [KEPT, None]


def test_an_answer_that_is_recorded_between_calls_ends_no_step_of_another_turn() -> None:
    context = called("a")
    context.add_message("assistant", "Found.")
    context.add_message("user", "And again?")
    call = context.add_function_call("a", "{}")
    context.add_function_output("a", "found", call.call_id)
    assert signatures_of(context, a=KEPT) == [None, KEPT]
