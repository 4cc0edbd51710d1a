"""Forks, children and merges: a past that is shared, ways that are apart, and what comes back."""

from typing import Any

import pytest

from quire.compactors import Cascade, Offload, TruncateOldest, read_back
from quire.errors import DuplicateId, Forgotten, InvalidValue
from quire.items import Message, Note, Summary, ToolCall, ToolResult
from quire.models import Scripted
from quire.session import Session, family
from quire.stores import MemoryStore
from quire.tokens import counter_for
from tests.session.opened import TEMPLATE, ids, said, session, texts, twin, watch
from tests.stores.keeping import kept


def opened(conversation: str, store: MemoryStore) -> Session:
    return Session.open(scope="ana", conversation=conversation, store=store)


def test_a_fork_can_be_narrowed_to_turns_and_tools() -> None:
    store = MemoryStore()
    one = session(store)
    one.append(*said("a", "b", "c", "d", "e"), ToolCall("c1", "look"))
    child = one.fork("narrow", turns=1)
    one.append(*said("later"))
    child.assistant("done")
    assert texts(child.view())[0] == "e" and child.view().pending() == [] and one.view().pending() != []
    assert ids(opened("q3/narrow", twin(store)).view()) == ids(child.view())
    one.tool("found", call_id="c1")
    assert not [item for item in one.fork("bare", tools=[]).view() if isinstance(item, ToolCall)]


def test_a_family_says_where_each_fork_began_and_how_long_it_is() -> None:
    store = MemoryStore()
    one = session(store)
    one.append(*said("a", "b", "c"))
    one.pool.keep(Note("a note", key="key"))
    early, late = one.fork("early", at=2), one.fork("late")
    late.append(*said("d", "e"))
    deep = late.fork("deep")
    deep.user("f")
    one.child("empty").user("alone")
    opened("q33", store).user("another family")
    rows = {row.place.conversation: row[1:] for row in family(store, one.place)}
    assert rows == {  # parent, version there, items of the past, items
        "q3": (None, 0, 0, 3),
        "q3/early": ("q3", 2, 2, 2),
        "q3/empty": (None, 0, 0, 1),
        "q3/late": ("q3", 3, 3, 5),
        "q3/late/deep": ("q3/late", late.version, 5, 6),
    }
    assert family(store, early.place) == family(store, deep.place) == family(store, one.place)
    nearest = family(store, deep.place, 3)
    assert [row.place.conversation for row in nearest] == ["q3", "q3/late", "q3/late/deep"]


def test_a_summary_of_what_a_fork_did() -> None:
    one = session()
    one.append(*said("a"))
    child = one.fork("checker")
    child.append(*said("Check it.", "It is right."))
    with pytest.raises(InvalidValue):
        one.merge(child, keep="summary")
    model = Scripted(["It was checked."])
    written = one.merge(child, keep="summary", model=model)
    assert [item.text for item in written if isinstance(item, Summary)] == ["It was checked."]
    assert "It is right." in str(model.requests[0].payload) and one.spending.requests == 1
    assert one.merge(child, keep="summary", model=model) == ()


def test_what_is_of_another_scope_or_store_is_not_merged() -> None:
    store = MemoryStore()
    one = session(store)
    one.user("go")
    for other in (Session.open("bob/x", store=store), opened("other", MemoryStore())):
        other.append(*said("do", "done"))
        for keep in ("all", "result", "summary"):
            with pytest.raises(InvalidValue):
                one.merge(other, keep=keep, model=Scripted(["x"]))
    assert texts(one.view()) == ["go"] and one.version == 1


@pytest.mark.parametrize("keep", ["all", "result"])
def test_a_merge_that_would_bring_another_item_of_one_id_is_refused(keep: Any) -> None:
    store = MemoryStore()
    one, other = session(store), opened("other", store)
    one.append(Message("user", "mine", id="1"), Message("assistant", "yes", id="2"))
    other.append(Message("user", "theirs", id="1"), Message("assistant", "no", id="2"))
    with pytest.raises(DuplicateId):
        one.merge(other, keep=keep)
    assert texts(one.view()) == ["mine", "yes"]


def test_a_merge_beside_another_writer_is_done_again_on_what_it_wrote() -> None:
    with kept("sqlite") as held:
        one, other = session(held.store), session(held.open())
        one.append(*said(*"abcdef"))
        child = one.fork("x", turns=2)
        child.append(*said("do", "done"))
        races = iter(range(3))

        def step(name: str, place: Any) -> None:
            if name == "before append" and place == one.place and next(races, None) is not None:
                other.user("meanwhile")

        watch(held.store, step, ["append"])
        one.merge(child)
        assert texts(one.view())[6:] == [*["meanwhile"] * 3, "do", "done"]
        assert texts(session(held.open()).view()) == texts(one.view())


def test_a_fork_whose_parent_was_taken_out_is_forgotten() -> None:
    store = MemoryStore()
    one = session(store)
    one.user("go")
    one.fork("x").user("on")
    store.remove(one.place)
    with pytest.raises(Forgotten):
        opened("q3/x", twin(store))
    session(store).append(*said("another", "conversation"))
    with pytest.raises(Forgotten):
        opened("q3/x", twin(store))


@pytest.mark.parametrize("redacts", [False, True])
def test_a_long_output_that_a_stub_names_comes_with_the_merge(redacts: bool) -> None:
    def redact(item: Any) -> Any:
        hidden = redacts and isinstance(item, Note)
        return Note("hidden", key=item.key, id=item.id, created_at=item.created_at) if hidden else item

    one = session(compactor=Cascade(Offload(), TruncateOldest()), redact=redact)
    one.user("start")
    child = one.fork("side")
    child.pool.keep(Note("not named by anything", key="mine"))
    child.user("read it")
    child.append(ToolCall("c1", "look"), ToolResult("c1", "look", "the marmalade is here\n" * 6_000))
    child.build(TEMPLATE)
    child.assistant("done")
    one.merge(child)
    stub = next(item for item in one.view() if isinstance(item, ToolResult)).text
    (note,) = one.pool
    assert note.key is not None and note.key in stub
    told = read_back(one.pool.copy(), note.key, counter_for("gpt-5.6"), 50)
    assert ("hidden" in told) if redacts else told.startswith("the marmalade is here")
    one.merge(child)
    assert len(one.pool) == 1
