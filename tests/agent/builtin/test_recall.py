"""Tools that look things up: in the own scope alone, within their tokens, and long outputs piece by piece."""

import asyncio
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from quire import Agent, Budget, Session, Template, ToolCall
from quire.agent import Limits, run, tool
from quire.agent.builtin import read_back_tools, recall_tools
from quire.context import DEFAULT_MODEL
from quire.items import Message
from quire.memory import Knowledge
from quire.models import Scripted
from quire.providers import Rendered
from quire.sections import History, Instructions
from quire.stores import MemoryStore, Store
from quire.tokens import counter_for
from tests.agent.answering import agent_of, call, results

WORDS = ("locker", "code", "heliotrope", "harbour", "violin", "kettle", "ladder", "moss")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
LOCKER = "What was the code of my locker?"


def asked(session: Session, question: str, name: str = "recall", **arguments: Any) -> str:
    """What a tool answers in a session."""
    tokens = arguments.pop("tokens", 1_024)
    found = {one.name: one for one in recall_tools(tokens=tokens)}[name]
    outcome = asyncio.run(run(found, {"question": question, **arguments}, session=session))
    assert not outcome.is_error, outcome.content
    return str(outcome.content)


def lived(store: Store, address: str = "ana/one", turns: int = 30) -> Session:
    """A conversation that began with a secret, long ago."""
    session = Session.open(address, store=store)
    session.user("My locker code is the word heliotrope.")
    for turn in range(turns):
        session.user(f"How is the weather in town {turn}?")
        session.assistant(f"In town {turn} it is sunny.")
    return session


def test_what_was_said_long_ago_with_its_source_and_ids() -> None:
    store = MemoryStore()
    session = lived(store)
    first = session.view().recorded()[0]
    told = asked(session, LOCKER, limit=1)
    assert "user: My locker code is the word heliotrope." in told and first.id in told and 'has "' in told
    assert "conversation one]" in asked(Session.open("ana/two", store=store), LOCKER, limit=1)
    asking = session.user(LOCKER)
    assert asking.id not in asked(session, LOCKER)  # the model sees it anyway
    session.forget(first.id)
    assert "heliotrope" not in asked(session, LOCKER)


def test_a_draft_recalls_and_wrong_limits_are_refused() -> None:
    store = MemoryStore()
    lived(store)
    here = Session.open("ana/two", store=store)
    for limit in (0, 10_000):
        outcome = asyncio.run(run(recall_tools()[0], {"question": "locker", "limit": limit}, session=here))
        assert outcome.is_error

    async def drafted() -> str:
        async with here.draft() as draft:
            return str((await run(recall_tools()[0], {"question": LOCKER}, session=draft)).content)

    assert "heliotrope" in asyncio.run(drafted())


def test_earlier_answers_of_the_tool_do_not_come_back() -> None:
    store = MemoryStore()
    lived(store)
    arguments = json.dumps({"question": "locker code"})
    agent = agent_of(call("recall", arguments), "It is heliotrope.", tools=recall_tools(), store=store)
    asyncio.run(agent.ask(LOCKER))
    assert "heliotrope" in results(agent)[0].text
    told = asked(Session.open("ana/two", store=store), LOCKER)
    assert "[called recall" not in told and "heliotrope" in told


def test_documents_alone() -> None:
    store = MemoryStore()
    session = lived(store)
    assert asked(session, "locker", "search_knowledge") == "Nothing was found."
    Knowledge(store, "ana").add_text("Lockers open with a key at the desk.", source="handbook/desk.md")
    told = asked(session, "How does a locker open?", "search_knowledge")
    assert "[handbook/desk.md]" in told and "at the desk" in told and "heliotrope" not in told
    both = asked(session, "How does a locker open, and what is its code?")
    assert "at the desk" in both and "heliotrope" in both


