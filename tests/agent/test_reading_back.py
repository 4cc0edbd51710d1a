"""Long outputs read back piece by piece: who follows what is said of where to go on sees all of it."""

import asyncio
import json
import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire import Agent, Budget, Session, Template, ToolCall
from quire.agent import Limits, tool
from quire.agent.builtin import bringing_back_tools, recall_tools
from quire.agent.tools import run as run_tool
from quire.models import Scripted
from quire.providers import Rendered
from quire.sections import History, Instructions
from quire.stores import MemoryStore
from tests.agent.answering import results, run

UNITS = {
    "lines": "line {}: a value of some length\n",
    "hex": "9f86d081{}",
    "wide": "東京都渋谷区神宮前の報告書{}",
    "faces": "🙂🙃{}",
    "spaces": " " * 90 + "{}",
}
MODELS = ["scripted", "gpt-4", "claude-sonnet-5"]
_GOING_ON = re.compile(r"\n\[characters \d+ to \d+ of \d+; go on with start=(\d+)\]\Z")
_KEPT = re.compile(r"kept as (output-[0-9a-f]+)")


def long_text(unit: str, size: int) -> str:
    return "".join(UNITS[unit].format(number) for number in range(size))[:size]


class Obedient:
    """Reads an output back from several places at once, and goes on where it is told to."""

    def __init__(self, size: int, together: int) -> None:
        self._places = {size * lane // together: size * (lane + 1) // together for lane in range(together)}
        self._asked: dict[str, int] = {}
        self.handle = ""
        self._turn = 0
        self.seen: dict[int, str] = {}

    def __call__(self, sent: Rendered) -> Any:
        told = [one for one in sent.payload["messages"] if one["role"] == "tool"]
        if not told:
            return ToolCall("c0", "dump")
        if self.handle:
            self._read({one["tool_call_id"]: one["content"] for one in told})
        elif (kept := _KEPT.search(told[-1]["content"])) is not None:
            self.handle = kept[1]
        else:
            self._places = {}
            self.seen = {0: told[-1]["content"]}
        self._turn += 1
        self._asked = {f"c{self._turn}_{start}": start for start in self._places}
        return [
            ToolCall(call, "read_back", json.dumps({"handle": self.handle, "start": start}))
            for call, start in self._asked.items()
        ] or "Read."

    def _read(self, told: dict[str, str]) -> None:
        before = self._places
        self._places = dict[int, int]()
        for call, start in self._asked.items():
            self.seen[start] = _GOING_ON.sub("", told[call])
            going_on = _GOING_ON.search(told[call])
            if going_on is not None and int(going_on[1]) < before[start]:
                self._places[int(going_on[1])] = before[start]

    @property
    def text(self) -> str:
        """All that was seen, in order, what was seen twice once."""
        whole = ""
        for start, piece in sorted(self.seen.items()):
            assert start <= len(whole)
            whole = whole[:start] + piece + whole[start + len(piece) :]
        return whole


def reading(model: Obedient, text: str, window: int, name: str, **options: Any) -> Agent:
    @tool
    def dump() -> str:
        """Give a long text."""
        return text

    template = Template(
        Instructions("Read it."), History(), budget=Budget(window=window, reserve=window // 8), model=name
    )
    tools = [dump, *bringing_back_tools(**options)]
    return Agent(
        Session.open(store="memory:"),
        template,
        model=Scripted(model, name=name),
        tools=tools,
        limits=Limits(requests=None),
    )


def assert_all_is_seen(unit: str, size: int, together: int, window: int, name: str, **options: Any) -> None:
    text, model = long_text(unit, size), Obedient(size, together)
    agent = reading(model, text, window, name, **options)
    assert asyncio.run(agent.ask("Read all of it.")).text == "Read."
    assert model.text == text
    assert len(agent.session.pool) == bool(model.handle)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("window", "together"), [(1_280, 1), (2_048, 1), (2_048, 4), (8_192, 8), (32_000, 10)]
)
def test_who_goes_on_as_told_sees_every_character(window: int, together: int, name: str) -> None:
    assert_all_is_seen("lines", 2 * window + 8_000, together, window, name)


@given(
    st.sampled_from(list(UNITS)),
    st.integers(0, 30_000),
    st.integers(1, 10),
    st.sampled_from(MODELS),
    st.sampled_from([300, 2_000, 50_000]),
)
def test_every_character_is_seen_in_any_window(
    unit: str, more: int, together: int, name: str, tokens: int
) -> None:
    # In less, the calls and the definitions of the tools leave no half of it to the outputs.
    window = 2_048 + 64 * together + more
    size = 60_000 if unit == "spaces" else 8_000 + window // 2
    assert_all_is_seen(unit, size, together, window, name, tokens=tokens)


def test_a_piece_is_no_longer_than_the_tool_may_give_without_an_agent() -> None:
    text = " " * 200_000

    async def read() -> None:
        session = Session.open(store="memory:")
        agent = reading(Obedient(1, 1), text, 32_000, "gpt-4", tokens=20_000)
        dumped = await run_tool(agent.tools[0], session=session)
        await session.aio.pool.keep(dumped.notes[0])
        outcome = await run_tool(agent.tools[1], {"handle": dumped.notes[0].key}, session=session)
        assert "go on with start=" in str(outcome.content) and not outcome.notes

    run(read)


@pytest.mark.parametrize("times", [1, 2])
def test_what_is_recalled_is_told_in_the_room_there_is(times: int) -> None:
    store = MemoryStore()
    before = Session.open("ana/before", store=store)
    for number in range(20):
        before.user(f"The code of locker {number} is {number * 1_234_567}, and it is by the stairs.")
        before.assistant(f"Noted: locker {number}, of which the code is {number * 1_234_567}.")
    calls = [ToolCall(f"c{n}", "recall", '{"question": "locker code", "limit": 50}') for n in range(times)]
    template = Template(Instructions("x"), History(), budget=Budget(window=4_096, reserve=512))
    session = Session.open("ana/now", store=store)
    agent = Agent(session, template, model=Scripted([calls, "Found."]), tools=recall_tools())
    asyncio.run(agent.ask("Which was it?"))
    assert all(result.text.count("The code of locker") > 1 for result in results(agent))
    assert not any("kept as" in result.text for result in results(agent)) and len(session.pool) == 0


def test_what_is_recalled_and_has_no_room_is_kept() -> None:
    store = MemoryStore()
    Session.open("ana/before", store=store).user("The code of the locker: " + "one two three " * 40)
    outcome = asyncio.run(
        run_tool(
            recall_tools()[0],
            {"question": "locker code"},
            session=Session.open("ana/now", store=store),
            room=lambda text, most: min(len(text), most, 100),
        )
    )
    assert len(outcome.notes) == 1 and "one two three" in str(outcome.notes[0].content)
