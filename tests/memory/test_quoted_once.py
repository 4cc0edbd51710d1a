"""What several sections could tell is told by one of them, and what is only a candidate takes from nobody."""

import re

import pytest

from quire import Session
from quire.context import Context, Template
from quire.items import Message
from quire.memory import Recall
from quire.sections import History, Instructions
from quire.stores import MemoryStore
from quire.tokens import Budget

SAID = [
    Message("user" if number % 2 == 0 else "assistant", f"the lamp number {number} costs {number} euros")
    for number in range(120)
]


def built(conversation: str, window: int, *sections: Recall | Instructions | History) -> Context:
    store = MemoryStore()
    Session.open("ana/lamps", store=store).append(*SAID)
    session = Session.open(f"ana/{conversation}", store=store)
    template = Template(Instructions("Be exact."), *sections, budget=Budget(window=window))
    asked = Message("user", "what does the lamp number 4 cost?")
    return session.build(template, input=asked, model="gpt-5.6")


def lamps(context: Context) -> list[str]:
    texts = [item.text for item in context.items if isinstance(item, Message)]
    return re.findall(r"lamp number (\d+) costs", "\n".join(texts))


@pytest.mark.parametrize(("conversation", "window"), [("lamps", 1_200), ("other", 8_000)])
def test_two_sections_that_recall_do_not_tell_the_same(conversation: str, window: int) -> None:
    """Where the history has to be cut, and where there is room for all."""
    sections = (Recall(tokens=200), Recall(tokens=200, name="more"), History())
    context = built(conversation, window, *sections)
    found = lamps(context)
    assert len(found) > 10
    assert len(found) == len(set(found))


@pytest.mark.parametrize("number", [4, 5, 77])
def test_what_a_section_shows_is_not_taken_from_it_by_what_could_be_quoted(number: int) -> None:
    context = built("other", 8_000, Recall(tokens=120), Instructions([SAID[number]], name="given"), History())
    assert SAID[number] in list(context.items)
    assert lamps(context).count(str(number)) == 1
