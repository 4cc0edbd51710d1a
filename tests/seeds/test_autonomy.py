"""Promises of Autonomy's page on context: summaries in the background, templates, sections and memory."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from quire.bridges.autonomy import (
    AdditionalContextSection,
    Agent,
    ContextTemplate,
    ConversationHistorySection,
    Memory,
    Model,
    Node,
    SummarizedHistorySection,
    SystemInstructionsSection,
    system_message,
)
from quire.items import ToolCall
from quire.models import Scripted
from quire.providers import Rendered
from tests.bridges.autonomy.test_templates import Writer, line, lines, until

Said = Mapping[str, Any]


def numbers(messages: object) -> list[int]:
    repeated = r"<user-said>\W{1,2}n?<user>.*?</user-said>"  # what the user said is there once more
    return lines(re.sub(repeated, "", str(messages), flags=re.DOTALL))


def text(message: Said) -> str:
    content = message["content"]
    return content if isinstance(content, str) else str(content["text"])


class Diary:
    """A conversation in a memory, and a template whose one section is a summarized history."""

    def __init__(self, writer: Writer, **options: Any) -> None:
        self.writer, self.memory = writer, Memory()
        self.section = SummarizedHistorySection(summary_model=writer, **options)
        self.template = ContextTemplate([self.section])
        self.count = 0

    async def add(self, count: int) -> None:
        for n in range(self.count, self.count + count):
            await self.memory.add_message("ana", "may", line(n))
        self.count += count

    async def shown(self) -> list[dict[str, Any]]:
        return await self.template.build_context(self.memory, "ana", "may")

    async def summarized(self, completed: int = 1) -> list[dict[str, Any]]:
        """What is shown once so many summaries have been written."""
        await self.shown()
        await until(lambda: self.section.get_metrics()["background_tasks_completed"] >= completed)
        return await self.shown()


def look(place: str) -> str:
    """Look at a place."""
    return f"{place} is dry"


def payloads(model: Scripted, *, summaries: bool = False) -> list[list[Said]]:
    """The messages of each request, for replies or for summaries."""
    sent = [list(request.payload["messages"]) for request in model.requests]
    return [messages for messages in sent if ("<conversation>" in str(messages)) is summaries]


def reply(sent: Rendered) -> str:
    return "THE GIST" if "<conversation>" in str(sent.payload["messages"]) else "noted"


async def talk(model: Any, turns: int = 1, message: str = "line {}.", **options: Any) -> None:
    """Start an agent and send it some messages, each after the summary that the last one made due."""
    async with Node() as node:
        agent = await Agent.start(node=node, name="scribe", model=model, **options)
        for n in range(turns):
            await agent.send(message.format(n), scope="ana", conversation="may")
            await node.worker("scribe", "ana", "may").agent.session.aio.compaction.close()


# context_summary


async def test_context_summary_true_summarizes_with_the_agents_own_model() -> None:
    model = Scripted(reply)
    await talk(model, 12, "line {}. " + "rain " * 1000, instructions="Note it.", context_summary=True)
    assert len(payloads(model, summaries=True)) == 1
    assert [terms["max_tokens"] for terms in model.terms if "max_tokens" in terms] == [2048]
    sizes = [len(messages) - 1 for messages in payloads(model)]  # without the system message
    assert sizes[:11] == list(range(1, 23, 2)) and 10 <= sizes[11] <= 13
    assert "THE GIST" in str(payloads(model)[-1])


async def test_context_summary_takes_floor_ceiling_size_model_and_instructions() -> None:
    model, writer, prompt = Scripted(reply), Writer("A WET MAY"), "Weather only:\n{conversation}"
    options = {"floor": 4, "ceiling": 8, "size": 77, "model": writer, "instructions": prompt}
    await talk(model, 6, "line {}. " + "rain " * 100, context_summary=options)
    assert payloads(model, summaries=True) == [] and writer.options == [{"max_tokens": 77}]
    assert "Weather only:" in writer.asked[0] and numbers(writer.asked[0])
    assert "{conversation}" not in writer.asked[0]
    assert "A WET MAY" in str(payloads(model)[-1]) and len(payloads(model)[-1]) <= 1 + 7


async def test_a_long_conversation_stays_bounded_and_hides_no_message() -> None:
    model = Scripted(reply)
    await talk(model, 40, context_summary={"floor": 6, "ceiling": 12})
    told = set(numbers(payloads(model, summaries=True)))
    for turn, messages in enumerate(payloads(model)):
        shown = numbers(messages)
        assert shown == list(range(shown[0], turn + 1)) and set(range(shown[0])) <= told
        assert len(messages) <= 1 + 1 + 16
    assert len(payloads(model, summaries=True)) >= 5


async def test_context_summary_beside_context_template_is_a_value_error() -> None:
    template = ContextTemplate([ConversationHistorySection()])
    async with Node() as node:
        with pytest.raises(ValueError, match="context_summary"):
            await Agent.start(node=node, context_summary=True, context_template=template)


def test_node_start_calls_main_with_a_node_on_which_agents_start() -> None:
    async def main(node: Node) -> None:
        model, summary = Model("claude-sonnet-4-v1"), {"model": Model("nova-micro-v1")}
        agent = await Agent.start(node=node, name="scribe", model=model, context_summary=summary)
        started.append((agent.name, node.agents))

    started: list[Any] = []
    Node.start(main, wait=False)
    assert started == [("scribe", ("scribe",))]


# The default template


async def test_the_default_template_is_instructions_framework_and_history() -> None:
    model = Scripted([ToolCall("c", "look", '{"place": "the valley"}'), "noted"], name="gpt-4o")
    await talk(model, instructions="Keep a diary.", tools=[look])
    instructions, framework, user, call, result = payloads(model)[-1]
    assert instructions == {"role": "system", "content": "Keep a diary."}
    assert framework["role"] == "system" and "time" in framework["content"]
    assert user == {"role": "user", "content": "line 0."}
    assert call["tool_calls"][0]["function"]["name"] == "look"
    assert result["role"] == "tool" and result["content"] == "the valley is dry"
    assert model.requests[0].payload["tools"][-1]["function"]["name"] == "look", "the user's tools come last"


@pytest.mark.parametrize(
    ("options", "tool"),
    [
        ({}, "get_current_time_utc"),
        ({"enable_filesystem": True}, "read_file"),
        ({"enable_ask_for_user_input": True}, "ask_user_for_input"),
        ({"subagents": {"poet": {"instructions": "Write poems."}}}, "delegate_to_subagents_parallel"),
    ],
    ids=["time", "files", "input", "subagents"],
)
async def test_framework_instructions_describe_the_tools_that_are_enabled(options: Any, tool: str) -> None:
    model, plain = Scripted(["noted"], name="gpt-4o"), Scripted(["noted"], name="gpt-4o")
    await talk(model, instructions="Keep a diary.", **options)
    await talk(plain, instructions="Keep a diary.")
    assert tool in payloads(model)[0][1]["content"] and tool in str(model.requests[0].payload["tools"])
    assert (tool in payloads(plain)[0][1]["content"]) is ("time" in tool)


# Custom templates and sections


async def test_an_agent_uses_a_custom_template() -> None:
    model = Scripted(lambda _: "noted", name="gpt-4o")
    history = ConversationHistorySection(max_messages=3)
    template = ContextTemplate([SystemInstructionsSection([system_message("Write verse.")]), history])
    await talk(model, 4, instructions="not shown", context_template=template)
    shown = [message["content"] for message in payloads(model)[-1]]
    assert shown == ["Write verse.", "line 2.", "noted", "line 3."]


class Own:
    """A section of one's own, as the interface asks for it."""

    def __init__(self, name: str = "own") -> None:
        self.name, self.enabled = name, True

    async def get_messages(
        self, memory: Memory, scope: str, conversation: str, params: dict[str, Any]
    ) -> list[dict[str, Any]]:
        count = len(await memory.get_messages_only(scope, conversation))
        params.setdefault("names", []).append(self.name)
        return [system_message(f"{scope}/{conversation} has {count}, after {params['names']}")]


