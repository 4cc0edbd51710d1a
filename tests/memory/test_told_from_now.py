"""The words that tell a time from now are that time, and no words that something was said in."""

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest

from quire.memory.index import Question
from quire.memory.leaf import Leaf
from tests.memory.index.every import INDEXES

NOW = datetime(2026, 9, 23, 9, tzinfo=UTC).timestamp()
"""A Wednesday."""

LONG_AGO = [
    "I go to the gym twice a week.",
    "The flat costs 1,150 euros a month.",
    "Two weeks is the last word on it.",
    "We talk and speak a lot, said Tom, and ask what happened ten days ago.",
    "Every morning and every night of the year I tell it to the cat.",
    "Jede Woche, jeden Monat, das letzte Jahr und gestern.",
    "Chaque semaine, le dernier mois et hier.",
    "Cada semana, el mes pasado y ayer.",
    "On Monday I have the dentist.",
    "In August the roof is done.",
]
THEN = ["We signed the Dupont contract.", "The boiler is repaired.", "A cello came."]


def dated(day: int, month: int = 9) -> float:
    return datetime(2026, month, day, 10, tzinfo=UTC).timestamp()


def found(name: str, question: str, at: Iterable[float]) -> list[tuple[str, str]]:
    """What is found, each with its reason."""
    texts = [(text, dated(1 + nth, 3)) for nth, text in enumerate(LONG_AGO)]
    texts += [(text, when + nth) for when in at for nth, text in enumerate(THEN)]
    return searched(name, question, [said(text, when) for text, when in texts])


def said(text: str, at: float, speaker: str = "user") -> Leaf:
    """Each in a conversation of its own, so that none lends its words to another."""
    key = f"{text} {at}"
    return Leaf(
        source=key, key=key, order=0, stretch=0, ids=(key,), kind="said", at=at, speaker=speaker, text=text
    )


def searched(name: str, question: str, leaves: list[Leaf]) -> list[tuple[str, str]]:
    with INDEXES[name]() as index:
        index.put(leaves)
        hits = index.search(Question.of(question, NOW)).hits
        return [(hit.leaf.text, hit.reason) for hit in hits]


ASKED = [
    ("What did we talk about last week?", 15),
    ("What did I tell you last week?", 15),
    ("Do you remember what we discussed last week?", 15),
    ("What did we do two weeks ago?", 9),
    ("What did we do 14 days ago?", 9),
    ("What happened yesterday?", 22),
    ("What did I say yesterday morning?", 22),
    ("What did we talk about this week?", 22),
    ("Was haben wir letzte Woche besprochen?", 15),
    ("Was habe ich dir gestern erzählt?", 22),
    ("De quoi avons-nous parlé la semaine dernière ?", 15),
    ("¿De qué hablamos la semana pasada?", 15),
    ("What did we talk about on Monday?", 21),
    ("What was said on 15 September?", 15),
    ("What did I do on Monday?", 21),
    ("What was I up to last Monday?", 21),
    ("What did we do Monday?", 21),
    ("What did we talk about Monday morning?", 21),
    ("What did we do a week ago today?", 16),
    ("What did we do on the 15th?", 15),
    ("What did we do on September fifteenth?", 15),
    ("What happened in the last 24h?", 22),
    ("What were we up to on 21 September?", 21),
    ("What did we do on Monday the 21st of September?", 21),
    ("Was habe ich am Montag gemacht?", 21),
    ("Qu'ai-je fait la semaine dernière ?", 15),
]


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize(("question", "day"), ASKED)
def test_what_was_said_then_comes_first(name: str, question: str, day: int) -> None:
    texts = [text for text, _ in found(name, question, [dated(day)])]
    assert texts[:3] == THEN
    assert texts[3:] == (LONG_AGO[8:9] if "Monday" in question else []), "a day by its name is a word as well"


