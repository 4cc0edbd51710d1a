"""OpenAI Agents with a session of Quire: what is kept, what is sent, and what a crash leaves."""

# pyright: basic

import asyncio
import json
import re
from itertools import count
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from hypothesis import example, given, strategies as st

from quire import Budget, Session, Template
from quire.compactors import Summarize
from quire.errors import InvalidValue
from quire.items import Summary
from quire.models import Scripted
from quire.providers import check
from quire.sections import History
from quire.session import find_items
from quire.stores import MemoryStore
from tests.integrations.killed import die, run_killed
from tests.integrations.owners import NEEDS_OWNERS, run_tests, source
from tests.providers.replies import Call, Reply, whole

pytest.importorskip("agents", reason="openai-agents is not installed")

from agents import (
    Agent,
    GuardrailFunctionOutput,
    HandoffInputData,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    SQLiteSession,
    function_tool,
    handoff,
    output_guardrail,
    set_tracing_disabled,
)
from agents.extensions.handoff_filters import remove_all_tools
from agents.models.fake_id import FAKE_RESPONSES_ID
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from agents.usage import Usage
from openai import AsyncOpenAI
from openai.types.responses import ResponseReasoningItem
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

from quire.integrations.openai_agents import QuireSession

set_tracing_disabled(True)
Json = dict[str, Any]


def user(text: str) -> Json:
    return {"content": text, "role": "user"}


def called(call_id: str, kind: str = "function_call") -> Json:
    made = {"call_id": call_id, "name": "look_up", "type": kind, "id": f"fc_{call_id}"}
    return {"arguments": '{"order": 7}', **made}


def found(call_id: str, text: str = "It left on Monday.") -> Json:
    return {"call_id": call_id, "output": text, "type": "function_call_output"}


def answered(text: str) -> Json:
    content = [{"annotations": [], "text": text, "type": "output_text", "logprobs": []}]
    return {"id": "msg_1", "content": content, "role": "assistant", "status": "completed", "type": "message"}


_IMAGE = {"type": "input_image", "image_url": f"data:image/png;base64,{'iVBORw0K' * 9}", "detail": "auto"}
_SUMMARY = [{"text": "I look it up first.", "type": "summary_text"}]
_OUTCOME = {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
_SEARCH = {"type": "search", "query": "order 7"}

NATIVE: list[Json] = [
    user("Where is order 7?"),
    {"role": "user", "content": "Where is order 7, which I placed on the first of May?"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "— “quoted” § \ud83d"}]},
    {"role": "user", "content": [_IMAGE]},
    {"role": "developer", "content": ""},
    answered("It left on Monday, and is expected on Thursday."),
    {"id": "msg_2", "role": "assistant", "content": [], "status": "completed", "type": "message"},
    {"id": "rs_1", "summary": _SUMMARY, "type": "reasoning", "encrypted_content": "gAAAA" * 40},
    called("c1"),
    found("c1"),
    found("c1") | {"output": [{"type": "input_text", "text": "It left on Monday."}]},
    {"type": "custom_tool_call", "call_id": "c2", "name": "shell", "input": "ls -l"},
    {"type": "custom_tool_call_output", "call_id": "c2", "output": "total 0"},
    {"type": "shell_call", "call_id": "c3", "action": {"commands": ["ls"]}, "status": "completed"},
    {"type": "shell_call_output", "call_id": "c3", "output": [_OUTCOME]},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": _SEARCH},
    {"type": "mcp_approval_response", "approval_request_id": "r1", "approve": True},
    {"type": "item_reference", "id": "msg_1"},
    {"type": "of a later version", "fields": {"$bytes": "AA==", "n": 1.5, "none": None}},
]


def session_of(store: Any, window: int = 32_000, **options: Any) -> QuireSession:
    return QuireSession("support-7", window, store, **options)


def run(session: Any, agent: Agent[Any], text: Any, streamed: bool = False, **config: Any) -> Any:
    """One run with the session and, if it is ours, its filter and its hooks."""
    given: Any = {"session": session}
    if isinstance(session, QuireSession):
        fitting = RunConfig(call_model_input_filter=session.context_filter, **config)
        given |= {"hooks": session, "run_config": fitting}

    async def ask() -> Any:
        if not streamed:
            return await Runner.run(agent, text, **given)
        result = Runner.run_streamed(agent, text, **given)
        async for _ in result.stream_events():
            pass
        return result

    return asyncio.run(ask())


def items_of(session: Any, limit: int | None = None) -> Any:
    return asyncio.run(session.get_items(limit))