@pytest.mark.laws
@given(own=st.lists(TEXTS, max_size=8), others=st.lists(TEXTS, min_size=1, max_size=8), question=TEXTS)
def test_nothing_of_another_scope_comes_back(own: list[str], others: list[str], question: str) -> None:
    store = MemoryStore()
    mine, theirs = Session.open("ana/one", store=store), Session.open("bob/one", store=store)
    for text in own:
        mine.user(f"mine: {text}")
    for text in others:
        theirs.user(f"theirs: {text}")
    Knowledge(store, "bob").add_text(f"theirs: {question}", source="theirs.md")
    for name in ("recall", "search_knowledge"):
        assert "theirs" not in asked(mine, question, name)


@pytest.mark.laws
@given(texts=st.lists(TEXTS, min_size=1, max_size=12), question=TEXTS, tokens=st.integers(40, 400))
def test_an_answer_is_within_its_tokens(texts: list[str], question: str, tokens: int) -> None:
    session = Session.open("ana/one", store=MemoryStore())
    for text in texts:
        session.assistant(text)
    told = asked(session, question, tokens=tokens, limit=50)
    assert counter_for(DEFAULT_MODEL).count(Message("system", told)) <= tokens


UNITS = {
    "lines": "line {}: a value of some length\n",
    "hex": "9f86d081{}",
    "wide": "東京都渋谷区神宮前の報告書{}",
}
_GOING_ON = re.compile(r"\n\[characters \d+ to \d+ of \d+; go on with start=(\d+)\]\Z")
_KEPT = re.compile(r"kept as (output-[0-9a-f]+)")


class Obedient:
    """Reads an output back, several pieces at once, and goes on where it is told to."""

    def __init__(self, size: int, together: int) -> None:
        self._lanes = [(size * lane // together, size * (lane + 1) // together) for lane in range(together)]
        self._asked: dict[str, tuple[int, int]] = {}
        self._pieces: dict[int, str] = {}
        self._handle = ""

    def __call__(self, sent: Rendered) -> Any:
        results = [one for one in sent.payload["messages"] if one["role"] == "tool"]
        if not results:
            return ToolCall("c0", "dump")
        told = {one["tool_call_id"]: str(one["content"]) for one in results}
        for call_id, (start, end) in self._asked.items():
            self._pieces[start] = _GOING_ON.sub("", told[call_id])
            going_on = _GOING_ON.search(told[call_id])
            if going_on is not None and int(going_on[1]) < end:
                self._lanes.append((int(going_on[1]), end))
        self._handle = self._handle or _KEPT.findall(told["c0"])[0]
        self._asked = {f"c{len(told)}_{lane[0]}": lane for lane in self._lanes}
        self._lanes = []
        return [
            ToolCall(call_id, "read_back", json.dumps({"handle": self._handle, "start": start}))
            for call_id, (start, _) in self._asked.items()
        ] or "Read."

    @property
    def text(self) -> str:
        whole = ""
        for start, piece in sorted(self._pieces.items()):
            assert start <= len(whole)
            whole = whole[:start] + piece + whole[start + len(piece) :]
        return whole


@settings(max_examples=max(6, settings().max_examples // 2))
@given(
    unit=st.sampled_from(list(UNITS)),
    more=st.integers(0, 20_000),
    together=st.integers(1, 10),
    name=st.sampled_from(["scripted", "gpt-4", "claude-sonnet-5"]),
    tokens=st.sampled_from([300, 2_000, 50_000]),
)
def test_who_goes_on_as_told_sees_every_character(
    unit: str, more: int, together: int, name: str, tokens: int
) -> None:
    window = 2_048 + 64 * together + more
    size = 16_000 + window
    text = "".join(UNITS[unit].format(number) for number in range(size))[:size]
    model = Obedient(size, together)

    @tool(max_output=8_000)
    def dump() -> str:
        return text

    budget = Budget(window=window, reserve=window // 8)
    template = Template(Instructions("Read it."), History(), budget=budget, model=name)
    tools, answers = [dump, *read_back_tools(tokens=tokens)], Scripted(model, name=name)
    agent = Agent(template=template, model=answers, tools=tools, limits=Limits(requests=None))
    assert agent.ask_sync("Read all of it.").text == "Read."
    assert model.text == text and len(agent.session.pool) == 1  # nothing read back was moved out again
