"""Labels: names that are made up, and the messages of several contexts by time, each once."""

import string
from datetime import datetime

import pytest

from quire.bridges.a1 import Context, Message, Runtime, get_context, new_context
from quire.errors import InvalidValue
from quire.items import Message as Words, use_clock
from quire.session import timeline
from tests.bridges.a1.talks import call, said, talk


def test_names_go_from_a_to_z_and_then_to_aa(runtime: Runtime) -> None:
    for _ in range(28):
        new_context("attempt")
    new_context().user("x")
    letters = [*string.ascii_lowercase, "aa", "ab"]
    assert list(runtime.CTX) == [*(f"attempt_{ending}" for ending in letters), "intermediate_a"]


def test_a_name_that_is_taken_is_passed_over(runtime: Runtime) -> None:
    get_context("attempt_a").user("mine")
    assert new_context("attempt") is runtime.CTX["attempt_b"]
    with pytest.raises(InvalidValue):
        new_context("")


def test_a_branch_begins_with_the_same_messages_and_goes_its_own_way(runtime: Runtime) -> None:
    main = talk(get_context("main"), 2)
    main.assistant("both", tool_calls=[call("x"), call("y")])
    branch = new_context("attempt", branch_from=main)
    assert branch.messages == main.messages
    branch.user("only here")
    main.user("only there")
    assert said(branch)[-1] == "only here" and said(main)[-1] == "only there" and len(main) == 10
    assert len(runtime.get_full_context()) == 11, "what is shared is there once"
    assert len(timeline(runtime.session)) == 13, "also for the engine, to which two calls are two items"
    assert new_context("attempt", branch_from=Context()).messages == []


def test_a_branch_may_come_from_another_runtime(runtime: Runtime) -> None:
    with Runtime():
        other = talk(get_context(), 1)
        other.messages = other.messages[2:]
    assert new_context("copy", branch_from=other).messages == other.messages
    assert runtime.get_full_context("copy") == other.messages


def test_one_message_in_two_contexts_is_one_in_the_timeline(runtime: Runtime) -> None:
    message = Message(role="assistant", content="", tool_calls=[call("1"), call("2")])
    for name in ("main", "attempt_a"):
        get_context(name).append(message)
    assert runtime.get_full_context() == [message]


def test_the_timeline_goes_by_time_across_contexts(runtime: Runtime) -> None:
    for time, name in enumerate(["main", "attempt_a", "main", "intermediate_a", "attempt_b", "main"]):
        with use_clock(lambda: 1000.0 + time):  # noqa: B023
            get_context(name).user(f"{time}")
    late = Message(role="user", content="long ago", timestamp=datetime(1999, 1, 1))
    get_context("main").append(late)
    times = [message.content for message in runtime.get_full_context()]
    assert times == ["0", "1", "2", "3", "4", "5", "long ago"]
    assert said(get_context("main"))[-1] == "long ago"


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (None, {"main", "main_b", "attempt_a", "attempt_b", "mainly"}),
        ("main", {"main", "main_b"}),
        ("attempt", {"attempt_a", "attempt_b"}),
        (["main", "attempt", "attempt_a"], {"main", "main_b", "attempt_a", "attempt_b"}),
        (["attempt_b"], {"attempt_b"}),
        ("nobody", set[str]()),
        ([], set[str]()),
    ],
)
def test_a_label_stands_for_its_name_and_for_all_with_an_ending(
    runtime: Runtime, labels: str | list[str] | None, found: set[str]
) -> None:
    for name in ("main", "main_b", "attempt_a", "attempt_b", "mainly"):
        get_context(name).user(name)
    said = [message.content for message in runtime.get_full_context(labels)]
    assert len(said) == len(found) and set(said) == found


def test_what_was_cleared_is_not_in_the_timeline(runtime: Runtime) -> None:
    for name in ("main", "main_b"):
        get_context(name).user(name)
        get_context(name).clear()
    assert runtime.get_full_context() == [] and set(runtime.CTX) == {"main", "main_b"}
    get_context("main_b").user("again")
    assert [message.content for message in runtime.get_full_context("main")] == ["again"]
    kept = [item.text for item in timeline(runtime.session) if isinstance(item, Words)]
    assert kept == ["main", "main_b", "again"], "the engine has kept it all"
