"""Where a whole conversation or a document goes, so does what others had recalled of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quire import Session
from quire.session.remembering import take_out
from quire.stores import MemoryStore, Store
from tests.session.recalling import SECRET, looked_up, quoted, results, told
from tests.session.test_forgetting import kept_bytes


def test_a_conversation_that_is_taken_out_whole_leaves_no_copies() -> None:
    store = MemoryStore()
    monday, _ = told(store)
    quoted(store, "tuesday")
    looked_up(store, "wednesday")
    take_out(store, monday.place)
    assert b"swordfish" not in kept_bytes(store)


def test_those_who_recalled_and_are_gone_are_not_begun_again() -> None:
    store = MemoryStore()
    monday, secret = told(store)
    tuesday = quoted(store, "tuesday")
    take_out(store, tuesday.place)
    monday.forget(secret.id)
    assert "tuesday" not in store.conversations("ana")


def test_the_last_of_a_scope_leaves_nothing_of_who_recalled() -> None:
    store = MemoryStore()
    monday, _ = told(store)
    tuesday = quoted(store, "tuesday")
    take_out(store, monday.place)
    assert list(store.conversations("ana")) == ["tuesday", "~recalled"]
    take_out(store, tuesday.place)
    assert store.scopes() == []


def test_what_is_sealed(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kept.db", key=bytes(32)) as store:
        monday = Session.open("ana/monday", store=store)
        monday.user(SECRET)
        wednesday = looked_up(store, "wednesday")
        take_out(store, monday.place)
        wednesday.refresh()
        assert results(wednesday) == ["[forgotten]"]


DOCUMENT = f"# Travel\n\n{SECRET}"


@pytest.mark.parametrize("tool", ["recall", "search_knowledge"])
@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_document_that_is_gone_is_gone_where_it_was_recalled(tool: str, how: str) -> None:
    store = MemoryStore()
    one = Session.open("ana/one", store=store)
    one.memory.knowledge.add_text(DOCUMENT, source="travel.md")
    quoted(store, "tuesday")
    wednesday = looked_up(store, "wednesday", tool)
    if how == "removed":
        one.memory.knowledge.remove("travel.md")
    else:
        one.memory.knowledge.add_text("# Travel\n\nNothing yet.", source="travel.md")
    assert b"swordfish" not in kept_bytes(store)
    assert results(wednesday) == ["[forgotten]"]


REMOVING = """
import sys
from quire.memory import Knowledge
from quire.stores import Store
with Store.open(sys.argv[1]) as store:
    Knowledge(store, "ana").remove("travel.md")
assert "quire.session" not in sys.modules
"""


def test_a_document_that_goes_where_no_session_is_goes_from_those_that_are_opened_next(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "kept.db")
    with Store.open(path) as store:
        Session.open("ana/one", store=store).memory.knowledge.add_text(DOCUMENT, source="travel.md")
        looked_up(store, "wednesday")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    subprocess.run([sys.executable, "-c", REMOVING, path], env=environment, check=True)
    with Store.open(path) as store:
        assert results(Session.open("ana/wednesday", store=store)) == ["[forgotten]"]
        assert not [file for file in tmp_path.iterdir() if b"swordfish" in file.read_bytes()]
