"""What is forgotten but not yet wiped from the files holds nobody up, and is wiped at the next chance."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from quire import Session
from quire.errors import StoreFailed
from quire.stores import Place, Store
from quire.stores.sqlite import SQLiteStore
from tests.session.opened import texts
from tests.session.recalling import PLAIN, SECRET
from tests.stores.keeping import held_in, read_by_another


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire.stores.sqlite_file.PATIENCE", 0.1)


def unwiped(one: Session) -> set[str]:
    return one._ledger.workspace.unwiped  # pyright: ignore[reportPrivateUsage]


def drafted(one: Session) -> None:
    with one.draft() as draft:
        asyncio.run(draft.build(PLAIN))
        draft.user("in a draft")


async def drafted_aside(one: Session) -> None:
    async with one.draft() as draft:
        draft.user("in a draft")
        await draft.build(PLAIN)


CHANCES: dict[str, Callable[[Session, Store], object]] = {
    "open": lambda one, store: Session.open(str(one.place), store=store),
    "refresh": lambda one, _: one.refresh(),
    "build": lambda one, _: asyncio.run(one.build(PLAIN)),
    "draft": lambda one, _: drafted(one),
    "draft aside": lambda one, _: asyncio.run(drafted_aside(one)),
}


@pytest.mark.parametrize("chance", CHANCES.values(), ids=CHANCES)
def test_turns_go_on_and_the_first_who_can_wipes_it(
    tmp_path: Path, chance: Callable[[Session, Store], object]
) -> None:
    with closing(SQLiteStore(tmp_path / "kept.db")) as store:
        one = Session.open("ana/monday", store=store)
        secret = one.user(SECRET)
        with read_by_another(store.path):
            with pytest.raises(StoreFailed, match="log could not be emptied"):
                one.forget(secret.id)
            one.user("after")
            chance(one, store)
            assert texts(one.view())[:2] == ["[forgotten]", "after"]
            assert held_in(tmp_path) != [] and unwiped(one)
        chance(one, store)
        assert held_in(tmp_path) == [] and not unwiped(one)


def test_what_is_forgotten_in_a_fork_holds_up_no_relative(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "kept.db")) as store:
        one = Session.open("ana/monday", store=store)
        one.user("hello")
        child, sibling = one.fork("x"), one.fork("y")
        secret = child.user(SECRET)
        with read_by_another(store.path):
            with pytest.raises(StoreFailed, match="log could not be emptied"):
                child.forget(secret.id)
            for each in (one, child, sibling):
                asyncio.run(each.build(PLAIN))
                Session.open(str(each.place), store=store)
        asyncio.run(sibling.build(PLAIN))
        assert held_in(tmp_path) == []
        assert not any(map(unwiped, (one, child, sibling))), "one has done it for all"


def test_a_draft_is_not_begun_again_because_a_file_was_wiped(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "kept.db")) as store:
        one = Session.open("ana/monday", store=store)
        secret = one.user(SECRET)
        with read_by_another(store.path), pytest.raises(StoreFailed):
            one.forget(secret.id)
        assert unwiped(one)
        with one.draft() as draft:
            draft.user("meanwhile")
            one.refresh()
            assert not unwiped(one)
        assert texts(one.view()) == ["[forgotten]", "meanwhile"]


def test_forgetting_it_again_says_when_it_is_done(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "kept.db")) as store:
        one = Session.open("ana/monday", store=store)
        secret = one.user(SECRET)
        with read_by_another(store.path):
            for _ in range(2):
                with pytest.raises(StoreFailed, match="log could not be emptied"):
                    one.forget(secret.id)
        one.forget(secret.id)
        assert held_in(tmp_path) == [] and not unwiped(one)


def test_what_is_still_in_the_log_holds_up_whoever_would_show_it(tmp_path: Path) -> None:
    class Failing(SQLiteStore):
        fails = False

        def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
            if self.fails:
                raise StoreFailed("no room left")
            super().replace(place, bodies)

    with closing(Failing(tmp_path / "kept.db")) as store:
        one = Session.open("ana/monday", store=store)
        secret = one.user(SECRET)
        store.fails = True
        with pytest.raises(StoreFailed):
            one.forget(secret.id)
        for chance in CHANCES.values():
            with pytest.raises(StoreFailed):
                chance(one, store)
        store.fails = False
        one.refresh()
        assert held_in(tmp_path) == [] and texts(one.view()) == ["[forgotten]"]
