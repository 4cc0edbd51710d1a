"""The loop: ask, act, and again; whatever breaks it off leaves a history that every provider takes."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from quire import Budget, Message, Note, Session, Template, ToolResult
from quire.agent import Agent, Began, Done, Ended, Limits, Recorded, Words, tool
from quire.compactors import TruncateOldest
from quire.errors import InvalidValue, ModelFailed, WindowExceeded, WrongType
from quire.models import Scripted
from quire.sections import History
from quire.session import Called, Calling, hook
from quire.stores import MemoryStore
from tests.agent.answering import Gate, agent_of, assert_whole, call, results, run


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail(why: str) -> str:
    """Fail."""
    raise LookupError(why)


def test_a_question_is_answered_and_both_are_on_the_record() -> None:
    async def talk() -> None:
        agent = agent_of("Hello, Ana.")
        reply = await agent.ask("Hi!")
        assert str(reply) == reply.text == "Hello, Ana." and reply.stop == "done"
        assert [item.text for item in agent.session.view() if isinstance(item, Message)] == [
            "Hi!",
            "Hello, Ana.",
        ]
        assert reply.usage.input > 0 and reply.usage.output > 0

    run(talk)


def test_what_is_called_is_run_and_the_model_sees_the_result() -> None:
    async def talk() -> None:
        agent = agent_of(call("add", '{"a": 1, "b": 2}'), "Three.", tools=[add])
        reply = await agent.ask("1 + 2?")
        assert reply.text == "Three." and [one.content for one in results(agent)] == ["3"]
        sent = agent.model.requests[-1].payload["messages"]  # type: ignore[attr-defined]
        assert sent[-1]["role"] == "tool" and sent[-1]["content"] == "3"
        assert_whole(agent)

    run(talk)


def test_what_goes_wrong_with_a_tool_is_told_to_the_model() -> None:
    async def talk() -> None:
        calls = [
            call("fail", '{"why": "no such row"}', "c1"),
            call("add", '{"a": 1, "b": ', "c2"),
            call("add", '{"a": "x", "b": 1}', "c3"),
            call("nobody", "{}", "c4"),
        ]
        agent = agent_of(calls, "Oh.", tools=[add, fail])
        assert (await agent.ask("try")).text == "Oh."
        told = {one.call_id: one.text for one in results(agent)}
        assert all(one.is_error for one in results(agent))
        assert "no such row" in told["c1"] and "JSON" in told["c2"] and "a" in told["c3"]
        assert "no tool 'nobody'" in told["c4"] and "add, fail" in told["c4"]
        assert_whole(agent)

    run(talk)


def test_calls_run_side_by_side_and_are_recorded_in_order() -> None:
    async def talk() -> None:
        slow, quick = Gate("slow"), Gate("quick")
        quick.go.set()
        agent = agent_of([call("slow"), call("quick")], "Both.", tools=[slow.tool, quick.tool])
        asking = asyncio.create_task(agent.ask("both"))
        await slow.begun.wait()
        while [how for _, how in agent.session.steps.standing()] != ["begun", "held"]:
            await asyncio.sleep(0)
        assert [standing for _, standing in agent.session.steps.standing()] == ["begun", "held"]
        slow.go.set()
        await asking
        assert [one.name for one in results(agent)] == ["slow", "quick"]
        recorded = [item for item in agent.session.view().recorded() if isinstance(item, ToolResult)]
        assert [one.name for one in recorded] == ["slow", "quick"]
        assert_whole(agent)

    run(talk)


def test_a_stream_tells_words_calls_results_and_the_reply() -> None:
    async def talk() -> None:
        agent = agent_of(call("add", '{"a": 1, "b": 2}'), "It is three.", tools=[add])
        deltas = [delta async for delta in agent.stream("1 + 2?")]
        kinds = [type(delta) for delta in deltas]
        assert kinds[:3] == [Recorded, Began, Ended] and kinds[-1] is Done
        assert "".join(delta.text for delta in deltas if isinstance(delta, Words)) == "It is three."
        assert isinstance(deltas[-1], Done) and deltas[-1].reply.text == "It is three."

    run(talk)


def test_a_listener_that_is_slow_is_waited_for() -> None:
    async def talk() -> None:
        agent = agent_of("word " * 500)
        stream = agent.stream("go on")
        await anext(stream)
        for _ in range(200):
            await asyncio.sleep(0)
        assert len(agent.session.view()) == 1  # the answer is not whole: nobody has read it
        rest = [delta async for delta in stream]
        assert isinstance(rest[-1], Done) and len(agent.session.view()) == 2

    run(talk)


def test_who_stops_listening_stops_the_answer_and_what_came_is_kept() -> None:
    async def talk() -> None:
        agent = agent_of("word " * 500, "Later.")
        stream = agent.stream("go on")
        await anext(stream)
        await stream.aclose()
        said = agent.session.view()[-1]
        assert isinstance(said, Message) and said.interrupted and said.text.startswith("word")
        assert (await agent.ask("and?")).text == "Later."
        assert_whole(agent)

    run(talk)


def test_a_new_message_interrupts_what_is_running() -> None:
    async def talk() -> None:
        gate = Gate()
        agent = agent_of(call("gate"), "Second.", tools=[gate.tool])
        first = asyncio.create_task(agent.ask("first"))
        await gate.begun.wait()
        second = await agent.ask("second")
        assert second.text == "Second." and (await first).stop == "interrupted"
        [result] = results(agent)
        assert result.is_error and result.extras["uncertain"] is True
        assert_whole(agent)

    run(talk)


def test_who_cancels_a_question_leaves_nothing_half_done() -> None:
    async def talk() -> None:
        gate = Gate()
        agent = agent_of([call("gate"), call("add", '{"a": 1, "b": 2}')], "Later.", tools=[gate.tool, add])
        asking = asyncio.create_task(agent.ask("go"))
        await gate.begun.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert [one.is_error for one in results(agent)] == [True, False]
        assert_whole(agent)
        assert (await agent.ask("again")).text == "Later."

    run(talk)


def test_three_who_ask_at_once_are_answered_one_after_the_other() -> None:
    async def talk() -> None:
        agent = agent_of(*["Yes."] * 9)
        replies = await asyncio.gather(*(agent.ask(f"question {n}") for n in range(3)))
        assert replies[-1].stop == "done" and {one.stop for one in replies} <= {"done", "interrupted"}
        assert_whole(agent)

    run(talk)


@pytest.mark.parametrize(
    ("limits", "stop"),
    [(Limits(requests=2), "requests"), (Limits(calls=1), "calls"), (Limits(seconds=0.05), "seconds")],
)
def test_limits_stop_a_loop_that_would_go_on(limits: Limits, stop: str) -> None:
    async def talk() -> None:
        def again(_: Any) -> Any:
            return [call("nap", "{}", f"c{len(agent.session.view())}")]

        @tool
        async def nap() -> str:
            """Sleep a little."""
            await asyncio.sleep(0.01)
            return "slept"

        session = Session.open(store=MemoryStore())
        agent = Agent(session, model=Scripted([again] * 50), tools=[nap], limits=limits)
        reply = await agent.ask("go on")
        assert reply.stop == stop
        assert_whole(agent)

    run(talk)


def test_a_limit_on_money_stops_before_the_next_request() -> None:
    async def talk() -> None:
        calls = [call("add", '{"a": 1, "b": 2}', f"c{n}") for n in range(5)]
        session = Session.open(store=MemoryStore())
        model = Scripted(calls, name="gpt-5.6")
        agent = Agent(session, model=model, tools=[add], limits=Limits(cost=1e-9))
        reply = await agent.ask("add")
        assert reply.stop == "cost" and len(model.requests) == 1 and reply.cost > 0
        assert_whole(agent)

    run(talk)


def test_a_window_that_is_exceeded_is_made_smaller() -> None:
    async def talk() -> None:
        session = Session.open(store=MemoryStore())
        for n in range(200):
            session.user(f"question {n} " + "word " * 20)
            session.assistant(f"answer {n}")
        model = Scripted([WindowExceeded("too long"), "Fine."])
        template = Template(History(), budget=Budget(window=4_000, reserve=500))
        agent = Agent(session, template, model=model, compactor=TruncateOldest())
        assert (await agent.ask("and now?")).text == "Fine."
        first, second = (len(one.payload["messages"]) for one in model.requests)
        assert second < first

    run(talk)


@pytest.mark.parametrize("turns", [0, 30])
def test_a_window_that_stays_too_small_is_an_error(turns: int) -> None:
    async def talk() -> None:
        full = WindowExceeded("too long")
        agent = agent_of(*[full] * (6 if turns else 1), "Fine.")
        for n in range(turns):
            agent.session.user(f"question {n} " + "word " * 20)
            agent.session.assistant(f"answer {n}")
        with pytest.raises(WindowExceeded):
            await agent.ask("hello")
        assert (await agent.ask("again")).text == "Fine."
        assert_whole(agent)

    run(talk)


def test_a_model_that_fails_leaves_the_question_on_the_record() -> None:
    async def talk() -> None:
        agent = agent_of(ModelFailed("down"), "Here.")
        with pytest.raises(ModelFailed):
            await agent.ask("hello")
        assert [item.text for item in agent.session.view() if isinstance(item, Message)] == ["hello"]
        assert (await agent.resume()).text == "Here."

    run(talk)


def test_nothing_is_resumed_where_the_answer_is_whole() -> None:
    async def talk() -> None:
        agent = agent_of("All said.")
        await agent.ask("hello")
        assert (await agent.resume()).text == "All said."
        assert len(agent.session.view()) == 2

    run(talk)


@dataclass
class Report:
    """What is asked for."""

    title: str
    pages: int


def test_an_answer_can_be_a_value_and_is_asked_for_again_where_it_is_none() -> None:
    async def talk() -> None:
        agent = agent_of("Sure!", '```json\n{"title": "Q3", "pages": "4"}\n```')
        reply = await agent.ask("Report on Q3.", output=Report)
        assert reply.output == Report("Q3", 4)
        told = [item for item in agent.session.view() if isinstance(item, Message)][2]
        assert "JSON" in told.text and told.extras["correction"] is True

    run(talk)


def test_values_that_are_no_objects_are_wrapped() -> None:
    async def talk() -> None:
        agent = agent_of('{"value": [1, 2]}')
        assert (await agent.ask("count", output=list[int])).output == [1, 2]

    run(talk)


@pytest.mark.parametrize(
    ("said", "kind", "value"),
    [
        ("[1, 2]", list[int], [1, 2]),
        ("```json\n3\n```", int, 3),
        ('{"a": 1}', dict[str, int], {"a": 1}),
        ('{"value": {"a": 1}}', dict[str, Any], {"a": 1}),
        ('{"value": 1}', dict[str, int], {"value": 1}),
    ],
)
def test_values_that_are_no_objects_may_come_as_they_are(said: str, kind: Any, value: Any) -> None:
    agent = agent_of(said)
    assert asyncio.run(agent.ask("count", output=kind)).output == value


def test_an_answer_that_never_fits_is_an_error() -> None:
    async def talk() -> None:
        agent = agent_of("no", "no", "no", "no")
        with pytest.raises(ModelFailed, match="Report"):
            await agent.ask("Report on Q3.", output=Report)
        assert len(agent.model.requests) == 3  # type: ignore[attr-defined]

    run(talk)


def test_notes_of_a_tool_go_to_the_pool_or_the_transcript() -> None:
    @tool
    async def fetch() -> list[Note]:
        """Fetch."""
        return [Note("figures", key="q3", description="Q3"), Note("aside")]

    async def talk() -> None:
        agent = agent_of(call("fetch"), "Kept.", tools=[fetch])
        await agent.ask("fetch")
        assert agent.session.pool["q3"].content == "figures"
        assert [item.content for item in agent.session.view() if isinstance(item, Note)] == ["aside"]
        assert "q3" in results(agent)[0].text
        assert_whole(agent)

    run(talk)


def test_hooks_hear_of_calls_and_may_refuse_them() -> None:
    heard: list[tuple[str, str | None]] = []

    @hook(Calling, name="loop_refuses_fail")
    def refuse(event: Calling) -> None:
        if event.name == "fail":
            raise PermissionError

    @hook(Called, name="loop_hears_called")
    async def hear(event: Called) -> None:
        heard.append((event.name, event.fault))

    async def talk() -> None:
        session = Session.open(store=MemoryStore(), hooks=[refuse, hear])
        calls = [call("fail", '{"why": "x"}'), call("add", '{"a": 1, "b": 2}')]
        agent = Agent(session, model=Scripted([calls, "Done."]), tools=[add, fail])
        await agent.ask("go")
        assert heard == [("add", None)] and "refused" in results(agent)[0].text

    run(talk)


def test_preview_shows_what_the_model_would_see_and_records_nothing() -> None:
    async def talk() -> None:
        agent = agent_of(tools=[add])
        agent.session.user("hello")
        version = agent.session.version
        context = await agent.preview()
        assert list(context.tokens) == ["instructions", "history"] and context.receipt.schemas > 0
        assert agent.session.version == version

    run(talk)


def test_what_is_no_question_is_refused() -> None:
    async def talk() -> None:
        agent = agent_of("x")
        with pytest.raises(WrongType):
            await agent.ask(5)  # type: ignore[arg-type]
        with pytest.raises(InvalidValue):
            await agent.ask("")
        with pytest.raises(InvalidValue):
            await agent.ask(Message("assistant", "I am you"))

    run(talk)


def test_an_agent_is_made_of_a_session_or_words() -> None:
    with pytest.raises(WrongType):
        Agent(5, model=Scripted([]))  # type: ignore[arg-type]
    for nobody in (None, 3, Scripted):
        with pytest.raises(WrongType, match="a model"):
            Agent("Be brief.", model=nobody)  # type: ignore[arg-type]
    template = Template(History(), budget=Budget(window=1_000))
    with pytest.raises(InvalidValue, match="section"):
        Agent("Be brief.", template, model=Scripted([]))


def test_agents_of_words_alone_do_not_share_a_conversation() -> None:
    one, other = Agent("A.", model=Scripted(["1"])), Agent("B.", model=Scripted(["2"]))
    assert str(one.ask_sync("hello")) == "1" and len(other.session.view()) == 0
