"""Long outputs and small windows: a model is given what it has room for, and the rest is kept."""

import asyncio
from typing import Any

import pytest

from quire import Message, Session, ToolCall, ToolResult
from quire.agent import Agent, tool
from quire.agent.builtin import bringing_back_tools
from quire.compactors import Offload
from quire.errors import OverBudget
from quire.models import Scripted
from quire.stores import MemoryStore
from tests.agent.answering import assert_whole, results

TEXTS = {
    "prose": "the quick brown fox and so on ",
    "hex": "9f86d081884c7d659a2feaa0c55ad015",
    "wide": "東京都渋谷区神宮前の報告書を確認してください。",
    "faces": "🙂🙃😉😊",
}


class Small(Scripted):
    """A model that says how little it reads at once, as a local one does."""

    context = 2_048


@tool
async def dump(kind: str, size: int) -> str:
    """Give a long text."""
    unit = TEXTS[kind]
    return unit * (size // len(unit))


def agent_of(model: Scripted, **options: Any) -> Agent:
    return Agent(
        Session.open(store=MemoryStore()), model=model, tools=[dump], instructions="Help.", **options
    )


def dumping(kind: str, size: int, times: int = 1) -> list[ToolCall]:
    return [
        ToolCall(f"c{number}", "dump", f'{{"kind": "{kind}", "size": {size}}}') for number in range(times)
    ]


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("window", ["gpt-5.6", "llama3-70b", "gpt-4", "small"])
def test_a_long_output_leaves_room_whatever_it_says_and_whatever_the_window(window: str, kind: str) -> None:
    made = Small if window == "small" else Scripted
    model = made([dumping(kind, 5_000_000), "Done."], name=window)
    agent = agent_of(model)
    assert asyncio.run(agent.ask("dump it")).text == "Done."
    assert sum(len(str(note.content)) for note in agent.session.pool) > 4_999_900
    shown, [key, *_] = results(agent)[0].text, [note.key for note in agent.session.pool]
    assert str(key) in shown and shown.startswith(TEXTS[kind][:4]) and shown.endswith(TEXTS[kind][-4:])
    assert_whole(agent)


@pytest.mark.parametrize("times", [2, 5, 40])
@pytest.mark.parametrize("compactor", [None, Offload()])
def test_outputs_of_one_reply_leave_room_together(times: int, compactor: Offload | None) -> None:
    model = Scripted([dumping("prose", 49_000, times), "Done.", "And on."])
    agent = agent_of(model, compactor=compactor)
    assert asyncio.run(agent.ask("compare them")).text == "Done."
    assert "compare them" in str(model.requests[-1].payload["messages"])
    assert asyncio.run(agent.ask("and now?")).text == "And on."
    assert_whole(agent)


def test_an_output_that_there_is_room_for_is_shown_whole() -> None:
    agent = agent_of(Scripted([dumping("prose", 40_000), "Done."], name="gpt-5.6"))
    asyncio.run(agent.ask("dump it"))
    assert len(results(agent)[0].text) > 39_900 and len(agent.session.pool) == 0


def left_too_large() -> tuple[Agent, Scripted]:
    """An agent that finds results which are more than its model reads."""
    session = Session.open(store=MemoryStore())
    calls = dumping("prose", 9, 3)
    session.append(Message("user", "compare them"), *calls)
    session.append(*(ToolResult(call.call_id, call.name, TEXTS["prose"] * 1_500) for call in calls))
    model = Scripted(["Done."], name="llama3-70b")
    return Agent(session, model=model, tools=[dump, *bringing_back_tools()]), model


def test_results_that_are_too_much_are_moved_out_and_the_turn_goes_on() -> None:
    agent, model = left_too_large()
    assert asyncio.run(agent.resume()).text == "Done."
    sent = str(model.requests[-1].payload["messages"])
    kept = [str(note.key) for note in agent.session.pool]
    assert "compare them" in sent and kept and all(key in sent for key in kept)
    assert len(kept) < 3, "no more is moved than must be"
    assert_whole(agent)


def test_what_no_result_is_to_blame_for_stays_an_error() -> None:
    agent = agent_of(Small(["Never said."]))
    version = agent.session.version
    with pytest.raises(OverBudget):
        asyncio.run(agent.ask("why? " * 5_000))
    assert agent.session.version == version + 1 and len(agent.session.pool) == 0
