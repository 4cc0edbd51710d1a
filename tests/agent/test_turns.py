"""A turn: what is recorded, what the model is sent, the stream, the public verbs and their errors."""

import asyncio
from threading import Event
from typing import Any

import pytest

from quire import Message
from quire.agent import Agent, TextDelta, TurnEnded, tool
from quire.context import Context, Template
from quire.errors import ModelFailed
from quire.items import Image
from quire.models import Scripted
from quire.session import Called, Calling, Hook, Replied, Replying, Requested, Requesting
from quire.stores import MemoryStore
from tests.agent.answering import add, agent_of, assert_whole, call, requests, results, said


@tool
async def fail() -> str:
    raise LookupError("no such page")


@tool(timeout=0.05)
async def hang() -> str:
    await asyncio.Event().wait()
    return ""


@pytest.mark.parametrize(
    ("made", "told", "fault"),
    [
        (call("nobody"), "there is no tool 'nobody'; the tools are: add, fail, hang", None),
        (call("add", '{"a": "x", "b": 2}'), "a: ", "error"),
        (call("add", '{"a": 1, "b'), "not JSON", "error"),
        (call("fail"), "LookupError: no such page", "LookupError"),
        (call("hang"), "0.05 seconds", "timeout"),
    ],
)
async def test_the_model_reads_what_goes_wrong_with_a_call(made: Any, told: str, fault: str | None) -> None:
    heard: list[Called] = []
    agent = agent_of(made, "Oh.", tools=[add, fail, hang], hooks=[Hook(heard.append, (Called,))])
    assert (await agent.ask("go")).text == "Oh."
    assert [event.fault for event in heard] == ([fault] if fault else [])  # an unknown tool is not called
    assert results(agent)[0].is_error and told in results(agent)[0].text
    assert_whole(agent)


@pytest.mark.parametrize(("kind", "verb"), [(Template, "fit"), (Context, "render")])
async def test_a_long_history_is_fitted_and_rendered_beside_the_event_loop(
    kind: type, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on, went_on, work = Event(), Event(), list[bool](), getattr(kind, verb)

    def work_slowly(*args: Any, **options: Any) -> Any:
        begun.set()
        went_on.append(goes_on.wait(60))
        return work(*args, **options)

    agent = agent_of("Well.")
    agent.session.append(*(Message("user", f"message {number}") for number in range(2_000)))
    monkeypatch.setattr(kind, verb, work_slowly)
    asking = asyncio.create_task(agent.ask("go"))
    assert await asyncio.to_thread(begun.wait, 60)
    goes_on.set()
    assert (await asking).text == "Well." and all(went_on)


async def test_a_slow_reader_is_waited_for() -> None:
    agent = agent_of("word " * 2_000, "Next.")
    stream = agent.stream("go")
    await anext(stream)
    for _ in range(20_000):
        await asyncio.sleep(0)
    assert said(agent) == ["go"]  # the answer is not complete, because it is not read
    assert [delta async for delta in stream][-1].reply.stop == "done"  # type: ignore[union-attr]


async def test_a_failed_turn_keeps_the_question_and_can_be_resumed() -> None:
    agent = agent_of(call("add", '{"a": 1, "b": 2}'), ModelFailed("down"), "Three.", tools=[add])
    with pytest.raises(ModelFailed) as caught:
        await agent.ask("1 + 2?")
    assert caught.value.has_acted is True  # type: ignore[attr-defined]  # a tool ran before it failed
    assert (await agent.resume()).text == "Three." and len(results(agent)) == 1
    assert (await agent.resume()).text == "Three."  # a complete answer is not asked for again
    assert len(requests(agent)) == 3
    deltas = [delta async for delta in agent.resume_stream()]
    assert deltas[0] == TextDelta("Three.") and isinstance(deltas[-1], TurnEnded)


async def test_a_call_that_a_hook_refuses_is_not_run() -> None:
    def refuse(event: Calling) -> None:
        if event.name == "fail":
            raise PermissionError("secret")

    heard: list[Called] = []
    hooks = [Hook(refuse, (Calling,)), Hook(heard.append, (Called,))]
    agent = agent_of([call("add", '{"a": 1, "b": 2}'), call("fail")], "Done.", tools=[add, fail], hooks=hooks)
    await agent.ask("go")
    told = {one.name: one.text for one in results(agent)}
    assert told == {"add": "3", "fail": "This was not run: a hook refused it: PermissionError."}
    assert [event.name for event in heard] == ["add"]


async def test_hooks_hear_of_turns_and_requests_and_may_refuse_them() -> None:
    heard: list[Any] = []
    events = (Replying, Replied, Requesting, Requested)
    agent = agent_of("Fine.", ModelFailed("down"), hooks=[Hook(heard.append, events)])
    reply = await agent.ask("How are you?")
    began, asking, asked, ended = heard
    assert began == (agent.session.place, "agent")
    assert [item.text for item in asking.items] == ["Be brief.", "How are you?"]
    assert asked.answer.items == reply.items and (asked.retries, asked.fault) == ((), None)
    assert ended == (agent.session.place, "agent", reply.usage, "done", None)
    with pytest.raises(ModelFailed):
        await agent.ask("And now?")
    assert heard[-2].fault == "ModelFailed" and heard[-1][3:] == (None, "ModelFailed")


@pytest.mark.parametrize(("event", "kept"), [(Replying, []), (Requesting, ["hello"])])
async def test_a_turn_or_a_request_that_a_hook_refuses_is_not_begun(event: type, kept: list[str]) -> None:
    def refuse(_: Any) -> None:
        raise PermissionError

    agent = agent_of("Never.", hooks=[Hook(refuse, (event,))])
    with pytest.raises(PermissionError):
        await agent.ask("hello")
    assert said(agent) == kept and len(requests(agent)) == 0 and len(agent.session.receipts) == 0


def test_plain_verbs_work_without_and_within_a_loop() -> None:
    @tool(approve=True)
    async def pay() -> str:
        return "paid"

    agent = agent_of(call("pay"), "Paid.", "Hello.", tools=[pay])

    async def notebook() -> None:
        assert agent.ask_sync("pay").stop == "waiting"
        assert agent.decide_sync({"call_pay": True}).text == "Paid."

    asyncio.run(notebook())
    assert agent.resume_sync().text == "Paid."
    assert "Paid." in str(agent.preview_sync().render("openai").payload)


async def test_a_question_may_have_parts_and_agents_of_instructions_share_nothing() -> None:
    one, other = (Agent(instructions="Be brief.", model=Scripted(["Seen."])) for _ in range(2))
    picture = Image(media_type="image/png", data=b"\x89PNG")
    assert (await one.ask(["Look:", picture])).text == "Seen."
    assert len(other.session.view()) == 0


def test_a_tool_that_asks_its_own_conversation_or_plainly_gets_an_error_and_waits_for_nobody() -> None:
    store = MemoryStore()

    @tool
    async def nested() -> str:
        return str(await agent_of("x", store=store).ask("hm"))

    @tool
    async def plain() -> str:
        """Ask another without awaiting it."""
        return str(agent_of("x").ask_sync("hi"))

    agent = agent_of([call("nested"), call("plain")], "Oh.", tools=[nested, plain], store=store)
    assert str(agent.ask_sync("go")) == "Oh." and said(agent) == ["go", "Oh."]
    first, second = results(agent)
    assert "InvalidValue: a tool or hook cannot ask" in first.text and "_sync" in second.text
