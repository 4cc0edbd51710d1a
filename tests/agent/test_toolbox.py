"""A toolbox: few definitions in each request, the same for the same record, and found when needed."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire import Agent, Budget, Session, Template, ToolCall
from quire.agent import Tool, Toolbox, tool
from quire.errors import InvalidLimit, InvalidValue
from quire.items import ToolResult
from quire.models import Scripted
from quire.providers import provider_for
from quire.sections import History, Instructions
from quire.stores import MemoryStore
from quire.tokens import counter_for, schema_tokens

COUNTER = counter_for("gpt-5.6")
TOKENS = 900
THINGS = ("hotel", "train", "invoice", "garden", "violin", "ladder", "kettle", "locker", "harbour", "quince")
DEEDS = ("book", "cancel", "describe", "repair")
NAMES = [f"{deed}_{thing}" for deed in DEEDS for thing in THINGS]
CLAUDE = "claude-sonnet-4-5"


def made(name: str) -> Tool:
    async def function(number: int = 0) -> str:
        return "done"

    deed, _, thing = name.partition("_")
    about = f"{deed.title()} a {thing} for somebody.\n{'Ask before you do it, and say what it costs. ' * 8}"
    return tool(function, name=name, description=about)


def boxed(tokens: int = TOKENS) -> Toolbox:
    return Toolbox([made(name) for name in NAMES], tokens=tokens)


def agent_of(session: Session, replies: Any, wire: str = "openai", name: str = "scripted") -> Agent:
    return Agent(session, model=Scripted(replies, wire=wire, name=name), tools=[boxed()])


def shown(agent: Agent) -> list[str]:
    return sorted(str(one["name"]) for one in agent.preview_sync().tools)


def text_in(item: Any) -> str:
    return str(getattr(item, "text", ""))


def payloads(agent: Agent) -> list[dict[str, Any]]:
    """What the model was sent."""
    model: Any = agent.model
    return [request.payload for request in model.requests]


def find(query: str, call_id: str = "c1") -> ToolCall:
    return ToolCall(call_id, "find_tools", json.dumps({"query": query}))


def test_a_model_finds_a_tool_and_calls_it() -> None:
    replies = [find("repair the old violin"), ToolCall("c2", "repair_violin"), "It sounds again."]
    agent = agent_of(Session.open(store=MemoryStore()), replies)
    assert "repair_violin" not in shown(agent) and "find_tools" in shown(agent)
    reply = agent.ask_sync("Book a train to the harbour.")
    assert str(reply) == "It sounds again."
    assert not any(one.is_error for one in reply.items if isinstance(one, ToolResult))
    assert {"repair_violin", "book_train", "find_tools"} <= set(shown(agent))  # found, and asked for at first
    (catalogue,) = (text for text in map(text_in, agent.preview_sync().items) if "- book_train" in text)
    assert all(f"- {name}" in catalogue for name in NAMES)


def test_a_call_of_no_tool_is_told_those_beside_the_box_and_the_search() -> None:
    agent = agent_of(Session.open(store=MemoryStore()), [ToolCall("c1", "nobody"), "Hm."])
    (result,) = (one for one in agent.ask_sync("Hello!").items if isinstance(one, ToolResult))
    assert str(result.content).endswith("there is no tool 'nobody'; the tools are: find_tools.")


def test_where_all_definitions_fit_there_is_nothing_to_search() -> None:
    agent = Agent(model=Scripted(["Hm."]), tools=[boxed(20_000)])
    context = agent.preview_sync()
    assert [one["name"] for one in context.tools] == NAMES and not context.items


@tool
def ring() -> str:
    return "ding"


ACTS = st.lists(
    st.one_of(
        st.lists(st.sampled_from(THINGS), min_size=1, max_size=2).map(" ".join).map(find),
        st.sampled_from([*NAMES, "ring"]).map(lambda name: ToolCall("c1", name)),
    ),
    max_size=12,
)


@pytest.mark.laws
@given(ACTS, st.sampled_from([("openai", "gpt-5.6"), ("anthropic", CLAUDE), ("gemini", "gemini-2.5-pro")]))
def test_the_same_record_shows_the_same_tools_within_the_tokens(
    acts: Sequence[ToolCall], model: tuple[str, str]
) -> None:
    store, (wire, name) = MemoryStore(), model
    session = Session.open("ana/one", store=store)
    script = Scripted([reply for act in acts for reply in (act, "Done.")], wire=wire, name=name)
    agent = Agent(session, model=script, tools=[ring, boxed()])
    for _ in acts:
        agent.ask_sync("Go on with the quince.")
    catalogue = COUNTER.count(agent.preview_sync().items[0])
    definitions = {one.name: one.definition for one in agent.tools}
    offered = [request.tools for request in script.requests]
    for names in offered:
        spent = schema_tokens([definitions[one] for one in names if one != "ring"], COUNTER)
        assert spent + catalogue <= TOKENS and "ring" in names
    for act, before, after in zip(acts, offered[::2], offered[1::2], strict=True):
        if act.name in before and act.name != "find_tools":
            assert after == before  # a call of a tool that is shown breaks no cache
    again = Agent(Session.open("ana/one", store=store), model=agent.model, tools=[ring, boxed()])
    fork = Agent(session.fork("f"), model=agent.model, tools=[ring, boxed()])
    assert shown(agent) == shown(again) == shown(fork)


def test_on_claude_a_result_loads_what_it_found_and_the_other_definitions_stay_as_they_are() -> None:
    replies = [find("violin"), ToolCall("c2", "repair_violin"), "Done.", "Yes."]
    agent = agent_of(Session.open(store=MemoryStore()), replies, "anthropic", CLAUDE)
    agent.ask_sync("Hello.")
    agent.ask_sync("And?")
    first, *others = payloads(agent)
    for payload in others:
        plain = [one for one in payload["tools"] if not one.get("defer_loading")]
        assert plain == first["tools"]
        deferred = {one["name"] for one in payload["tools"] if one.get("defer_loading")}
        (block,) = payload["messages"][2]["content"]
        assert {one["tool_name"] for one in block["content"]} == deferred >= {"repair_violin"}

    result = next(item for item in agent.session.view() if isinstance(item, ToolResult))
    agent.session.hide(result)  # nothing loads them any more, so they are shown from the start
    after: dict[str, Any] = agent.preview_sync().render("anthropic", model=CLAUDE).payload
    assert "repair_violin" in {one["name"] for one in after["tools"] if not one.get("defer_loading")}
    assert not provider_for("anthropic").check(after, CLAUDE)


@pytest.mark.parametrize(
    ("wire", "name"), [("anthropic", "claude-3-7-sonnet"), ("openai-responses", "gpt-5.6")]
)
def test_elsewhere_what_was_found_is_shown_with_the_others(wire: str, name: str) -> None:
    agent = agent_of(Session.open(store=MemoryStore()), [find("violin"), "Done."], wire, name)
    agent.ask_sync("Hello.")
    payload = payloads(agent)[-1]
    assert not any("defer_loading" in one for one in payload["tools"])
    assert "repair_violin" in {one["name"] for one in payload["tools"]}
    assert "These tools can be called now" in json.dumps(payload)


def test_the_catalogue_stands_behind_the_instructions() -> None:
    template = Template(Instructions("Be brief."), History(), budget=Budget(window=8_000))
    agent = Agent(model=Scripted(["Yes."]), template=template, tools=[boxed()])
    agent.ask_sync("Hello.")
    instructions, catalogue, *_ = map(text_in, agent.preview_sync().items)
    assert instructions == "Be brief." and "- book_train" in catalogue


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidLimit, match=r"a toolbox with the tool '[a-z_]+' must have at least"):
        boxed(150)
    with pytest.raises(InvalidValue, match="must have one Toolbox at most"):
        Agent(model=Scripted([]), tools=[boxed(), Toolbox([ring])])