def without_ids(items: list[Json]) -> list[Json]:
    return [{name: value for name, value in item.items() if name != "id"} for item in items]


def add(session: QuireSession, *items: Json) -> None:
    asyncio.run(session.add_items(cast(Any, list(items))))


def pop(session: Any) -> Any:
    return asyncio.run(session.pop_item())


def sent(model: ScriptedModel, number: int = -1) -> list[Json]:
    """The items of a request, which a provider would take; the SDK does not send its placeholder for ids."""
    items = cast("list[Json]", model.calls[number].input)
    items = [*(without_ids([item])[0] if item.get("id") == FAKE_RESPONSES_ID else item for item in items)]
    assert not list(check({"model": "gpt-5.6", "input": items}, "openai-responses"))
    return items


@function_tool
def look_up(order: int) -> str:
    """Look an order up."""
    return "It left on Monday."


def call(call_id: str, name: str = "look_up", **arguments: Any) -> Any:
    return function_call(name, arguments or {"order": 7}, call_id=call_id)


def agent_with(*steps: Any, **fields: Any) -> tuple[Agent[Any], ScriptedModel]:
    model = ScriptedModel([[one] if not isinstance(one, list | ModelStep) else one for one in steps])
    return Agent(**{"name": "Support", "model": model, "tools": [look_up], **fields}), model


# What is kept


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.laws
@given(st.dictionaries(st.sampled_from(["type", "role", "content", "call_id", "output"]) | st.text(), _JSON))
def test_anything_comes_back_byte_for_byte(native: Json) -> None:
    store = MemoryStore()
    add(session_of(store), native, *NATIVE)
    assert json.dumps(items_of(session_of(store))) == json.dumps([native, *NATIVE])


_OPERATION = st.one_of(
    st.lists(st.sampled_from([*NATIVE, called("c9")]), min_size=1, max_size=4),
    st.integers(1, 5).map(lambda count: ("pop", count)),
    st.sampled_from(["clear", "reopen"]),
)


@pytest.mark.laws
@given(st.lists(_OPERATION, max_size=8))
@example([[*NATIVE[:1], user("And 8?")], ("pop", 2), "reopen", [*NATIVE[:1], user("And 8?")], "reopen"])
def test_a_session_is_a_list_and_its_log_only_grows(operations: list[Any]) -> None:
    store, expected = MemoryStore(), list[Json]()
    session, recorded = session_of(store), 0
    for operation in operations:
        if operation == "clear":
            asyncio.run(session.clear_session())
            expected = []
        elif operation == "reopen":
            session = session_of(store)
        elif isinstance(operation, tuple):
            for _ in range(operation[1]):
                assert pop(session) == (expected.pop() if expected else None)
        else:
            add(session, *operation)
            expected += operation
        assert json.dumps(items_of(session)) == json.dumps(expected)
        assert items_of(session, 2) == expected[-2:]
        log = session.conversation.view().recorded()
        assert len(log) >= recorded
        recorded = len(log)


def test_what_is_forgotten_does_not_come_back() -> None:
    session = session_of("memory:")
    agent, model = agent_with(assistant_message("I keep it."), assistant_message("Hello."))
    run(session, agent, "My password is swordfish.")
    session.conversation.forget(*find_items(session.conversation, "swordfish"))
    assert "swordfish" not in json.dumps(items_of(session))
    run(session, agent, "Hello?")
    assert "swordfish" not in json.dumps(sent(model))
    assert not find_items(session.conversation, "swordfish")


# Runs


@pytest.mark.parametrize("streamed", [False, True])
def test_a_run_is_recorded_once_with_receipts_and_spending(streamed: bool, tmp_path: Path) -> None:
    usage = Usage(
        requests=1,
        input_tokens=100,
        input_tokens_details=InputTokensDetails(cached_tokens=60, cache_write_tokens=0),
        output_tokens=10,
        output_tokens_details=OutputTokensDetails(reasoning_tokens=4),
        total_tokens=110,
    )
    thought = ResponseReasoningItem(id="rs_1", summary=[], type="reasoning", encrypted_content="gAAAA" * 20)
    steps = [[thought, call("c1"), call("c2")], [call("c3")], [assistant_message("It left on Monday.")]]
    agent, model = agent_with(*(ModelStep(output=step, usage=usage) for step in steps))
    session = session_of(tmp_path / "q.db")
    run(session, agent, "Where is order 7?", streamed)
    kinds = [one.get("type", one.get("role")) for one in items_of(session)]
    replies = ["reasoning", "function_call", "function_call", "function_call_output", "function_call_output"]
    assert kinds == ["user", *replies, "function_call", "function_call_output", "message"]
    assert without_ids(sent(model)) == without_ids(items_of(session)[:-1])
    reopened = session_of(tmp_path / "q.db").conversation
    assert len(reopened.view().recorded()) == len(kinds)
    assert len(reopened.receipts) == 3
    assert (reopened.spending.usage.input, reopened.spending.usage.cache_read) == (300, 180)


