"""A model tends its own context: no sequence of its calls breaks a request, or what a person holds on to."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire import Agent, Budget, Message, Session, Template, ToolCall
from quire.agent import Limits, run, tool
from quire.agent.builtin import context_tools
from quire.items import Mask, Note, Pin, ToolResult
from quire.models import Scripted
from quire.providers import Rendered
from quire.sections import History, Instructions
from quire.stores import MemoryStore

TOOLS = {one.name: one for one in context_tools(pinned=300)}
RULE = "Never name the harbour."
HANDLES = st.integers(0, 40).map(lambda number: f"#{number}") | st.sampled_from(["#x", "", "nobody"])
CALLS = st.one_of(
    st.tuples(st.just("drop_results"), st.fixed_dictionaries({"handles": st.lists(HANDLES, min_size=1)})),
    st.tuples(st.just("pin_item"), st.fixed_dictionaries({"item": HANDLES})),
    st.tuples(st.just("take_back"), st.fixed_dictionaries({"item": HANDLES})),
    st.tuples(st.just("note_fact"), st.fixed_dictionaries({"fact": st.sampled_from(["x", "oak " * 80])})),
    st.tuples(st.just("read_back"), st.fixed_dictionaries({"handle": HANDLES})),
    st.tuples(st.just("context_room"), st.just({})),
    st.tuples(st.just("read"), st.fixed_dictionaries({"pages": st.integers(1, 12)})),
)
REPLIES = st.lists(st.lists(CALLS, max_size=3), min_size=1, max_size=12)


@tool
def read(pages: int) -> str:
    return "the quince stands by the wall " * 30 * pages


def asked(session: Session, name: str, **arguments: Any) -> str:
    return str(asyncio.run(run(TOOLS[name], arguments, session=session)).content)


def read_once(session: Session, pages: int = 4) -> ToolResult:
    """A call of `read`, its result, and an answer."""
    replies: list[Any] = [ToolCall("c1", "read", json.dumps({"pages": pages})), "Read."]
    agent = Agent(session, model=Scripted(replies), tools=[read])
    reply = agent.ask_sync("Read it.")
    return next(item for item in reply.items if isinstance(item, ToolResult))


def shown(session: Session, item: Any) -> Any:
    return next((one for one in session.view() if one.id == item.id), None)


@pytest.mark.laws
@given(REPLIES, st.sampled_from(["openai", "openai-responses", "anthropic", "gemini"]))
def test_no_sequence_of_its_calls_breaks_a_request_or_touches_what_a_person_pinned(
    script: list[list[tuple[str, dict[str, Any]]]], wire: str
) -> None:
    session = Session.open(store=MemoryStore())
    held = read_once(session, 1)
    hidden = [session.user("Hide me."), *session.append(Message("assistant", "Hidden."))]
    session.user("What else?")
    session.hide(*hidden)
    session.pin(held)

    replies: list[Any] = []
    for number, calls in enumerate(script):
        replies.append(
            [ToolCall(f"{number}.{n}", name, json.dumps(given)) for n, (name, given) in enumerate(calls)]
        )
    sent: list[Rendered] = []

    def answer(rendered: Rendered) -> Any:
        sent.append(rendered)  # the script has checked it against the rules of the provider
        return (replies.pop(0) if replies else None) or "Done."

    template = Template(Instructions(RULE), History(), budget=Budget(window=2_600))
    model = Scripted(answer, wire=wire)
    agent = Agent(
        session, model=model, template=template, tools=[read, *TOOLS.values()], limits=Limits(calls=40)
    )
    while replies:
        agent.ask_sync("Go on.")
    for rendered, kept in zip(sent, list(session.receipts)[-len(sent) :], strict=True):
        assert kept.tokens <= kept.available == 2_600
        assert RULE in json.dumps(rendered.payload, default=str)
    assert shown(session, held) == held and session.view().fate(held.id).state == "pinned"
    assert not any(shown(session, item) for item in hidden)
    assert not session.view().pending()
    assert all(edit.agent_id in (None, "model") for edit in session.view().edits_in_force.edits.values())


def test_a_result_is_dropped_read_back_and_shown_again() -> None:
    session = Session.open(store=MemoryStore())
    result = read_once(session)
    handle = f"#{session.view().position(result.id)}"
    listed = asked(session, "context_room")
    assert f'{handle} read({{"pages": 4}}): ' in listed and "of 28,000 tokens" in listed
    assert "Dropped." in asked(session, "drop_results", handles=[handle])
    stub = shown(session, result)
    assert stub.text == f"[You dropped this. `read_back` reads it: {handle}]"
    (edit,) = (item for item in session.view().recorded() if isinstance(item, Mask))
    assert edit.agent_id == "model"
    assert "the quince stands" in asked(session, "read_back", handle=handle)
    assert "is masked: it cannot be dropped" in asked(session, "drop_results", handles=[handle])
    assert asked(session, "take_back", item=handle) == "Taken back."
    assert shown(session, result) == result


def test_what_it_pins_and_notes_stays_within_its_tokens() -> None:
    session = Session.open(store=MemoryStore())
    fact = session.user("The code of the locker is heliotrope.")
    session.assistant("Noted.")
    assert asked(session, "pin_item", item="#0") == "Pinned."
    assert "Noted as" in asked(session, "note_fact", fact="The plumber comes on Tuesday.")
    assert "of 300 at most" in asked(session, "note_fact", fact="oak " * 400)
    note = next(item for item in session.view() if isinstance(item, Note))
    session.append(*(Message("user", "How are you? " * 400) for _ in range(9)))
    context = session.build(Template(History(), budget=Budget(window=3_000)))
    assert {fact.id, note.id} <= {item.id for item in context.items}
    for item in (note, fact):
        asked(session, "take_back", item=item.id)
    assert not session.view().pins()
    assert "you have not dropped, pinned or noted" in asked(session, "take_back", item=fact.id)


def test_a_person_outranks_it() -> None:
    session = Session.open(store=MemoryStore())
    result = read_once(session)
    handle = f"#{session.view().position(result.id)}"
    pin = session.pin(result)
    assert "is pinned: it cannot be dropped" in asked(session, "drop_results", handles=[handle])
    assert "you have not" in asked(session, "take_back", item=handle)
    session.undo(pin.id)
    session.hide(result)
    assert "it is hidden: it cannot be pinned" in asked(session, "pin_item", item=handle)
    for wrong in ("#999", "nobody"):
        assert "nothing is called" in asked(session, "pin_item", item=wrong)


def test_pins_that_leave_no_room_are_taken_back() -> None:
    session = Session.open(store=MemoryStore())
    template = Template(History(), budget=Budget(window=2_000))
    told: list[Any] = [tool_call("note_fact", fact="oak " * 400), "Noted.", "Long."]
    agent = Agent(session, model=Scripted(told), template=template, tools=context_tools()[:5])
    agent.ask_sync("Note it.")
    assert session.view().pins()
    assert str(agent.ask_sync("elm " * 1_500)) == "Long."
    assert not session.view().pins()
    assert sum(isinstance(item, Pin) for item in session.view().recorded()) == 1


def tool_call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall("c1", name, json.dumps(arguments))
