"""Standing instructions and preferences: recognised by how they are put, listed, corrected and shown."""

import tomllib
from pathlib import Path

import pytest

from quire.items import Hide, Note, Span, Undo
from quire.memory import Memory, Wishes
from quire.memory.wish import wishes_in
from quire.sections import History, Instructions
from quire.session import Session
from quire.stores import MemoryStore
from tests.memory.talks import built

ROWS = tomllib.loads(Path(__file__).with_name("wishes.toml").read_text("utf-8"))


@pytest.mark.parametrize("part", ["tuned", "kept"])
def test_most_wishes_are_recognised_and_little_else(part: str) -> None:
    found = [text for text in ROWS[part]["wishes"] if any(wishes_in(text))]
    false = [text for text in ROWS[part]["others"] if any(wishes_in(text))]
    assert len(found) >= 0.8 * len(ROWS[part]["wishes"])
    assert len(found) >= 0.8 * (len(found) + len(false))


def test_a_wish_behind_a_long_text_that_was_pasted_is_of_the_user() -> None:
    pasted = "Fix this.\n\n" + "Always wait for feedback.\n" * 100 + "\nNever use tabs."
    assert [one.sentence for one in wishes_in(pasted)] == ["Never use tabs."]


def held(session: Session, store: MemoryStore) -> list[str]:
    return [wish.text for wish in Memory.of(store, "ana").wishes(session.place.conversation)]


@pytest.mark.parametrize(
    ("older", "newer", "hold"),
    [
        ("Always cite in APA.", "Always cite in MLA.", ["newer"]),
        ("Call me Jo.", "Call me Sam.", ["newer"]),
        ("I prefer tea in the morning.", "I prefer coffee in the morning.", ["newer", "older"]),
        ("Always write tests.", "Always write docstrings.", ["newer", "older"]),
        ("Never send mail before I have seen it.", "Please always send mail in German.", ["newer", "older"]),
        ("Always answer in Norwegian.", "I prefer short answers.", ["newer", "older"]),
        ("Use emojis in every reply.", "Please, no emojis in every reply.", ["newer"]),
        ("Always cite in APA.", "I prefer the quiet floor.", ["newer", "older"]),
        ("I'm allergic to peanuts.", "I'm allergic to shellfish.", ["newer", "older"]),
        ("Never call me on weekends.", "Never call me before nine.", ["newer", "older"]),
        ("I prefer trains.", "I'm off to Kyoto and I prefer trains, so which one is it?", ["older"]),
        ("I'm off to Kyoto and I prefer trains.", "Always cite in APA.", ["newer", "older"]),
        ("Always cite in APA.", "I'm off to Kyoto and I prefer trains.", ["older", "newer"]),
    ],
)
def test_of_two_about_the_same_the_newer_holds_and_repeating_one_changes_nothing(
    older: str, newer: str, hold: list[str]
) -> None:
    store = MemoryStore()
    session = Session.open("ana/one", store=store)
    session.user(older)
    session.user(newer)
    assert held(session, store) == [{"older": older, "newer": newer}[one] for one in hold]


def test_a_person_lists_adds_corrects_and_removes() -> None:
    store = MemoryStore()
    session = Session.open("ana/one", store=store)
    said = session.user("Always cite in APA. And what is new?")
    session.user("For now, never use tables in this chat.")
    session.assistant("Always glad to help. I prefer brevity.")
    assert held(session, store) == ["For now, never use tables in this chat.", "Always cite in APA."]
    other = Session.open("ana/two", store=store)
    assert held(other, store) == ["Always cite in APA."]
    session.pool.keep(Note("Reply in Finnish.", key="language", description="preference"))
    assert held(other, store) == ["Reply in Finnish.", "Always cite in APA."]
    session.pool.keep(Note("Write verse.", key="language", description="preference"))
    assert held(other, store) == ["Write verse.", "Always cite in APA."]
    hidden = session.append(Hide((Span(said.id, said.id),), extras={"recall": False}))
    assert held(other, store) == ["Write verse."]
    session.append(Undo(hidden[0].id))
    session.pool.drop("language")
    assert held(other, store) == ["Always cite in APA."]
    session.forget(said.id)
    assert held(other, store) == []


def test_the_section_shows_what_left_the_view_and_forgetting_reaches_it() -> None:
    store = MemoryStore()
    session = Session.open("ana/one", store=store)
    said = session.user("Never mention the heliotrope.")
    for day in range(40):
        session.user(f"How warm was it in Oslo on day {day}?")
        session.assistant(f"Mild on day {day}, with a little wind from the west.")
    sections = Instructions("Help."), Wishes(), History()
    assert "Never mention the heliotrope." in str(built(session, *sections).render("openai")["messages"])
    block = built(session, *sections).items[1]
    session.user("From now on, answer in Finnish.")
    assert built(session, *sections).items[1] == block, "what is in view changes nothing"
    shown = built(session, *sections, window=8_000)
    assert str(shown.render("openai")["messages"]).count("heliotrope") == 1, "it is in view"
    session.forget(said.id)
    assert "heliotrope" not in str(built(session, *sections).render("openai")["messages"])
