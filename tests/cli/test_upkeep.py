"""`quire prune` and `quire vacuum`, on every store that lasts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quire import Budget, Session, Template
from quire.items import use_clock
from quire.memory import Knowledge, Recall
from quire.sections import History
from quire.session import Job
from quire.stores import Store
from tests.cli.command_line import ANSWER, ran, ran_json, run
from tests.stores.keeping import LASTING, kept

NOW, DAY = 1_784_116_800.0, 86_400.0
QUOTING = Template(Recall(), History(), budget=Budget(window=8_000), model="gpt-5.6")


@pytest.fixture(params=LASTING)
def at(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[list[str], Store]]:
    """Options of a command for a store of each kind, and the store."""
    with kept(request.param) as held:
        options = ["--store", held.shelf.url]
        if held.shelf.key is not None:
            (tmp_path / "key").write_bytes(held.shelf.key)
            options += ["--key-file", str(tmp_path / "key")]
        yield options, held.store


def say(store: Store, address: str, days_ago: float, text: str = "Hello") -> Session:
    """A conversation whose last entry was made some days ago."""
    with use_clock(lambda: NOW - days_ago * DAY):
        session = Session.open(address, store=store)
        session.user(text)
    return session


def left(store: Store) -> list[str]:
    return [str(place) for place in store.places()]


def test_what_was_idle_goes_and_all_else_stays(at: tuple[list[str], Store]) -> None:
    options, store = at
    for address, days in (("ana/old", 100), ("ana/new", 5), ("bob/old", 31), ("bob/edge", 29)):
        say(store, address, days)
    with use_clock(lambda: NOW):
        listed = ran("prune", "--idle", "30", "--dry-run", *options).stdout
        assert "ana/old" in listed and "bob/old" in listed and "new" not in listed and "edge" not in listed
        assert ran_json("prune", "--idle", "30", "--dry-run", *options)["removed"] == []
        assert run("prune", "--idle", "30", *options, given="n\n").exit_code == 1
        assert len(left(store)) == 4
        done = ran_json("prune", "--idle", "30", "--scope", "ana", "--yes", *options)
        assert done == {"idle": ["ana/old"], "removed": ["ana/old"]}
        assert "1 conversation removed\n" in ran("prune", "--idle", "30", *options, given="y\n").stdout
        assert left(store) == ["ana/new", "bob/edge"]
        assert ran("prune", "--idle", "30", *options).stdout == "0 conversations removed\n"


def test_what_others_quoted_of_it_is_forgotten_too(at: tuple[list[str], Store]) -> None:
    options, store = at
    say(store, "ana/old", 100, "The word for the locker is swordfish.")
    with use_clock(lambda: NOW):
        session = Session.open("ana/new", store=store)
        session.user("Which word opens the locker?")
        context = session.build(QUOTING)
        assert "swordfish" in str(context.render("openai").payload)
        context.sent()
        ran("prune", "--idle", "30", "--yes", *options)
        found = [entry.body for place in store.places() for entry in store.read(place)]
    assert left(store) == ["ana/new", "ana/~recalled"]
    assert found and not any(b"swordfish" in body for body in found)


async def test_a_past_in_use_work_that_waits_and_documents_stay(at: tuple[list[str], Store]) -> None:
    options, store = at
    parent = say(store, "ana/parent", 100)
    with use_clock(lambda: NOW - 90 * DAY):
        idle = parent.fork("idle")
    with use_clock(lambda: NOW - 3 * DAY):
        idle.fork("young").user("More")
    with use_clock(lambda: NOW - 80 * DAY):
        parent.fork("gone")
        later = Session.open("ana/later", store=store)
        await later.jobs.submit(Job.of("Remind me.", not_before=NOW + DAY))
        Knowledge(store, scope="ana").add_text("The handbook.", source="handbook")
    with use_clock(lambda: NOW):
        assert ran_json("prune", "--idle", "30", "--yes", *options)["removed"] == ["ana/parent%2Fgone"]


def test_a_family_goes_together_and_of_an_emptied_scope_nothing_is_left(
    at: tuple[list[str], Store],
) -> None:
    options, store = at
    parent = say(store, "ana/parent", 100)
    with use_clock(lambda: NOW - 90 * DAY):
        parent.fork("one").user("More")
    with use_clock(lambda: NOW):
        removed = ran_json("prune", "--idle", "30", "--yes", *options)["removed"]
    assert removed == ["ana/parent%2Fone", "ana/parent"] and left(store) == []


def test_room_is_given_back_and_what_is_shown_explained_and_undoable_stays(
    at: tuple[list[str], Store],
) -> None:
    options, store = at
    session = Session.open("ana/one", store=store)
    gone = [session.user(f"{number}. " + "words " * 1_000).id for number in range(40)][10:20]
    edit = session.hide(session.view()[3])
    session.forget(*gone)
    session.build(QUOTING).render("openai")
    session.record(ANSWER)

    def known() -> tuple[object, ...]:
        opened = Session.open("ana/one", store=store)
        kept = opened.receipts[-1]
        return list(opened.view()), kept.entries, kept.payload().payload

    before = known()
    done = ran_json("vacuum", *options)
    assert done["after"] < done["before"] or not store.has_checkpoints or not done["before"]
    assert known() == before
    assert "bytes before" in (told := ran("vacuum", *options).stdout) or told == "done\n"
    Session.open("ana/one", store=store).undo(edit.id)
    assert len(session.view()) == len(before[0]) + 1  # type: ignore[arg-type]
