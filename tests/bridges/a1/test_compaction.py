"""Compaction: what is left, that calls keep their results, and when a strategy is asked."""

import logging
from pathlib import Path

import pytest

from quire.bridges.a1 import Compact, Context, Message, Runtime, TruncateOldest, get_context
from quire.errors import InvalidLimit, WrongType
from quire.items import Undo
from tests.bridges.a1.talks import call, is_paired, said, talk


def test_the_newest_are_left() -> None:
    context = Context([Message(role="user", content=f"{n}") for n in range(5)])
    given = {"main": context}
    assert TruncateOldest(max_messages=2).compact(given) is given
    assert said(context) == ["3", "4"]


@pytest.mark.parametrize("limit", range(2, 14))
def test_calls_and_results_stay_together(limit: int) -> None:
    context = talk(Context(), 3)
    TruncateOldest(max_messages=limit).compact({"main": context})
    assert is_paired(context) and said(context)[-1] == "answer 2" and "question 2" in said(context)
    assert len(context) <= limit


def test_many_calls_in_one_message_count_as_one_message() -> None:
    context = Context()
    for n in range(2):
        context.user(f"question {n}")
        context.assistant("looking", tool_calls=[call(f"{n}a"), call(f"{n}b"), call(f"{n}c")])
        for letter in "abc":
            context.tool("found", name="search", tool_call_id=f"{n}{letter}")
        context.assistant("done")
    TruncateOldest(max_messages=6).compact({"main": context})
    assert said(context)[0] == "question 1" and len(context) == 6 and is_paired(context)


def test_instructions_and_calls_that_wait_stay(caplog: pytest.LogCaptureFixture) -> None:
    context = Context()
    context.system("be brief")
    context.assistant("", tool_calls=[call("waits")])
    for n in range(5):
        context.user(f"{n}")
    TruncateOldest(max_messages=3).compact({"main": context})
    assert [m.role for m in context] == ["system", "assistant", "user"] and said(context)[-1] == "4"
    with caplog.at_level(logging.WARNING, "quire.bridges.a1"):
        TruncateOldest(max_messages=1).compact({"main": context})
    assert len(context) == 3 and "must stay" in caplog.text


def test_nothing_is_lost_by_it() -> None:
    context = talk(Context(), 3)
    before = context.messages
    TruncateOldest(max_messages=4).compact({"main": context})
    assert len(context) == 4
    context.session.undo()
    assert context.messages == before
    assert isinstance(context.session.view().log.items(0, context.session.version)[-1], Undo)


def test_a_limit_is_a_whole_number_above_zero() -> None:
    assert TruncateOldest().max_messages == 100
    with pytest.raises(InvalidLimit):
        TruncateOldest(max_messages=0)
    with pytest.raises(WrongType):
        TruncateOldest(max_messages="many")  # type: ignore[arg-type]  # pyright: ignore


def test_the_default_leaves_everything_as_it_is(runtime: Runtime) -> None:
    given = {"main": talk(get_context(), 50)}
    assert runtime.compact.compact(given) is given and len(get_context()) == 200


def test_a_runtime_keeps_its_contexts_short(tmp_path: Path) -> None:
    strategy = TruncateOldest(max_messages=10)
    path = tmp_path / "runtime.json"
    with Runtime.from_file(path, keep_updated=True, compact=strategy) as runtime:
        for name in ("main", "debug"):
            talk(get_context(name), 20)
            assert len(get_context(name)) <= 10 and is_paired(get_context(name))
    assert Runtime.from_file(path).CTX["main"].messages == runtime.CTX["main"].messages


def test_a_strategy_is_asked_after_messages_that_leave_no_call_waiting() -> None:
    asked: list[dict[str, int]] = []

    class Watching(Compact):
        def compact(self, contexts: dict[str, Context]) -> dict[str, Context]:
            asked.append({name: len(context) for name, context in contexts.items()})
            return contexts

    with Runtime(compact=Watching()):
        get_context("other")
        talk(get_context(), 1)
    assert asked == [{"other": 0, "main": n} for n in (1, 3, 4)]


def test_a_strategy_may_put_other_contexts_in_their_place() -> None:
    class Recap(Compact):
        def compact(self, contexts: dict[str, Context]) -> dict[str, Context]:
            for name, context in contexts.items():
                if len(context) > 4:
                    recap = Message(role="system", content=f"{len(context)} messages")
                    contexts[name] = Context([recap, *context[-2:]])
            return contexts

    with Runtime(compact=Recap()) as runtime:
        context = get_context()
        for n in range(6):
            context.user(f"{n}")
        assert said(context) == ["5 messages", "3", "4", "5"] and runtime.CTX["main"] is context
    assert len(runtime.session.view("main")) == 5, "what it replaced is kept"


def test_a_strategy_may_write_and_is_not_asked_again_for_that() -> None:
    class Telling(Compact):
        def compact(self, contexts: dict[str, Context]) -> dict[str, Context]:
            contexts["main"].messages = contexts["main"][-1:]
            contexts["main"].system("shortened")
            return contexts

    with Runtime(compact=Telling()):
        get_context().user("a")
        get_context().user("b")
        assert (
            said(get_context()) == ["shortened", "b", "shortened"] or said(get_context())[-1] == "shortened"
        )


def test_a_strategy_that_fails_is_heard_and_the_message_is_kept() -> None:
    class Failing(Compact):
        def compact(self, contexts: dict[str, Context]) -> dict[str, Context]:
            raise RuntimeError("no")

    class Forgetful(Compact):
        def compact(self, contexts: dict[str, Context]) -> dict[str, Context]:
            return None  # type: ignore[return-value]  # pyright: ignore

    for strategy, error in ((Failing(), RuntimeError), (Forgetful(), WrongType)):
        with Runtime(compact=strategy):
            for _ in range(2):
                with pytest.raises(error):
                    get_context().user("kept")
            assert said(get_context()) == ["kept", "kept"]


def test_a_strategy_may_come_with_others_in_one_object() -> None:
    class Strategy:
        compact = TruncateOldest(max_messages=3)

    assert Runtime(strategy=Strategy()).compact is Strategy.compact
