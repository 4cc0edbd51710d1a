"""`quire undo` and `quire forget`."""

import json
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire.items import Hide, Span
from quire.session import Session
from quire.stores import Store, place_at
from tests.cli.conversing import ran, refused, run
from tests.cli.keeping import ENDINGS, KEY, conversation_in, ids_in, seeded
from tests.session.recalling import SECRET, looked_up


@pytest.fixture(params=ENDINGS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return seeded(tmp_path / f"chats.{request.param}")


def test_the_last_edit_is_taken_back(store: str) -> None:
    summary = conversation_in(store)[1]
    said = ran("undo", "ana/q3", "--store", store).stdout
    assert f"{summary.id} is taken back" in said
    assert summary.id not in ids_in(store)
    assert "no edit to undo" in refused(1, "undo", "ana/q3", "--store", store)


def test_an_edit_by_its_id_in_whichever_transcript(store: str) -> None:
    with Store.open(store) as opened:
        session = Session.open("ana/q3", store=opened)
        one = session.user("one", to="attempt_a")
        session.user("two", to="attempt_a")
        session.append(hidden := Hide((Span(one.id, one.id),)), to="attempt_a")
    done = json.loads(ran("undo", "ana/q3", hidden.id, "--store", store, "--json").stdout)
    assert done == {"address": "ana/q3", "undone": hidden.id, "shown": 2, "before": 1}


def test_what_cannot_be_taken_back(store: str) -> None:
    before = ids_in(store)
    assert "no item 'none' at revision" in refused(1, "undo", "ana/q3", "none", "--store", store)
    refused(1, "undo", "ana/q3", before[0], "--store", store)  # no edit
    assert "no transcript 'b'" in refused(1, "undo", "ana/q3", "--store", store, "--transcript", "b")
    assert ids_in(store) == before


def test_items_are_forgotten_and_their_content_is_nowhere(store: str) -> None:
    asked = conversation_in(store)[-1]
    assert "1 item of ana/q3 forgotten" in ran("forget", "ana/q3", asked.id, "--store", store).stdout
    assert conversation_in(store)[-1].content == "[forgotten]"
    files = [path for path in Path(store).parent.iterdir() if path.name.startswith("chats")]
    assert files and not any(b"And Q4?" in path.read_bytes() for path in files)
    assert "1 item forgotten" in ran("log", "ana/q3", "--store", store).stdout


def test_an_unknown_item_forgets_nothing(store: str) -> None:
    before = conversation_in(store)
    said = refused(1, "forget", "ana/q3", before[0].id, "none", "--store", store)
    assert "no item 'none' in ana/q3" in said
    assert conversation_in(store) == before


def test_what_a_conversation_goes_by_is_not_forgotten(store: str) -> None:
    before = ran("log", "ana/q3", "--store", store).stdout
    spent = next(line for line in before.splitlines() if "spent" in line)
    said = refused(1, "forget", "ana/q3", spent.split()[5], "--store", store)
    assert "that can be forgotten" in said
    assert ran("log", "ana/q3", "--store", store).stdout == before


def test_a_whole_conversation_is_asked_for(store: str) -> None:
    seeded(Path(store), "ana/other")
    ask = ("forget", "ana/q3", "--store", store, "--all")
    assert "one of the two" in refused(2, "forget", "ana/q3", "--store", store)
    assert "one of the two" in refused(2, *ask, "some-id")
    for given in ("n\n", "\n", ""):
        done = run(*ask, given=given)
        assert done.exit_code == 1 and "for ever?" in done.stderr
    assert len(ids_in(store)) == 4
    assert "ana/q3 forgotten: 8 entries" in run(*ask, given="y\n").stdout
    assert "no conversation ana/q3" in refused(1, *ask)
    assert json.loads(ran("forget", "ana/other", "--store", store, "--all", "--yes", "--json").stdout) == {
        "address": "ana/other",
        "forgotten": "all",
    }
    assert json.loads(ran("ls", "--store", store, "--json").stdout) == []


def test_what_forks_began_with_is_not_taken_from_them(store: str) -> None:
    with Store.open(store) as opened:
        Session.open("ana/q3", store=opened).fork("kid").user("more")
        Session.open("ana/q3%2Fno-fork", store=opened).user("named as one")
    said = refused(1, "forget", "ana/q3", "--store", store, "--all", "--yes")
    assert "forget them first: ana/q3%2Fkid\n" in said
    ran("forget", "ana/q3%2Fkid", "--store", store, "--all", "--yes")
    ran("forget", "ana/q3", "--store", store, "--all", "--yes")


def test_a_conversation_whose_key_is_lost_can_be_forgotten(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db", key=KEY)
    ran("forget", "ana/q3", "--store", store, "--all", "--yes")
    assert json.loads(ran("ls", "--store", store, "--json").stdout) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_conversation_that_was_forgotten_half_way_is_finished(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"chats.{ending}"
    with Store.open(path) as opened:
        Session.open("ana/monday", store=opened).user(SECRET)
        looked_up(opened, "wednesday")
        opened.remove(place_at("ana/monday"))  # as where it was broken off before the quotes went
    said = refused(1, "forget", "ana/monday", "--store", str(path), "--all", "--yes")
    assert "no conversation ana/monday" in said
    assert not [file for file in tmp_path.iterdir() if b"swordfish" in file.read_bytes()]
