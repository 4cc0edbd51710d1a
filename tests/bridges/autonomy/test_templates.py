"""Memory, templates, sections and background summaries."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quire.bridges.autonomy import (
    AdditionalContextSection,
    ContextSection,
    ContextTemplate,
    ConversationHistorySection,
    FrameworkInstructionsSection,
    Memory,
    SummarizedHistorySection,
    SystemInstructionsSection,
    system_message,
)
from quire.items import Image
from quire.models import Scripted

HERE = ("ana", "monday")


def line(n: int, role: str | None = None) -> dict[str, Any]:
    text = f"line {n}. It is about the lamps in the hall, and in the attic."
    return {"role": role or ("assistant" if n % 2 else "user"), "content": {"text": text, "type": "text"}}


def pair(n: int) -> list[dict[str, Any]]:
    """A call and its result."""
    call = {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{n}", "name": "look", "content": f"line {n}."},
    ]


def lines(shown: object) -> list[int]:
    return [int(n) for n in re.findall(r"line (\d+)\.", str(shown))]


@dataclass
class ForeignMemory:
    """A memory of somebody else, which cannot be hashed: a list, and the one method that sections need."""

    messages: list[Any] = field(default_factory=list[Any])

    async def get_messages_only(self, scope: str, conversation: str) -> list[Any]:
        return list(self.messages)


async def memory_of(*messages: Any) -> Memory:
    memory = Memory()
    await memory.add_messages(*HERE, messages)
    return memory


# Memory


@pytest.mark.parametrize(
    "messages",
    [
        [line(0), {"role": "user", "content": "a text"}, system_message("Be kind.")],
        [*pair(1), {**line(1), "tool_calls": pair(2)[0]["tool_calls"]}, pair(2)[1]],
        [{"role": "assistant", "content": "waiting", "phase": "waiting_for_input", "colour": ["green"]}],
        [{"role": "user", "content": [{"text": "look", "type": "text"}, Image(url="https://x/a.png")]}],
    ],
)
async def test_messages_are_read_as_they_were_written_with_a_timestamp(messages: list[Any]) -> None:
    found = await (await memory_of(*messages)).get_messages_only(*HERE)
    empty = {"text": "", "type": "text"}
    for message, read in zip(messages, found, strict=True):
        assert isinstance(read.pop("timestamp"), float)
        assert read == {**message, "content": message["content"] or empty}


async def test_a_memory_is_kept_in_a_store_and_what_is_cleared_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    await Memory(store=path).add_messages(*HERE, map(line, range(3)))
    memory = Memory(store=path)
    assert await memory.get_message_count(*HERE) == 3
    await memory.clear_short_term_memory(*HERE)
    await memory.add_message(*HERE, line(7))
    assert lines(await memory.get_messages_only(*HERE)) == [7]
    assert b"line 1." not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


# Sections


class Base(ContextSection):
    required = False

    def __init__(self, name: str = "base", *, fails: bool = False, **options: Any) -> None:
        super().__init__(name, **options)
        self.fails = fails

    async def get_messages(
        self, memory: Any, scope: str, conversation: str, params: dict[str, Any]
    ) -> list[dict[str, Any]]:
        if self.fails:
            raise LookupError("no lamp")
        return [system_message(f"{self.name}: {params.get('conversation_message_count')}")]


@pytest.mark.parametrize(
    "section",
    [
        SystemInstructionsSection("Be kind.", enabled=False),
        FrameworkInstructionsSection(enabled=False),
        ConversationHistorySection(enabled=False),
        AdditionalContextSection("more", False, lambda scope, conversation, params: [system_message("x")]),
        SummarizedHistorySection(Scripted([]), enabled=False),
    ],
)
async def test_every_section_can_be_made_disabled_and_enabled_later(section: ContextSection) -> None:
    memory, template = await memory_of(line(0)), ContextTemplate([section])
    assert await template.build_context(memory, *HERE) == await section.get_messages(memory, *HERE, {}) == []
    section.set_enabled(True)
    assert len(await template.build_context(memory, *HERE)) == 1


async def test_a_failing_section_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    failing = Base("failing", fails=True)
    shown = await ContextTemplate([failing, Base()]).build_context(Memory(), *HERE)
    assert len(shown) == 1 and "section failing failed and is left out: LookupError" in caplog.text
    failing.required = True
    with pytest.raises(LookupError):
        await ContextTemplate([failing]).build_context(Memory(), *HERE)


@pytest.mark.parametrize("own", [True, False], ids=["memory of ours", "memory of somebody else"])
async def test_a_history_is_limited_and_filtered_and_splits_no_pair(own: bool) -> None:
    messages = [line(0), *pair(1), line(3), line(4), *pair(5), line(7)]
    memory: Any = await memory_of(*messages) if own else ForeignMemory(messages)

    def is_said(message: dict[str, Any]) -> bool:
        return str(message["role"]) != "tool"

    async def shown(**options: Any) -> list[Any]:
        params: dict[str, Any] = {}
        found = await ConversationHistorySection(**options).get_messages(memory, *HERE, params)
        assert params["conversation_message_count"] == len(found)
        return found

    assert lines(await shown()) == [0, 1, 3, 4, 5, 7]
    assert [one["role"] for one in await shown(max_messages=2)] == ["user", "assistant", "tool", "assistant"]
    assert lines(await shown(filter_fn=is_said)) == [0, 3, 4, 7]


# Summaries


class Writer:
    """Writes summaries while its gate is open; `reply` is what it returns, or raises."""

    def __init__(self, reply: Any = "THE GIST") -> None:
        self.reply, self.asked, self.options = reply, list[str](), list[dict[str, Any]]()
        self.gate = asyncio.Event()
        self.gate.set()

    async def complete_chat(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Any:
        self.asked.append(str(messages))
        self.options.append(options)
        await self.gate.wait()
        if isinstance(self.reply, Exception):
            raise self.reply
        reply = self.reply(messages) if callable(self.reply) else self.reply
        return await reply if isawaitable(reply) else reply


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not done():
            await asyncio.sleep(0.001)


async def build(section: Any, memory: Any) -> list[dict[str, Any]]:
    """What is shown, once the summaries that are begun have been written."""
    template = ContextTemplate([section])
    await template.build_context(memory, *HERE)
    await section.join()
    return await template.build_context(memory, *HERE)


@pytest.mark.parametrize(
    "reply",
    [
        "THE GIST",
        SimpleNamespace(content="THE GIST"),
        SimpleNamespace(content=[SimpleNamespace(text="THE GIST")]),
        SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="THE GIST"))]),
        {"choices": [{"message": {"content": "THE GIST"}}]},
        Scripted(["THE GIST"]).complete_chat,
    ],
    ids=["text", "content", "parts", "choices", "dictionary", "of a model"],
)
async def test_a_summary_is_the_text_of_what_a_model_returns(reply: Any) -> None:
    section = SummarizedHistorySection(Writer(reply))
    first, *rest = await build(section, await memory_of(*map(line, range(25))))
    assert "THE GIST" in str(first["content"])
    assert "namespace" not in str(first) and "choices" not in str(first)
    assert lines(rest) == list(range(25 - len(rest), 25)) and 9 <= len(rest) <= 11


@pytest.mark.parametrize(
    "reply", [object(), SimpleNamespace(content=None), {}, "", " ", ConnectionError("no line")]
)
async def test_a_reply_without_a_text_and_a_failure_change_nothing_and_are_counted(reply: Any) -> None:
    section, memory = SummarizedHistorySection(Writer(reply)), await memory_of(*map(line, range(25)))
    assert lines(await build(section, memory)) == list(range(25))
    metrics = section.get_metrics()
    assert metrics["background_tasks_completed"] == 0 and metrics["background_tasks_failed"] >= 1


@pytest.mark.parametrize("trims", [False, True], ids=["all kept", "oldest trimmed"])
async def test_a_memory_of_somebody_else_is_summarized_and_nothing_is_hidden(trims: bool) -> None:
    section, memory = SummarizedHistorySection(Writer(), floor=4, ceiling=8), ForeignMemory()
    for n in range(40):
        memory.messages = [*memory.messages[-20 if trims else 0 :], line(n)]
        shown = await build(section, memory)
        told = {one for asked in section.summary_model.asked for one in lines(asked)}
        seen = lines([one for one in shown if "THE GIST" not in str(one)])
        assert seen == list(range(seen[0], n + 1)) and set(range(seen[0])) <= told and len(shown) <= 10


async def test_clearing_the_cache_gives_up_what_is_being_written() -> None:
    writer = Writer()
    section, memory = SummarizedHistorySection(writer), await memory_of(*map(line, range(25)))
    writer.gate.clear()
    await ContextTemplate([section]).build_context(memory, *HERE)
    await until(lambda: bool(writer.asked))
    section.clear_cache(*HERE)
    writer.gate.set()
    await until(lambda: not section.get_cache_info()["pending_summarizations"])
    assert section.get_cache_info()["cached_conversations"] == 0
