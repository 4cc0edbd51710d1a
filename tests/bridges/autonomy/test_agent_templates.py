"""Agents with a template of one's own: sections that a user wrote, and changes while they run."""

from typing import Any

import pytest

from quire.bridges.autonomy import (
    AdditionalContextSection,
    Agent,
    ContextTemplate,
    ConversationHistorySection,
    FrameworkInstructionsSection,
    Memory,
    Node,
    SystemInstructionsSection,
)
from quire.items import ToolCall
from quire.models import Scripted
from tests.bridges.autonomy.talking import LOOKS, lines, look, run, said, text


def test_a_template_of_ones_own() -> None:
    class Filtered:
        def __init__(self) -> None:
            self.name = "conversation_history"
            self.enabled = True
            self.asked: list[tuple[str, str]] = []

        async def get_messages(
            self, memory: Memory, scope: str, conversation: str, params: dict[str, Any]
        ) -> Any:
            self.asked.append((scope, conversation))
            messages = await memory.get_messages_only(scope, conversation)
            return [one for n, one in enumerate(messages) if one["role"] != "tool" or n >= len(messages) - 2]

    async def prefers(scope: str, conversation: str, params: dict[str, Any]) -> list[dict[str, Any]]:
        return [said("system", f"{scope} pays in EUR.")]

    async def talk() -> None:
        history, model = (
            Filtered(),
            Scripted([LOOKS[0], "One.", ToolCall("d", "look", '{"place": "here"}'), "Two."], name="gpt-4o"),
        )
        template = ContextTemplate(
            [
                SystemInstructionsSection([said("system", "You sell lamps.") | {"phase": "system"}]),
                AdditionalContextSection(name="prefers", provider_fn=prefers),
                FrameworkInstructionsSection(),
                history,
            ]
        )
        async with Node() as node:
            agent = await Agent.start(
                node=node,
                name="shop",
                instructions="not shown",
                model=model,
                tools=[look],
                context_template=template,
            )
            await agent.send("line 1.", scope="ana", conversation="one")
            await agent.send("line 2.", scope="ana", conversation="one")
        messages = model.requests[-1].payload["messages"]
        assert [one["content"] for one in messages[:2]] == ["You sell lamps.", "ana pays in EUR."]
        assert lines(messages) == [1, 2] and "not shown" not in str(messages)
        assert set(history.asked) == {("ana", "one")}
        assert "seen here" in str(messages) and "seen there" not in str(
            messages
        )  # and every call has a result

    run(talk)


def test_sections_can_be_changed_while_the_agent_runs() -> None:
    async def talk() -> None:
        model, rules = Scripted(lambda sent: "Well."), SystemInstructionsSection("Be kind.", name="rules")
        template = ContextTemplate([rules, ConversationHistorySection()])
        async with Node() as node:
            agent = await Agent.start(node=node, model=model, context_template=template)
            await agent.send("line 1.")
            rules.enabled = False
            await agent.send("line 2.")
            template.add_section(SystemInstructionsSection("Be quick.", name="pace"), 0)
            await agent.send("line 3.")
        kind, neither, quick = (str(request.payload["messages"]) for request in model.requests)
        assert (
            "Be kind." in kind and "Be" not in neither and "Be quick." in quick and lines(quick) == [1, 2, 3]
        )

    run(talk)


def test_a_section_that_fails_is_an_error_and_an_optional_one_is_left_out() -> None:
    class Broken:
        name = "broken"

        def __init__(self, required: bool) -> None:
            self.required = required

        async def get_messages(
            self, memory: Memory, scope: str, conversation: str, params: dict[str, Any]
        ) -> Any:
            raise LookupError("no such table")

    async def talk() -> None:
        async with Node() as node:
            for required in (True, False):
                template = ContextTemplate([Broken(required), ConversationHistorySection()])
                agent = await Agent.start(node=node, model=Scripted(["Yes."]), context_template=template)
                if required:
                    with pytest.raises(LookupError):
                        await agent.send("hi")
                else:
                    assert text((await agent.send("hi"))[-1]) == "Yes."

    run(talk)