def told_anew(data: HandoffInputData) -> HandoffInputData:
    return data.clone(input_history=(user("Order 7: is it paid?"),), pre_handoff_items=(), new_items=())


def scenario(name: str) -> Agent[Any]:
    """An agent that is asked twice."""
    answers = assistant_message("On Monday."), assistant_message("You are welcome.")
    other, _ = agent_with(call("c2"), *answers, name="Billing")
    hands_over = call("c1", "transfer_to_billing")
    agents = {
        "hands over": agent_with(hands_over, answers[1], handoffs=[other]),
        "without tools": agent_with(
            hands_over, answers[1], handoffs=[handoff(other, input_filter=remove_all_tools)]
        ),
        "told anew": agent_with(hands_over, answers[1], handoffs=[handoff(other, input_filter=told_anew)]),
        "nested": agent_with(hands_over, answers[1], handoffs=[handoff(other, nest_handoff_history=True)]),
        "asks": agent_with(call("c1", "ask", input="Where?"), *answers, tools=[other.as_tool("ask", "Ask.")]),
    }
    return agents[name][0]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", ["hands over", "without tools", "told anew", "nested", "asks"])
def test_a_session_has_what_the_sdks_own_session_has(name: str, streamed: bool) -> None:
    ours, theirs = session_of("memory:"), SQLiteSession("support-7")
    for session in (ours, theirs):
        agent = scenario(name)
        run(session, agent, "Where is order 7?", streamed)
        run(session, agent, [user("Thank you."), user("Bye.")], streamed)
    assert items_of(ours) == items_of(theirs)


_TURN = st.one_of(
    st.tuples(st.lists(st.integers(1, 3), max_size=2), st.booleans()),
    st.integers(1, 4),
    st.sampled_from(["clear", "reopen"]),
)


@pytest.mark.laws
@given(st.lists(_TURN, max_size=6))
def test_whatever_happens_the_list_is_that_of_the_sdks_own_session(turns: list[Any]) -> None:
    store, names = MemoryStore(), count()
    ours, theirs = session_of(store), SQLiteSession("support-7")
    for turn in turns:
        if turn == "clear":
            asyncio.run(ours.clear_session())
            asyncio.run(theirs.clear_session())
        elif turn == "reopen":
            ours = session_of(store)
        elif isinstance(turn, int):
            assert [pop(ours) for _ in range(turn)] == [pop(theirs) for _ in range(turn)]
        else:
            replies, streamed = turn
            steps = [[call(f"c{next(names)}") for _ in range(calls)] for calls in replies]
            for session in (ours, theirs):
                agent, model = agent_with(*steps, assistant_message(f"Answer {len(steps)}."))
                run(session, agent, "Where is order 7?", streamed)
                if session is ours:
                    assert all(sent(model, number) for number in range(len(steps) + 1))
        assert items_of(ours) == items_of(theirs)
    theirs.close()


@pytest.mark.parametrize("streamed", [False, True])
def test_reasoning_without_ids_is_recorded_as_the_runner_saves_it(streamed: bool) -> None:
    thought = ResponseReasoningItem(id="rs_1", summary=[], type="reasoning", encrypted_content="gAAAA" * 20)
    agent, model = agent_with([thought, call("c1")], assistant_message("On Monday."))
    session = session_of("memory:")
    run(session, agent, "Where is order 7?", streamed, reasoning_item_id_policy="omit")
    reasoning = [one for one in items_of(session) if one.get("type") == "reasoning"]
    assert [one.get("id") for one in reasoning] == [None]
    assert without_ids(sent(model)) == without_ids(items_of(session)[:-1])


def test_an_output_without_room_is_sent_as_a_stub_that_can_be_read_back() -> None:
    session = session_of("memory:", window=6_000)
    whole = "\n".join(f"row {number}: nothing of interest" for number in range(5_000))

    @function_tool
    def export() -> str:
        """Export all orders."""
        return whole

    def read(asked: Any) -> Any:
        handle = asked.input[-1]["output"].split("kept as ")[1].split(",")[0]
        return [function_call("read_back", {"handle": handle, "start": 0}, call_id="c2")]

    steps = [call("c1", "export"), ModelStep.respond(read), assistant_message("Nothing of interest.")]
    agent, model = agent_with(*steps, tools=[export, session.read_back])
    run(session, agent, "What is in the export?")
    assert "read_back brings it back" in sent(model, 1)[-1]["output"]
    assert sent(model)[-1]["output"].startswith("row 0: nothing of interest")
    assert items_of(session)[2]["output"] == whole