@pytest.mark.parametrize("name", INDEXES)
def test_a_month_by_its_name_is_a_time_first_and_then_a_word(name: str) -> None:
    told = found(name, "What did we talk about in August?", [dated(5, 8)])
    assert [text for text, _ in told] == [*THEN, LONG_AGO[9]]
    assert told[0][1] == "from August 2026" and told[3][1] == 'has "August"'
    for question in ("What is in August?", "What do we do in August?"):
        planned = found(name, question, [dated(5, 8)])
        assert planned[0][0] == LONG_AGO[9], "where nobody asks what was, it may be what the word says"
    done = found(name, "What did we do in August?", [dated(5, 8)])
    assert [text for text, _ in done] == [*THEN, LONG_AGO[9]]


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize(
    "question", ["How often did I go to the gym last week?", "What did we say of the gym last week?"]
)
def test_words_beside_the_time_find_as_ever(name: str, question: str) -> None:
    text, reason = found(name, question, [dated(15)])[0]
    assert text == LONG_AGO[0] and '"gym"' in reason and "week" not in reason


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("How many runs a week did I do last week?", ("run", "week")),
        ("When is the last week of school?", ("last", "week", "school")),
        ("What did Anna say last month?", ("anna", "say")),
        ("What was it on March 3 last year?", ("march",)),
        ("What did I buy over the weekend?", ("buy", "weekend")),
        ("What came the day before yesterday?", ("come",)),
        ("Where were we last summer?", ("summer",)),
        ("What did we buy in the first week of June?", ("buy", "june")),
        ("What do we do next week?", ("next", "week")),
        ("What did we say of the war last week?", ("say", "war")),
    ],
)
def test_which_words_of_a_time_are_looked_for(question: str, terms: tuple[str, ...]) -> None:
    asked = Question.of(question, NOW)
    assert tuple(filter(asked.dated.is_word, asked.terms)) == terms


@pytest.mark.parametrize(
    "question",
    [
        *("What is on Monday?", "What do I have on Monday?", "What should be done on Monday?"),
        *("Was ist am Montag?", "What did we say of the war last week?", "What did we do at work on Monday?"),
    ],
)
def test_who_asks_what_is_planned_or_of_something_is_not_told_all_of_a_time(question: str) -> None:
    assert not Question.of(question, NOW).among(()).asks_what_was_said


@pytest.mark.parametrize(
    ("digits", "words"),
    [
        *(("2 days ago", "two days ago"), ("10 hours ago", "ten hours ago")),
        *(("25 minutes ago", "twenty-five mins ago"), ("90 days ago", "ninety days ago")),
    ],
)
def test_digits_mean_what_words_mean(digits: str, words: str) -> None:
    one, other = (Question.of(f"What did we do {said}?", NOW) for said in (digits, words))
    assert one.meant() == other.meant()
    assert Question.of("What did we do on 3 May?", NOW).times()[1:], "of a date it may be told later too"


@pytest.mark.parametrize("name", INDEXES)
def test_who_is_named_is_heard_of_that_time(name: str) -> None:
    leaves = [
        said("Anna says hello.", dated(1)),
        said("I say no.", dated(2), "Anna"),
        said("Yes.", dated(15), "Tom"),
        said("Rain.", dated(16), "Anna"),
    ]
    told = searched(name, "What did Anna say last week?", leaves)
    assert told[0][0] == "Rain." and not any('"say' in reason for _, reason in told)


@pytest.mark.parametrize("name", INDEXES)
def test_a_distance_counts_where_it_is_said_beside_something_else(name: str) -> None:
    leaves = [
        said("Last year I helped in my home town.", dated(1)),
        said("I helped twice a year in the end.", dated(2)),
        said("I spent it all last year.", dated(3)),
    ]
    (first, reason), (second, other) = searched(name, "How did I help last year?", leaves)
    assert first.startswith("Last year") and '"year"' in reason
    assert second.startswith("I helped") and '"year"' not in other