async def test_a_section_receives_memory_scope_conversation_and_shared_params() -> None:
    memory = Memory()
    await memory.add_message("ana", "may", line(0))
    shown = await ContextTemplate([Own("one"), Own("two")]).build_context(memory, "ana", "may")
    assert [text(message) for message in shown] == [
        "ana/may has 1, after ['one']",
        "ana/may has 1, after ['one', 'two']",
    ]


async def test_additional_context_is_provided_for_a_scope_and_stored_nowhere() -> None:
    async def weather(scope: str, conversation: str, params: dict[str, Any]) -> list[dict[str, Any]]:
        return [system_message(f"{scope} lives in the rain")]

    memory = Memory()
    await memory.add_message("ana", "may", line(0))
    section = AdditionalContextSection(name="weather", provider_fn=weather)
    section.add_message(system_message("It is May"))
    template = ContextTemplate([section, ConversationHistorySection()])
    fixed, provided, said = await template.build_context(memory, "ana", "may")
    assert (text(fixed), text(provided), numbers(said)) == ("It is May", "ana lives in the rain", [0])
    section.clear_messages()
    assert len(await template.build_context(memory, "ana", "may")) == 2
    assert len(await memory.get_messages_only("ana", "may")) == 1
    assert await memory.get_messages_only("bob", "may") == await memory.get_messages_only("ana", "june") == []


