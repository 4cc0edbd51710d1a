"""Direct messages: by priority, then newest; what has expired is not read."""

import pytest
from hypothesis import given, strategies as st

from quire.bridges.loom.letters import USUAL_PRIORITY, in_order, is_good
from quire.items import Address, Item, Message, Note

priorities = st.none() | st.sampled_from((0.0, 0.2, 0.5, 0.8, 1.0))
addresses = st.builds(
    Address, to=st.just("ana"), priority=priorities, expires_at=st.none() | st.floats(0, 20)
)
letters = st.lists(
    st.builds(Message, st.just("user"), st.just("hello"), address=addresses, created_at=st.floats(0, 20)),
    max_size=12,
)


def priority(letter: Item) -> float:
    assert isinstance(letter, Message) and letter.address is not None
    return USUAL_PRIORITY if letter.address.priority is None else letter.address.priority


@pytest.mark.laws
@given(letters, st.floats(0, 20))
def test_what_is_good_is_read_by_priority_then_the_newest_first(given: list[Message], at: float) -> None:
    read = in_order(given, at)
    ends = {one.id: one.address.expires_at for one in given if one.address is not None}
    expired = [one for one in given if (end := ends[one.id]) is not None and end <= at]
    assert {one.id for one in read} == {one.id for one in given} - {one.id for one in expired}
    ranks = [(priority(one), one.created_at) for one in read]
    assert ranks == sorted(ranks, reverse=True)


def test_of_one_moment_the_last_is_the_newest() -> None:
    same = [Message("user", "x", id=f"m{n}", created_at=1.0, address=Address("ana")) for n in range(3)]
    assert [one.id for one in in_order(same, 2.0)] == ["m2", "m1", "m0"]


def test_what_has_no_address_never_expires() -> None:
    assert is_good(Note("x"), 1e10) and is_good(Message("user", "x"), 1e10)
    assert not is_good(Message("user", "x", address=Address("ana", None, 5.0)), 5.0)
