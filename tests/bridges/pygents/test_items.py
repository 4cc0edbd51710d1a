"""Items: what they have, that they cannot change, when they are equal, and how they are written."""

import pickle
from dataclasses import FrozenInstanceError, fields

import pytest

from quire.bridges.pygents import ContextItem
from quire.bridges.pygents.context import ContextItem as SameItem
from quire.errors import Damaged, Unencodable


def test_only_the_content_has_to_be_given() -> None:
    item = ContextItem({"pages": 3})
    assert (item.content, item.description, item.id) == ({"pages": 3}, None, None)
    assert [field.name for field in fields(item)] == ["content", "description", "id"]
    with pytest.raises(TypeError):
        ContextItem()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("name", ["content", "description", "id"])
def test_an_item_cannot_change(name: str) -> None:
    item = ContextItem(1, "one", "a")
    with pytest.raises(FrozenInstanceError):
        setattr(item, name, "other")
    assert item == ContextItem(1, "one", "a")


def test_items_are_equal_by_their_values() -> None:
    assert ContextItem([1, 2], "d", "a") == ContextItem([1, 2], "d", "a")
    assert ContextItem(1) != ContextItem(2)
    assert ContextItem(1, id="a") != ContextItem(1, id="b")
    assert ContextItem(1, "d") != ContextItem(1, "e")
    assert ContextItem("x") in [ContextItem("y"), ContextItem("x")]
    assert len({ContextItem(1, "d", "a"), ContextItem(1, "d", "a")}) == 1


def test_an_item_is_generic_and_both_modules_have_the_same() -> None:
    assert ContextItem[int](content=4) == ContextItem(4)
    assert SameItem is ContextItem


def test_an_item_can_be_pickled() -> None:
    item = ContextItem({"a": (1, 2)}, "d", "a")
    assert pickle.loads(pickle.dumps(item)) == item


def test_an_item_is_written_and_read_back() -> None:
    item = ContextItem({"data": b"\x00\xff", "$bytes": "no"}, "d", "a")
    data = item.to_dict()
    assert set(data) == {"content", "description", "id"}
    assert ContextItem.from_dict(data) == item


def test_a_content_that_no_codec_writes_is_held_and_named_when_written() -> None:
    content = {"deep": [object()]}
    item = ContextItem(content)
    assert item.content is content
    with pytest.raises(Unencodable) as caught:
        item.to_dict()
    assert caught.value.path == "$.content.deep[0]"


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (None, "$"),
        ({"id": "a"}, "$.content"),
        ({"content": 1, "id": 3}, "$.id"),
        ({"content": 1, "description": []}, "$.description"),
    ],
)
def test_what_is_no_item_is_named_by_its_place(data: object, path: str) -> None:
    with pytest.raises(Damaged) as caught:
        ContextItem.from_dict(data)
    assert caught.value.path == path
