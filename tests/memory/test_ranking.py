"""Ranking: neighbours, related words, speakers, times, long texts and evidence."""

from collections.abc import Sequence

import pytest

from quire.memory.hits import Hit
from quire.memory.index import MAX_TERMS, Index
from quire.memory.leaf import MAX_TEXT_LENGTH, Leaf
from quire.memory.ranking import Question
from tests.memory.leaves import NOW, said


def asked(question: str, *texts: str | Leaf) -> Sequence[Hit]:
    index = Index()
    index.put([said(text, order) if isinstance(text, str) else text for order, text in enumerate(texts)])
    return index.search(Question.of(question, NOW)).hits


def keys(hits: Sequence[Hit]) -> list[str]:
    return [hit.leaf.key for hit in hits]


# What is found, and why


def test_answer_is_found_by_the_words_of_the_question_before_it() -> None:
    turns = "Nice weather.", "What instrument do you play?", "The oboe!"
    hits = asked("What instrument does she play?", *turns)
    assert keys(hits)[0] == "i2"
    assert hits[0].reason == 'beside a turn that has "instrument", "play"'
    apart = asked("Which opera?", said("opera?", 0), said("Tosca", 1, stretch=1))
    assert keys(apart) == ["i0"], "words are lent within a stretch only"


@pytest.mark.parametrize(
    ("question", "text", "reason"),
    [
        ("PX36", "My printer is a PX36.", 'has "PX36"'),
        ("Which vehicle did she buy?", "We bought a car.", 'has "car" for "vehicle", "bought"'),
        ("The colour of a bicycle", "A bike of one color.", 'has "color", "bike" for "bicycle"'),
    ],
)
def test_reason_names_each_word_once_as_it_is_said(question: str, text: str, reason: str) -> None:
    (hit,) = asked(question, text)
    assert hit.reason == reason


def test_kind_finds_its_members_and_not_the_reverse() -> None:
    assert keys(asked("Which sport?", "She plays tennis.")) == ["i0"]
    assert asked("Tennis?", "All kinds of sport.") == ()


def test_named_speaker_is_preferred() -> None:
    texts = [said("I love the sea", 0, speaker="Ben"), said("I love the sea", 9, speaker="Ana")]
    hits = asked("What does Ana love?", *texts)
    assert keys(hits) == ["i9", "i0"] and "said by Ana" in hits[0].reason


def test_turn_that_asks_does_not_answer_itself() -> None:
    index = Index()
    index.put([said("Where is the heron?", 0), said("By the lake.", 1), said("Where is the heron?", 9)])
    question = Question.of("Where is the heron?", NOW, asked_in=[("one", "i9")])
    assert sorted(keys(index.search(question).hits)) == ["i0", "i1"]


def test_long_text_is_found_by_all_of_it_and_the_longest_by_its_beginning() -> None:
    filler = " ".join(f"w{nth}" for nth in range(3 * MAX_TERMS))
    for word in ("alpha", "middle", "omega"):
        assert keys(asked(word, f"alpha {filler} middle {filler} omega")) == ["i0"]
    text = f"alpha {'so it was ' * (MAX_TEXT_LENGTH // 10)} omega"
    assert keys(asked("alpha", text)) == ["i0"] and asked("omega", text) == ()


# Evidence

CHAT = (
    "My sister keeps bees behind the old mill.",
    "That sounds lovely, how many hives has she?",
    "Twelve hives now, and the honey sells at the Saturday market.",
    "I would like to try the heather honey.",
    "We painted the boat green before the regatta in Kiel.",
    "The regatta was windy, we came in fourth.",
    "Then write a list of good things to take along, in the order of need.",
)
LONG_TURN = " ".join(f"zq{nth}x" for nth in range(40))
EVIDENT = {
    "How many hives are there?": True,
    "Which colour is the boat that we painted?": True,
    "heather honey": True,
    "What is it that Ana sells?": True,
    f"The regatta in Kiel with the green boat that we painted, how did it end? {LONG_TURN}": True,
    "Can you list the order in which I mentioned the hives and their honey? Give me only three items.": True,
    "Where is the list?": True,
    "Which good things should I take along to Lima? Write a list in the order of need.": False,
    "How do I undo the last git commit without losing the changes?": False,
    "Explain Kubernetes liveness and readiness probes.": False,
    "What is the statute of limitations for unpaid invoices in Germany?": False,
}


@pytest.mark.parametrize(("question", "is_evident"), EVIDENT.items())
def test_prompt_is_evident_if_it_is_about_the_record(question: str, is_evident: bool) -> None:
    """In a record of some length: in a young one hardly anything is withheld."""
    index = Index()
    filler = [said(f"Errand {nth} went as planned on tour {nth % 17}.", 10 + 8 * nth) for nth in range(250)]
    index.put([said(text, order) for order, text in enumerate(CHAT)] + filler)
    found = index.search(Question.of(question, NOW))
    assert found.is_evident is is_evident and (found.hits or not is_evident)
