"""What an agent may be started with: tools that come along, files, subagents, limits."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from quire.bridges.autonomy import Agent, Node
from quire.errors import InvalidValue, WrongType
from quire.items import ToolCall
from quire.models import Scripted
from quire.providers import Rendered
from tests.bridges.autonomy.talking import Clerk, echo, lines, look, run, text, tools_in


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, set[str]()),
        ({"enable_ask_for_user_input": True}, {"ask_user"}),
        ({"enable_filesystem": True}, {"read_file", "write_file", "search_files", "remove_file"}),
        ({"subagents": {"checker": {"instructions": "Check."}}}, {"start_agent", "delegate", "stop_agent"}),
    ],
)
def test_the_tools_that_come_along_are_switched_on_one_by_one(options: Any, expected: set[str]) -> None:
    async def talk() -> None:
        model = Scripted(echo)
        async with Node() as node:
            agent = await Agent.start(node=node, model=model, **options)
            await agent.send("hi")
        [sent] = model.requests
        assert tools_in(sent) >= expected | {"current_time"}
        assert all(name in sent.payload["messages"][0]["content"] for name in expected)
        assert bool(expected) is (len(tools_in(sent)) > 1)

    run(talk)


@pytest.mark.parametrize(
    ("visibility", "shared"), [("conversation", False), ("scope", True), ("agent", True), ("all", True)]
)
def test_files_are_seen_as_far_as_was_said(visibility: Any, shared: bool, tmp_path: Path) -> None:
    async def talk() -> None:
        write = ToolCall("w", "write_file", '{"path": "list.txt", "content": "lamps"}')
        read = ToolCall("r", "read_file", '{"path": "list.txt"}')
        model = Scripted([write, "Done.", read, "Done."])
        async with Node() as node:
            agent = await Agent.start(
                node=node,
                model=model,
                enable_filesystem=True,
                filesystem_visibility=visibility,
                filesystem_root=tmp_path,
            )
            await agent.send("Write it.", scope="ana", conversation="one")
            replies = await agent.send("Read it.", scope="ana", conversation="two")
        assert ("lamps" in str(replies)) is shared

    run(talk)


def test_files_are_in_a_folder_of_the_process_where_nobody_names_one() -> None:
    async def talk() -> None:
        write = ToolCall("w", "write_file", '{"path": "list.txt", "content": "lamps"}')
        async with Node() as node:
            agent = await Agent.start(node=node, model=Scripted([write, "Done."]), enable_filesystem=True)
            replies = await agent.send("Write it.")
        assert "list.txt" in text(replies[1]) and not Path("list.txt").exists()

    run(talk)


def test_work_is_given_to_subagents() -> None:
    async def talk() -> None:
        checker = Scripted(["All figures are right."])
        give = ToolCall("d", "delegate", '{"to": "checker", "task": "Check 2 + 2 = 4."}')
        model = Scripted([give, "They are right."])
        roles = {
            "checker": {
                "instructions": "Check figures.",
                "model": checker,
                "tools": [look],
                "auto_start": True,
            }
        }
        async with Node() as node:
            agent = await Agent.start(node=node, model=model, subagents=roles)
            replies = await agent.send("Are they right?")
        assert text(replies[1]) == "All figures are right."
        [sent] = checker.requests
        assert [one["content"] for one in sent.payload["messages"]] == ["Check figures.", "Check 2 + 2 = 4."]
        assert tools_in(sent) == {"current_time", "look"} and "checker: Check figures." in str(
            model.requests[0].payload
        )

    run(talk)


@pytest.mark.parametrize("roles", [["checker"], {"checker": "Check."}, {"checker": {"colour": "red"}}])
def test_roles_that_make_no_sense_are_refused(roles: Any) -> None:
    async def talk() -> None:
        async with Node() as node:
            with pytest.raises((WrongType, InvalidValue)):
                await Agent.start(node=node, model=Scripted(echo), subagents=roles)

    run(talk)


def test_limits_end_a_turn_and_the_conversation_goes_on() -> None:
    async def talk() -> None:
        asked = 0

        def restless(sent: Rendered) -> Any:
            nonlocal asked
            asked += 1
            return ToolCall(f"c{asked}", "look", '{"place": "there"}')

        async with Node() as node:
            agent = await Agent.start(node=node, model=Scripted(restless), tools=[look], max_iterations=3)
            *did, last = await agent.send("go")
            assert [one["role"] for one in did] == ["assistant", "tool"] * 3
            assert last["phase"] == "limit_reached" and "max_iterations" in last["content"]["text"]
            assert (await agent.get_conversation_state())["state"] == "idle"
            model = Scripted(restless)
            agent = await Agent.start(node=node, model=model, tools=[look], max_execution_time=0.2)
            await agent.send("go")
            assert (await agent.get_conversation_state())["state"] == "idle"
            last = (await agent.memory.get_messages_only("", ""))[-1]
            assert not last.get("tool_calls")  # no call is left open

    run(talk)


def test_a_timeout_is_an_error_and_what_was_said_is_kept() -> None:
    async def talk() -> None:
        never = asyncio.Event()

        async def wait() -> str:
            """Wait."""
            await never.wait()
            return "waited"

        def waiting(sent: Rendered) -> Any:
            return "Yes." if sent.payload["messages"][-1]["content"] == "And now?" else ToolCall("w", "wait")

        async with Node() as node:
            agent = await Agent.start(node=node, model=Scripted(waiting), tools=[wait])
            with pytest.raises(TimeoutError):
                await agent.send("go", timeout=0.2)
            roles = [one["role"] for one in await agent.memory.get_messages_only("", "")]
            assert (
                roles == ["user", "assistant", "tool"][: len(roles)] and len(roles) != 2
            )  # none is left open
            assert text((await agent.send("And now?"))[-1]) == "Yes."

    run(talk)


def test_old_messages_are_left_out_in_steps_where_nobody_summarizes() -> None:
    async def talk() -> None:
        model = Scripted(lambda sent: "Well.")
        async with Node() as node:
            agent = await Agent.start(node=node, model=model, max_messages_in_short_term_memory=8)
            for n in range(30):
                await agent.send(f"line {n}.")
                await node.worker(agent.name).agent.session.aio.close()
            assert await agent.memory.get_message_count("", "") == 60  # all is kept
        shown = [lines(request.payload["messages"]) for request in model.requests]
        assert all(len(one) <= 5 and one == list(range(one[0], n + 1)) for n, one in enumerate(shown))
        assert len({one[0] for one in shown}) < 20  # the beginning stays the same for several turns

    run(talk)


def test_tokens_can_be_limited_too() -> None:
    async def talk() -> None:
        model = Scripted(lambda sent: "Well.")
        async with Node() as node:
            agent = await Agent.start(node=node, model=model, max_tokens_in_short_term_memory=300)
            for n in range(30):
                await agent.send(f"line {n}. " + "word " * 50)
        shown = [lines(request.payload["messages"]) for request in model.requests]
        assert all(len(one) <= 6 and one[-1] == n for n, one in enumerate(shown))

    run(talk)


def test_what_has_no_effect_here_is_taken_and_told(caplog: pytest.LogCaptureFixture) -> None:
    async def talk() -> None:
        async with Node() as node:
            await Agent.start(
                node=node,
                model=Scripted(echo),
                voice={"voice": "alloy"},
                exposed_as="helper",
                subagent_runner_filter="runner",
                timeout=5.0,
                enable_long_term_memory=True,
            )

    with caplog.at_level(logging.WARNING, "quire.bridges.autonomy"):
        run(talk)
    assert [record.args for record in caplog.records] == [
        ("voice",),
        ("exposed_as",),
        ("subagent_runner_filter",),
    ]


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({"node": "here"}, TypeError),
        ({"model": 7}, TypeError),
        ({"model": Clerk()}, TypeError),
        ({"instructions": 7}, TypeError),
        ({"colour": "red"}, TypeError),
        ({"enable_filesystem": True, "filesystem_visibility": "moon"}, ValueError),
        ({"max_iterations": 0}, ValueError),
        ({"max_messages_in_short_term_memory": 0}, ValueError),
        ({"max_tokens_in_short_term_memory": "many"}, TypeError),
        ({"subagents": {"clerk": {}}}, ValueError),
        ({"subagents": {"clerk": {"instructions": " "}}}, ValueError),
        ({"subagents": {"clerk": {"instructions": 7}}}, TypeError),
    ],
)
def test_what_is_wrong_is_said_when_the_agent_is_started(wrong: Any, fault: type[Exception]) -> None:
    async def talk() -> None:
        async with Node() as node:
            with pytest.raises(fault):
                await Agent.start(**({"node": node, "model": Scripted(echo)} | wrong))
            assert node.agents == ()

    run(talk)