def test_a_compaction_changes_what_is_sent_and_not_what_is_kept() -> None:
    writer = Scripted(["They spoke of many orders."])
    session = session_of("memory:", compactor=Summarize(floor=2, ceiling=100), model=writer)
    agent, model = agent_with(*(assistant_message(f"Answer {number}.") for number in range(5)))
    for number in range(4):
        run(session, agent, f"Question {number}?")
    before = items_of(session)
    asyncio.run(session.run_compaction())
    assert items_of(session) == before
    assert any(isinstance(item, Summary) for item in session.conversation.view())
    run(session, agent, "And now?")
    assert "They spoke of many orders." in sent(model)[0]["content"]
    assert sent(model)[-1]["content"] == "And now?"
    assert items_of(session)[: len(before)] == before


def test_a_limit_holds_for_the_request_and_not_for_the_store() -> None:
    session = session_of("memory:", session_settings={"limit": 2})
    agent, model = agent_with(*map(assistant_message, ("One.", "Two.", "Three.")))
    for text in ("First?", "Second?", "Third?"):
        run(session, agent, text)
    assert [one["role"] for one in sent(model)] == ["user", "assistant", "user"]
    assert len(items_of(session, 100)) == 6


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_that_a_guardrail_blocks_is_not_kept(streamed: bool) -> None:
    @output_guardrail
    def refuse(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    session = session_of("memory:")
    agent, _ = agent_with(call("c1"), assistant_message("a secret"), output_guardrails=[refuse])
    with pytest.raises(OutputGuardrailTripwireTriggered):
        run(session, agent, "Where is order 7?", streamed)
    assert "a secret" not in json.dumps(items_of(session))
    assert session.conversation.spending.requests == 2


class Named(ScriptedModel):
    """A model that has a name, as the SDK's own have."""

    model = "gpt-5.6"


@pytest.mark.parametrize("given", ["name", "object", "default", "template"])
def test_spending_has_the_price_of_the_model(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_DEFAULT_MODEL", "gpt-5.6")
    used = Usage(requests=1, input_tokens=100, output_tokens=10, total_tokens=110)
    scripted = Named([ModelStep(output=[assistant_message("Hello.")], usage=used)])
    named: Json = {"name": "gpt-5.6", "object": scripted, "default": None, "template": "a model of ours"}
    template = Template(
        History(), budget=Budget(window=8_000), model="gpt-5.6" if given == "template" else None
    )
    session = QuireSession("support-7", template, "memory:")
    agent = Agent(name="Support", model=named[given])
    asked: Json = {} if given == "object" else {"model": scripted}
    run(session, agent, "Good morning.", **asked)
    assert session.conversation.spending.cost > 0
    assert not session.conversation.spending.unpriced


@pytest.mark.parametrize("kind", [OpenAIChatCompletionsModel, OpenAIResponsesModel])
def test_both_models_of_the_sdk_take_what_is_sent(kind: Any) -> None:
    requests: list[Json] = []

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        requests.append(body)
        last = (body.get("messages") or body["input"])[-1]
        reply = Reply(calls=(Call(f"c{len(requests)}", "look_up", {"order": 7}),))
        if last.get("role") == "tool" or last.get("type") == "function_call_output":
            reply = Reply(text="On Monday.")
        wire = "openai" if "messages" in body else "openai-responses"
        body = json.dumps({"id": "r", "created_at": 1, **whole(wire, reply)})
        return httpx.Response(200, json=json.loads(body.replace("msg_1", f"msg_{len(requests)}")))

    http: Any = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    client = AsyncOpenAI(api_key="none", http_client=http)
    other = OpenAIResponsesModel if kind is OpenAIChatCompletionsModel else OpenAIChatCompletionsModel
    session = session_of("memory:")
    for model in (kind, kind, other, kind):
        agent = Agent(name="Support", model=model("gpt-5.6", client), tools=[look_up])
        assert run(session, agent, "Where is order 7?").final_output == "On Monday."
        add(session, called(f"lost-{len(requests)}"))
    for request in requests:
        assert not list(check(request, "openai" if "messages" in request else "openai-responses"))
    assert json.dumps(requests[-1]).count("It is uncertain whether this was done") == 3


# Several agents


def test_a_hand_off_that_rewrites_the_history_is_a_conversation_of_its_own() -> None:
    billing, second = agent_with(call("c2"), assistant_message("It is paid."), name="Billing")
    agent, _ = agent_with(
        call("c1", "transfer_to_billing"), handoffs=[handoff(billing, input_filter=told_anew)]
    )
    store = MemoryStore()
    run(session_of(store), agent, "Is order 7 paid?")
    assert sent(second, 0) == [user("Order 7: is it paid?")]
    assert [one.get("call_id") for one in sent(second)] == [None, "c2", "c2"]
    assert items_of(session_of(store))[0] == user("Is order 7 paid?")
    assert len(Session.open(conversation="support-7/Billing", store=store).receipts) == 2


def test_an_agent_that_is_a_tool_has_a_conversation_of_its_own() -> None:
    helper, second = agent_with(assistant_message("It left on Monday."), name="Helper")
    tool = helper.as_tool("ask_helper", "Ask the helper.")
    agent, model = agent_with(
        call("c1", "ask_helper", input="Where is it?"), assistant_message("On Monday."), tools=[tool]
    )
    session = session_of("memory:")
    run(session, agent, "Where is order 7?")
    assert sent(second) == [user("Where is it?")]
    assert sent(model)[-1]["output"] == "It left on Monday."
    assert len(items_of(session)) == 4


# Crashes, and what cannot be fitted


def lose(path: str) -> None:
    """Ask an agent whose process is killed while it looks up the second order."""

    @function_tool
    def look_up(order: int) -> str:
        """Look an order up."""
        if order == 8:
            die()
        return "It left on Monday."

    agent, _ = agent_with(call("c7", order=7), call("c8", order=8), tools=[look_up])
    run(session_of(path), agent, "Where are orders 7 and 8?")


def test_an_agent_goes_on_after_its_process_was_killed(tmp_path: Path) -> None:
    run_killed(__name__, f"lose({str(tmp_path / 'q.db')!r})")
    session = session_of(tmp_path / "q.db")
    assert [one.get("call_id") for one in items_of(session)] == [None, "c7", "c7", "c8"]
    agent, model = agent_with(assistant_message("Order 7 left on Monday."))
    run(session, agent, "Are you there?")
    assert [one.get("call_id") for one in sent(model)] == [None, "c7", "c7", "c8", "c8", None]
    assert "It is uncertain whether this was done" in sent(model)[4]["output"]


def test_an_approval_that_another_process_gives_is_recorded_once(tmp_path: Path) -> None:
    @function_tool(needs_approval=True)
    def look_up(order: int) -> str:
        """Look an order up."""
        return "It left on Monday."

    agent, model = agent_with(call("c1"), assistant_message("On Monday."), tools=[look_up])
    first = run(session_of(tmp_path / "q.db"), agent, "Where is order 7?")
    state = first.to_state()
    state.approve(first.interruptions[0])
    session = session_of(tmp_path / "q.db")
    run(session, agent, state)
    assert [one.get("call_id") for one in items_of(session)] == [None, "c1", "c1", None]
    assert without_ids(sent(model)) == without_ids(items_of(session)[:-1])


def test_a_history_that_the_server_holds_is_refused() -> None:
    session = session_of("memory:")
    agent, _ = agent_with(assistant_message("Hello."))
    config = RunConfig(call_model_input_filter=session.context_filter)
    with pytest.raises(InvalidValue, match="previous_response_id"):
        asyncio.run(Runner.run(agent, "Hello?", previous_response_id="resp_1", run_config=config))


def test_a_filter_without_a_window_is_refused() -> None:
    agent, _ = agent_with(assistant_message("Hello."))
    with pytest.raises(InvalidValue, match="QuireSession\\(session_id, 128_000\\)"):
        run(QuireSession("support-7", store="memory:"), agent, "Hello?")


def test_a_session_that_would_not_give_back_what_was_added_is_refused() -> None:
    with pytest.raises(InvalidValue, match="redact"):
        QuireSession("support-7", store="memory:", redact=lambda item: item)


@NEEDS_OWNERS
def test_the_owners_tests_pass() -> None:
    root = source("openai-agents")
    paths = [*root.glob("tests/test_*.py"), *root.glob("tests/memory/test_*.py")]
    chosen = [str(path) for path in paths if "SQLiteSession(" in path.read_text()]
    passed = re.search(r"(\d+) passed", run_tests(root, "-p", "openai_agents_owners", *chosen))
    assert passed is not None and int(passed[1]) > 200
