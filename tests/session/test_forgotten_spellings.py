"""What repeats something that is forgotten is found, however it is spelt; what only has its name is none."""

import asyncio
import json
from collections.abc import Callable

import pytest

from quire.items import Note, ToolResult
from quire.stores.tombstones import is_tombstone
from tests.session.opened import session

SPELT = 'My card is 4000 1234 5678 9010.\nPlease charge "Jürgen\'s" lamp.  '
SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "stripped": str.strip,
    "JSON": json.dumps,
    "JSON in its letters": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON within JSON": lambda text: json.dumps({"said": json.dumps({"text": text})}),
    "printed": repr,
    "in one line": lambda text: " ".join(text.split()),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_result_that_repeats_it_in_another_spelling_is_emptied(spelling: str) -> None:
    one = session()
    said = one.user(SPELT)
    one.tool(f"the customer wrote: {SPELLINGS[spelling](SPELT)}", call_id=one.call("read").call_id)
    other = one.tool("another customer wrote nothing at all", call_id=one.call("read").call_id)
    one.forget(said.id)
    results = [item for item in one.view() if isinstance(item, ToolResult)]
    assert [is_tombstone(result) for result in results] == [True, False] and results[-1].id == other.id


@pytest.mark.parametrize("where", ["description", "key", "name"])
def test_a_note_that_repeats_it_beside_its_content_is_emptied(where: str) -> None:
    one = session()
    said = one.user("alarm code 4711 88 22")
    noted = {
        "description": Note({"a": 1}, key="customer", description="He wrote: alarm code 4711 88 22"),
        "key": Note({"a": 1}, key="alarm code 4711 88 22"),
        "name": Note({"alarm code 4711 88 22": 1}, key="customer"),
    }
    asyncio.run(one.put(noted[where]))
    one.forget(said.id)
    assert "4711 88 22" not in str([(note.key, note.description, note.content) for note in one.pool])


def test_what_only_has_the_same_name_for_a_value_stays() -> None:
    one = session()
    note = Note({"customer_address": "12 Elm Street, Springfield"}, key="customer-preferences")
    asyncio.run(one.put(note))
    one.tool("customer_address of customer-preferences is asked for", call_id=one.call("read").call_id)
    one.forget(note.id)
    assert [is_tombstone(item) for item in one.view() if isinstance(item, ToolResult)] == [False]
