"""Windows: models that read less than expected, long tool outputs, and results that leave no room."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from quire import Agent, Message, Session, ToolCall, ToolResult
from quire.agent import tool
from quire.compactors import Summarize
from quire.context import Template
from quire.errors import OverBudget, WindowExceeded
from quire.models import Answering, Delta, Scripted
from quire.providers import Parsed, Rendered
from quire.sections import History
from quire.stores import MemoryStore
from quire.tokens import Budget, Usage, counter_for
from tests.agent.answering import Payments, assert_whole, call, results

COUNTER = counter_for("scripted")


class Reader:
    """A model with a window that is not known; `tells` what its refusals tell, `rate` how it counts."""

    def __init__(self, window: int, tells: str = "nothing", rate: float = 1.0) -> None:
        self.window, self.tells, self.rate = window, tells, rate
        self.sent: list[int] = []
        self.model = Scripted(self._answer)

    def _answer(self, sent: Rendered) -> Any:
        text = " ".join(str(one.get("content")) for one in sent.payload["messages"])
        size = int(COUNTER.count(Message("user", text)) * self.rate)
        self.sent.append(size)
        if size <= self.window:
            return Parsed((Message("assistant", "word " * 60),), usage=Usage(size, 60), model="scripted")
        over = 0 if self.tells == "nothing" else size - self.window
        return WindowExceeded("too long", over, limit=self.window if self.tells == "window" else 0)

    @property
    def refused(self) -> int:
        return sum(size > self.window for size in self.sent)


def filled(turns: int) -> Session:
    session = Session.open(store=MemoryStore())
    session.user("Hello.")
    for number in range(turns):
        session.assistant(f"answer {number} " + "word " * 50)
        session.user(f"question {number} " + "word " * 50)
    session.assistant("So it is.")
    return session


@pytest.mark.parametrize(
    ("tells", "rate"), [("nothing", 1.0), ("nothing", 1.6), ("excess", 0.7), ("excess", 1.6), ("window", 1.0)]
)
async def test_a_conversation_goes_on_in_a_window_that_was_not_known(tells: str, rate: float) -> None:
    reader = Reader(4_000, tells, rate)
    agent = Agent(filled(100), model=reader.model)
    for number in range(30):
        assert (await agent.ask(f"question {number} " + "word " * 40)).stop == "done"
    assert 0 < reader.refused <= 6 and max(reader.sent[-10:]) > reader.window // 3
    reader.window = 100_000
    await agent.ask("word " * 8_000)  # it has to be sent, and does not fit into what was found
    assert max(reader.sent[-10:]) > 8_000


async def test_what_was_found_holds_for_conversations_with_the_same_template() -> None:
    reader, template = Reader(4_000), Template(History(), budget=Budget(window=32_000))
    await Agent(filled(100), template=template, model=reader.model).ask("hello")
    refused = reader.refused
    await Agent(filled(100), template=template, model=reader.model).ask("hello")
    assert reader.refused == refused > 0


async def test_a_model_that_refuses_everything_is_an_error_after_some_tries() -> None:
    model = Scripted(lambda _: WindowExceeded("too long"))
    with pytest.raises(WindowExceeded):
        await Agent(filled(100), model=model, compactor=Summarize(floor=4, ceiling=1_000)).ask("hello")
    assert len(model.requests) <= 12


async def test_a_narrowed_history_is_cut_in_the_same_place_from_turn_to_turn() -> None:
    reader = Reader(4_000, "window")
    agent = Agent(filled(100), model=reader.model)
    for question in ("hello", "and now?", "and then?"):
        await agent.ask(question)
    first, second = (one.payload["messages"] for one in reader.model.requests[-2:])
    assert second[: len(first)] == first


class Breaking(Scripted):
    """A model whose first response breaks off after its calls."""

    def send(self, *args: Any, **terms: Any) -> Answering:
        answering = super().send(*args, **terms)
        if self.requests:
            return answering
        return Answering(_broken(answering), lambda: answering.parsed)


async def _broken(answering: Answering) -> AsyncGenerator[Delta, None]:
    async for delta in answering.deltas():
        yield delta
    raise WindowExceeded("Context size has been exceeded.", 0)


async def test_calls_of_a_response_that_broke_off_are_closed_before_it_is_asked_for_again() -> None:
    payments = Payments()
    model = Breaking([call("pay", "{}", "one"), call("pay", "{}", "two"), "Paid."])
    agent = Agent(filled(60), model=model, tools=[payments.tool])
    [*_, last] = [delta async for delta in agent.stream("pay")]
    assert last.reply.text == "Paid." and payments.paid == [1]  # type: ignore[union-attr]
    assert "ended early" in results(agent)[0].text and not results(agent)[1].is_error
    assert_whole(agent)


# Tool outputs

TEXTS = {
    "prose": "the quick brown fox and so on ",
    "wide": "東京都渋谷区神宮前の報告書。",
    "faces": "🙂🙃😉😊",
}


class Small(Scripted):
    """A model with a small context, as a local one has."""

    context = 2_048


@tool
async def dump(kind: str, size: int) -> str:
    return TEXTS[kind] * (size // len(TEXTS[kind]))


def dumping(kind: str, size: int, times: int = 1) -> list[ToolCall]:
    return [ToolCall(f"c{n}", "dump", f'{{"kind": "{kind}", "size": {size}}}') for n in range(times)]


@pytest.mark.parametrize("kind", TEXTS)
async def test_a_long_output_leaves_room_and_is_kept_in_the_pool(kind: str) -> None:
    agent = Agent(instructions="Help.", model=Small([dumping(kind, 1_000_000), "Done."]), tools=[dump])
    assert (await agent.ask("dump it")).text == "Done."
    assert sum(len(str(note.content)) for note in agent.session.pool) > 999_900
    shown, key = results(agent)[0].text, str(next(iter(agent.session.pool)).key)
    assert key in shown and shown.startswith(TEXTS[kind][:4]) and shown.endswith(TEXTS[kind][-4:])
    assert len(shown) > 64


async def test_outputs_of_one_reply_leave_room_together() -> None:
    model = Scripted([dumping("prose", 49_000, 20), "Done."])
    agent = Agent(instructions="Help.", model=model, tools=[dump])
    assert (await agent.ask("compare them")).text == "Done."
    assert "compare them" in str(model.requests[-1].payload["messages"])
    assert all(one.text.startswith(TEXTS["prose"]) for one in results(agent))  # none had to be moved out
    model = Scripted([dumping("prose", 40_000), "Done."], name="gpt-5.6")
    whole = Agent(instructions="Help.", model=model, tools=[dump])
    await whole.ask("dump it")
    assert len(results(whole)[0].text) > 39_900 and len(whole.session.pool) == 0


async def test_results_that_leave_no_room_are_moved_to_the_pool() -> None:
    session, calls = Session.open(store=MemoryStore()), dumping("prose", 9, 3)
    session.append(Message("user", "compare them"), *calls)
    session.append(*(ToolResult(one.call_id, one.name, TEXTS["prose"] * 1_500) for one in calls))
    model = Scripted(["Done."], name="llama3-70b")
    agent = Agent(session, model=model, tools=[dump])
    assert (await agent.resume()).text == "Done."
    sent, kept = str(model.requests[-1].payload["messages"]), [str(note.key) for note in session.pool]
    assert "compare them" in sent and 0 < len(kept) < 3 and all(key in sent for key in kept)
    small = Agent(instructions="Help.", model=Small(["Never."]))
    with pytest.raises(OverBudget):
        await small.ask("why? " * 5_000)
