"""Recall in a context: within its budget, of whole groups, nothing twice, and each with its reason."""

import pytest
from hypothesis import given, strategies as st

from quire.context import Context, Template
from quire.errors import InvalidValue, WrongType
from quire.items import ToolCall, ToolResult
from quire.memory import Memory, Recall, recalled
from quire.sections import History, Input, Instructions
from quire.session import Session
from quire.stores import MemoryStore
from quire.tokens import Budget, counter_for

TOWNS = ["Lisbon", "Oslo", "Quito", "Dakar", "Hanoi", "Perth", "Turin", "Cusco"]


def talk(store: MemoryStore | None = None, turns: int = 40) -> Session:
    session = Session.open("ana/one", store=store or MemoryStore())
    session.user("The word for the locker is heliotrope.")
    session.assistant("Noted.")
    for number in range(turns):
        session.user(f"What is the weather like in {TOWNS[number % len(TOWNS)]} on day {number}?")
        session.assistant(f"Sunny in {TOWNS[number % len(TOWNS)]}, as on most days of that month.")
    return session


def built(session: Session, *tiers: str, window: int = 500, **options: object) -> Context:
    recall = Recall(*tiers, **options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    template = Template(Instructions("Help."), History(), recall, budget=Budget(window=window))
    return session.build(template)


def words(context: Context) -> list[str]:
    return [str(message["content"]) for message in context.render("openai")["messages"]]


def test_what_left_the_window_comes_back_with_its_day_and_its_speaker_and_why() -> None:
    session = talk()
    asked = session.user("Which word opens the locker?")
    context = built(session, limit=2)
    quoted = words(context)[-1]
    first = session.view()[0]
    assert "user: The word for the locker is heliotrope." in quoted
    assert quoted.splitlines()[2].startswith("[") and "20" in quoted.splitlines()[2]
    entry = context.receipt.explain(first)
    assert (entry.section, entry.fate) == ("recall", "shown") and "locker" in entry.reason
    assert asked.text in words(context)[-2]


def test_what_the_history_shows_is_not_quoted() -> None:
    session = talk(turns=2)
    session.user("Which word opens the locker?")
    context = built(session, window=10_000)
    assert sum("heliotrope" in text for text in words(context)) == 1
    assert context.tokens["recall"] == 0


def test_a_call_comes_back_with_its_result() -> None:
    session = Session.open("ana/one", store=MemoryStore())
    session.append(ToolCall("c1", "find_invoice", '{"customer": "Ferris"}'))
    session.append(ToolResult("c1", "find_invoice", "invoice 77 is unpaid"))
    for number in range(60):
        session.user(f"Something else, number {number}.")
        session.assistant("Fine.")
    session.user("Is the invoice of Ferris paid?")
    quoted = words(built(session, limit=1, window=400))[-1]
    assert "find_invoice" in quoted and "Ferris" in quoted and "unpaid" in quoted


def test_another_conversation_of_the_scope_is_named() -> None:
    store = MemoryStore()
    talk(store)
    other = Session.open("ana/two", store=store)
    other.user("Which word opens the locker?")
    quoted = words(built(other, limit=1))[-1]
    assert "heliotrope" in quoted and "conversation one" in quoted
    stranger = Session.open("bo/two", store=store)
    stranger.user("Which word opens the locker?")
    assert not any("heliotrope" in text for text in words(built(stranger)))


@pytest.mark.parametrize("said", ["Yes.", "ok", "Why?", "Thanks!", "And then?", "zebra"])
def test_a_turn_that_asks_for_nothing_there_is_brings_nothing_back(said: str) -> None:
    store = MemoryStore()
    talk(store)
    other = Session.open("ana/two", store=store)
    other.user(said)
    assert len(words(built(other))) == 2


def test_documents_are_recalled_by_their_source() -> None:
    store = MemoryStore()
    Memory.of(store, "ana").knowledge.add_text(
        "# Locker\n\nThe spare key hangs behind the fern.", source="house.md"
    )
    session = Session.open("ana/one", store=store)
    session.user("Where is the spare key of the locker?")
    quoted = words(built(session))[-1]
    assert "[house.md]" in quoted and "behind the fern" in quoted


def test_the_tiers_of_a_conversation() -> None:
    store = MemoryStore()
    session = talk(store, turns=30)
    Session.open("ana/two", store=store).user("elsewhere")
    memory = Memory.of(store, "ana")
    assert [leaf.text for leaf in memory.recent("one", 1)] == [
        "Sunny in Perth, as on most days of that month."
    ]
    session.append(ToolCall("c9", "pay", "{}"))
    session.append(ToolResult("c9", "pay", "the bank refused", is_error=True))
    assert memory.working("one", 1)[0].text.endswith("the bank refused")
    assert all(leaf.source == "one" for leaf in memory.working("one", 100))
    episodes = memory.episodes("one", 10)
    assert episodes and all(episode.by_rule and episode.source == "one" for episode in episodes)
    assert {leaf.source for leaf in memory.recent(limit=100)} == {"one", "two"}


def test_an_input_is_the_question() -> None:
    session = talk()
    asked = session.user("Which word opens the locker?")
    session.user("And what about Oslo?")
    template = Template(Instructions("Help."), History(), Recall(limit=1), Input(), budget=Budget(window=500))
    context = session.build(template, input=asked)
    assert any("heliotrope" in text for text in words(context))


def test_without_a_session_recall_needs_a_memory() -> None:
    store = MemoryStore()
    session = talk(store)
    memory = Memory(store, "ana")
    assert "heliotrope" in recalled(memory, "Which word opens the locker?")[0].line
    session.user("Which word opens the locker?")
    assert any("heliotrope" in text for text in words(built(session, memory=memory)))


def test_what_cannot_be_recalled_says_so() -> None:
    with pytest.raises(InvalidValue, match="tiers are some of"):
        Recall("yesterday")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidValue, match="optional"):
        Recall(required=True)
    with pytest.raises(WrongType, match="Memory"):
        Recall(memory="x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(WrongType, match="store"):
        Memory("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.laws
@given(
    st.integers(60, 3_000),
    st.integers(1, 400),
    st.integers(1, 12),
    st.sampled_from(["Which word opens the locker?", "Was it sunny in Oslo or Quito?", "xyz", "day 7"]),
    st.integers(0, 40),
)
def test_what_is_recalled_is_within_its_budget_and_of_whole_quotes(
    window: int, tokens: int, limit: int, question: str, turns: int
) -> None:
    session = talk(turns=turns)
    session.user(question)
    recall = Recall("knowledge", "working", "episodes", limit=limit, tokens=tokens)
    template = Template(History(), recall, budget=Budget(window=window))
    context = session.build(template)
    counter = counter_for("gpt-5.6")
    told = [entry for entry in context.receipt.entries if entry.section == "recall" and entry.fate == "shown"]
    assert context.receipt.tokens <= window and context.tokens["recall"] <= tokens
    assert len(told) <= limit
    shown = [item for item in context.items if item.id.startswith("recall/")]
    assert sum(map(counter.count, shown)) <= tokens
    lines = {
        quote.id: quote.line
        for quote in recalled(
            session.memory,
            question,
            tiers=("knowledge", "working", "episodes"),
            conversation="one",
            limit=60,  # the question itself takes places among them, and no section tells it
        )
    }
    for entry in told:
        assert any(lines[entry.item_id] in item.text for item in shown)  # type: ignore[union-attr]  # pyright: ignore
