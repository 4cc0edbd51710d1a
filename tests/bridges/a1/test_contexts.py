"""Messages, contexts, runtimes, files and compaction, beyond what the page on context shows."""

import asyncio
import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.bridges.a1 import (
    Compact,
    Context,
    Message,
    Runtime,
    TruncateOldest,
    get_context,
    get_runtime,
    new_context,
)
from quire.items import Message as Words, ToolCall, ToolResult

CALL = {"id": "c1", "type": "function", "function": {"name": "weigh", "arguments": '{"fruit": "pear"}'}}


def texts(messages: Iterable[Message]) -> list[str]:
    return [message.content for message in messages]


def saved(path: str) -> Any:
    return json.loads(Path(path).read_text())


# Messages


_messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=st.text(max_size=5),
    name=st.none() | st.text(min_size=1, max_size=3),
    tool_call_id=st.none() | st.sampled_from(["c1", "c2"]),
    tool_calls=st.none() | st.lists(st.sampled_from([CALL, {"id": "c2"}]), max_size=2),
    timestamp=st.integers(0, 10**6).map(lambda s: datetime(2026, 3, 1) + timedelta(seconds=s)),
)


@given(st.lists(_messages, max_size=8), st.data())
def test_a_context_shows_the_messages_that_were_appended_or_assigned(
    messages: list[Message], data: st.DataObject
) -> None:
    context = Context(messages)
    assert context.messages == messages
    wanted = data.draw(st.permutations(messages)) if messages else []
    context.messages = wanted[: data.draw(st.integers(0, len(wanted)))]
    assert context.messages == wanted[: len(context)]


# Contexts


def test_changing_the_list_of_messages_changes_the_context() -> None:
    context = Context.from_file("basket.json", keep_updated=True)
    messages = context.messages
    messages.append(Message(role="user", content="pears"))
    context.user("figs")
    messages += [Message(role="user", content="plums")]
    assert texts(messages) == texts(context) == ["pears", "figs", "plums"] and messages is context.messages
    messages.insert(0, Message(role="system", content="fruit"))
    assert messages.pop().content == "plums"
    del messages[1]
    messages[0] = Message(role="system", content="all fruit")
    messages.reverse()
    assert texts(Context.from_file("basket.json")) == ["figs", "all fruit"]
    messages.clear()
    assert len(context) == 0


def test_items_of_the_engine_are_messages_too(runtime: Runtime) -> None:
    session = runtime.session
    session.append(
        Words("user", "How heavy?"), Words("assistant", "I weigh it."), ToolCall("c1", "weigh", "{}")
    )
    session.append(ToolResult("c1", "weigh", "5 kg"))
    main = get_context()
    assert [message.role for message in main] == ["user", "assistant", "tool"]
    assert main[1].tool_calls and main[1].tool_calls[0]["id"] == "c1" == main[2].tool_call_id


# Runtimes


def test_names_of_new_contexts_are_the_first_free_ones(runtime: Runtime) -> None:
    get_context("try_b")
    assert [new_context("try"), new_context("try")] == [runtime.CTX["try_a"], runtime.CTX["try_c"]]
    with pytest.raises(ValueError, match="~"):
        get_context("main~2")
    with pytest.raises(TypeError):
        runtime.CTX["main"] = Context()  # type: ignore[index]  # pyright: ignore


async def test_the_current_runtime_belongs_to_a_task(runtime: Runtime) -> None:
    async def enter() -> bool:
        with Runtime() as own:
            await asyncio.sleep(0)
            return get_runtime() is own

    assert all(await asyncio.gather(enter(), enter())) and get_runtime() is runtime


# Files


def test_a_context_file_has_the_layout_of_a1() -> None:
    context = Context(file_path="deep/basket.json", keep_updated=True)
    assert saved("deep/basket.json") == []
    Path("before.json").hardlink_to("deep/basket.json")
    message = context.user("pears")
    assert saved("before.json") == [], "the file is replaced, not written over"
    assert saved("deep/basket.json") == [message.model_dump(exclude_none=True)]
    assert set(saved("deep/basket.json")[0]) == {"role", "content", "timestamp", "message_id"}
    context.clear()
    assert saved("deep/basket.json") == []


def test_a_runtime_file_has_the_layout_of_a1_and_its_settings_are_restored() -> None:
    with Runtime.from_file("all.json", keep_updated=True, cache_dir="programs") as runtime:
        get_context("main").assistant("", tool_calls=[{"id": "1", "name": "weigh"}])
        get_context("notes").user("pears")
        get_context("notes").clear()
    assert list(saved("all.json")) == ["cache_dir", "contexts"]
    assert [len(messages) for messages in saved("all.json")["contexts"].values()] == [1, 0]
    restored = Runtime.from_file("all.json")
    assert restored.CTX["main"].messages == runtime.CTX["main"].messages and len(restored.CTX["notes"]) == 0
    assert (restored.cache_dir, restored.file_path) == (Path("programs"), Path("all.json"))


def test_a_runtime_is_only_read_without_keep_updated_and_makes_no_folder() -> None:
    Path("all.json").write_text('{"contexts": {"main": [{"role": "user", "content": "pears"}]}}')
    before = Path("all.json").read_text()
    with Runtime.from_file("all.json"):
        get_context().user("figs")
    assert Path("all.json").read_text() == before and [path.name for path in Path().iterdir()] == ["all.json"]
    context = Context.from_file("basket.json")
    context.user("plums")
    for kept in (get_runtime(), context):
        kept._save()  # pyright: ignore[reportPrivateUsage]  # as programs for A1 do
    assert len(saved("all.json")["contexts"]["main"]) == 2 and len(saved("basket.json")) == 1
    with Runtime.from_file("missing.json") as runtime:
        assert len(runtime.CTX) == 0 and not Path("missing.json").exists()


# Compaction


def test_several_calls_of_one_message_count_as_one_message() -> None:
    context = Context()
    for n in range(3):
        context.user(f"{n}?")
        context.assistant("", tool_calls=[{"id": f"{n}a", "name": "weigh"}, {"id": f"{n}b", "name": "weigh"}])
        for letter in "ab":
            context.tool("5 kg", name="weigh", tool_call_id=f"{n}{letter}")
    TruncateOldest(max_messages=8).compact({"main": context})
    assert [message.role for message in context] == ["user", "assistant", "tool", "tool"] * 2


def test_a_strategy_runs_after_messages_that_leave_no_call_open_and_may_replace_contexts() -> None:
    sizes: list[int] = []

    class Recap(Compact):
        def compact(self, contexts: dict[str, Context]) -> dict[str, Context]:
            sizes.append(len(contexts["main"]))
            if len(contexts["main"]) < 5:
                return contexts
            contexts["main"].system("This verb does not run the strategy again.")
            return {"main": Context([Message(role="system", content="They talked of fruit.")])}

    with Runtime(compact=Recap()) as runtime:
        main = get_context()
        main.user("pears?")
        main.assistant("", tool_calls=[CALL])
        main.tool("5 kg", name="weigh", tool_call_id="c1")
        main.assistant("five")
        main.user("figs?")
        assert sizes == [1, 3, 4, 5] and texts(main) == ["They talked of fruit."]
        assert runtime.CTX["main"] is main