async def test_a_section_of_ones_own_can_summarize_with_a_model() -> None:
    class Summarizing(Own):
        async def get_messages(self, memory: Memory, scope: str, conversation: str, params: Any) -> list[Any]:
            messages = await memory.get_messages_only(scope, conversation)
            request = {"role": "user", "content": {"text": f"Shorten: {messages}", "type": "text"}}
            summary = await model.complete_chat([request])
            return [system_message(f"Before: {summary}"), *messages[-2:]]

    model, memory = Scripted(["it rained"]), Memory()
    await memory.add_messages("ana", "may", map(line, range(5)))
    first, *rest = await ContextTemplate([Summarizing()]).build_context(memory, "ana", "may")
    assert text(first) == "Before: it rained" and numbers(rest) == [3, 4]
    assert callable(Model("nova-micro-v1").complete_chat)


# SummarizedHistorySection


async def test_summarizing_never_blocks_and_hides_nothing_meanwhile() -> None:
    diary = Diary(Writer())
    diary.writer.gate.clear()
    await diary.add(20)
    await diary.shown()
    await diary.section.join()
    assert diary.section.get_metrics()["background_tasks_started"] == 0, "the ceiling is not passed"
    await diary.add(1)
    assert numbers(await diary.shown()) == list(range(21))
    await until(lambda: bool(diary.writer.asked))
    await diary.add(1)
    assert numbers(await diary.shown()) == list(range(22))
    assert diary.section.get_cache_info()["pending_summarizations"] == 1
    diary.writer.gate.set()


async def test_above_the_ceiling_a_summary_and_about_floor_messages_are_shown_without_a_gap() -> None:
    diary = Diary(Writer())
    await diary.add(21)
    first, *rest = await diary.summarized()
    assert first["role"] == "system" and "THE GIST" in text(first)
    assert numbers(rest) == list(range(21 - len(rest), 21)) and 9 <= len(rest) <= 11
    assert numbers(diary.writer.asked) == list(range(21 - len(rest)))
    assert diary.writer.options[0]["max_tokens"] <= 2048


async def test_a_summary_is_made_again_after_ceiling_minus_floor_new_messages() -> None:
    diary = Diary(Writer(), floor=4, ceiling=8)
    await diary.add(9)
    shown = await diary.summarized()
    await diary.add(8 - len(shown))
    await diary.shown()
    await diary.section.join()
    assert len(diary.writer.asked) == 1, "the ceiling is reached and not passed"
    await diary.add(2)
    rest = (await diary.summarized(completed=2))[1:]
    assert "THE GIST" in diary.writer.asked[1], "the earlier summary is folded in"
    assert 3 <= len(rest) <= 5 and numbers(rest)[-1] == diary.count - 1


@pytest.mark.parametrize("instructions", ["Keep the {weather} only.", "{conversation} Keep the {weather}"])
async def test_instructions_guide_the_summary_and_the_conversation_is_always_told(instructions: str) -> None:
    diary = Diary(Writer(), instructions=instructions)
    await diary.add(21)
    await diary.summarized()
    assert numbers(diary.writer.asked) and "Keep the {weather}" in diary.writer.asked[0]


def test_a_summary_needs_a_model_and_a_floor_below_the_ceiling() -> None:
    for options in ({"floor": 0}, {"floor": 20}, {"ceiling": 5}):
        with pytest.raises(ValueError):
            Diary(Writer(), **options)
    with pytest.raises(TypeError):
        SummarizedHistorySection()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def test_metrics_and_cache_info_tell_of_summaries() -> None:
    diary = Diary(Writer())
    await diary.add(21)
    await diary.summarized()
    metrics, info = diary.section.get_metrics(), diary.section.get_cache_info()
    assert (metrics["cache_hits"], metrics["cache_misses"]) == (1, 1)
    assert (metrics["background_tasks_started"], metrics["background_tasks_completed"]) == (1, 1)
    assert (info["cached_conversations"], info["pending_summarizations"]) == (1, 0)


async def test_clearing_the_cache_of_a_conversation_shows_its_messages_again() -> None:
    diary = Diary(Writer())
    await diary.add(21)
    await diary.summarized()
    diary.section.clear_cache(scope="ana", conversation="june")
    assert diary.section.get_cache_info()["cached_conversations"] == 1
    diary.section.clear_cache(scope="ana", conversation="may")
    assert diary.section.get_cache_info()["cached_conversations"] == 0
    assert numbers(await diary.shown()) == list(range(21))
