"""What happened lately: bounded, each once, found by any of its labels."""

import pytest
from hypothesis import given, strategies as st

from quire.bridges.loom.events import Events, Label
from quire.errors import InvalidLimit, WrongType
from quire.items import Item, Message, Note

WHO = ("ana", "bob", "cy")
happened = st.lists(
    st.tuples(st.integers(0, 8), st.frozensets(st.sampled_from([("who", name) for name in WHO]))), max_size=30
)


def ids(items: list[Item]) -> list[str]:
    return [item.id for item in items]


def event(number: int) -> Note:
    return Note(f"event {number}", id=f"e{number}")


@pytest.mark.laws
@given(happened, st.integers(1, 6), st.integers(0, 9), st.frozensets(st.sampled_from(WHO), min_size=1))
def test_the_newest_under_any_label_come_back_each_once(
    put: list[tuple[int, frozenset[Label]]], most: int, limit: int, asked: frozenset[str]
) -> None:
    events, plain = Events(most), dict[str, frozenset[Label]]()
    for number, labels in put:
        events.put(event(number), labels)
        plain.pop(f"e{number}", None)
        plain[f"e{number}"] = labels
        plain = dict(list(plain.items())[-most:])
    wanted = [("who", name) for name in asked]
    found = [item_id for item_id, labels in plain.items() if labels & set(wanted)]
    assert ids(events.newest(*wanted)) == found
    assert ids(events.newest(*wanted, limit=limit)) == (found[-limit:] if limit else [])
    assert ids(events.newest()) == list(plain) and len(events) == len(plain)


def test_a_question_is_asked_before_a_limit_is_counted() -> None:
    events = Events()
    for number in range(10):
        events.put(event(number), [("who", "ana")])
    even = events.newest(("who", "ana"), limit=2, where=lambda item: item.id in ("e0", "e2", "e9"))
    assert ids(even) == ["e2", "e9"]


def test_one_that_comes_again_has_only_its_new_labels() -> None:
    events = Events()
    events.put(event(1), [("who", "ana")])
    events.put(event(1), [("who", "bob")])
    assert events.newest(("who", "ana")) == [] and ids(events.newest(("who", "bob"))) == ["e1"]


def test_what_is_no_item_and_no_limit_is_refused() -> None:
    with pytest.raises(WrongType):
        Events().put("event")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidLimit):
        Events(0)
    assert Events().newest(("who", "nobody")) == []


def test_messages_are_events_as_well() -> None:
    events = Events()
    events.put(Message("user", "hello", id="m"), [("what", "said")])
    assert ids(events.newest(("what", "said"), ("what", "done"))) == ["m"]
