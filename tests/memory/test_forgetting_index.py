"""Whatever forgets, nothing of it stays in the bytes of an index that lasts, open or not, nor names of it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from quire.items import Note
from quire.memory import Knowledge, Memory
from quire.memory.index import opening
from quire.memory.index.lasting import Lasting
from quire.memory.index.lasting.removing import is_unclean
from quire.session import Session, forgetting, remove_conversation
from quire.stores import Place, Store
from tests.stores.server import database

SECRETS = (b"heliotrope", b"zinnia", b"vault.md")
"""What was said, the conversation it was said in or the document's title, and the document's name."""

STEPS = ("_empty", "_finish", "wipe")
"""Where who forgets may be broken off."""

TALK = Place("ana", "zinnia")
ROOT = Path(__file__).parents[2]

Verb = Callable[[Store, str], object]


def run(*arguments: str) -> None:
    """Do it in another process, which has nothing open."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)


def command(*arguments: str) -> Verb:
    return lambda _, address: run("-m", "quire", *arguments, "--store", address)


def of_documents(work: Callable[[Any], object]) -> Verb:
    return lambda store, _: work(Knowledge(store, "ana"))


def pruned(store: Store, _: str) -> None:
    with TemporaryDirectory() as folder:
        Knowledge(store, "ana").add(folder, name="notes", prune=True)


CONVERSATIONS: dict[str, Verb] = {
    "store.forget": lambda store, _: remove_conversation(store, TALK),
    "quire forget --all": command("forget", "ana/zinnia", "--all", "--yes"),
}
DOCUMENTS: dict[str, Verb] = {
    "remove": of_documents(lambda documents: documents.remove("notes/vault.md")),
    "quire knowledge rm": command("knowledge", "rm", "notes/vault.md", "--scope", "ana"),
}
TEXTS: dict[str, Verb] = {
    "session.forget": lambda store, _: forget_in_session(store),
    "replace": of_documents(
        lambda documents: documents.add_text("Nothing is here.", source="notes/vault.md")
    ),
}


def forget_in_session(store: Store) -> None:
    Session.open("ana/zinnia", store=store).forget()


def broken_off(at: str) -> Verb:
    """Forget, be broken off at some step, and let the next who opens the conversation finish it."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    def forget(store: Store, _: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(forgetting, at, stop)
            with pytest.raises(KeyboardInterrupt):
                forget_in_session(store)
        Session.open("ana/zinnia", store=store)

    return forget


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(opening, "SMALL", 0)
    if request.param == "sqlite":
        yield str(tmp_path / "chats.db")
    else:
        with database() as url:
            yield url


def talk(store: Store) -> None:
    Session.open("ana/zinnia", store=store).user("The word for the locker is heliotrope.")


def add(store: Store) -> None:
    text = "The word for the locker is heliotrope."
    Knowledge(store, "ana").add_text(text, source="notes/vault.md", title="zinnia")


def found_in(store: Store, address: str) -> set[bytes]:
    """The secrets that are in the files of a folder, or in rows of a database and samples of them."""
    if not address.startswith("postgres"):
        files = [path for path in Path(address).parent.iterdir() if path.is_file()]
        assert any("-index" in path.name for path in files) or not store.conversations("ana")
        return {secret for path in files for secret in SECRETS if secret in path.read_bytes()}
    rows = _rows(address)
    return {secret for secret in SECRETS if secret in rows or secret.hex().encode() in rows}


def _rows(address: str) -> bytes:
    import psycopg

    tables = b"""SELECT table_schema || '.' || table_name FROM information_schema.tables
        WHERE table_schema IN ('quire', 'quire_index')"""
    samples = b"""SELECT concat(most_common_vals::text, histogram_bounds::text) FROM pg_stats
        WHERE schemaname IN ('quire', 'quire_index')"""
    with psycopg.connect(address, autocommit=True) as connection:
        names = [row[0] for row in connection.execute(tables).fetchall()]
        rows = [row for name in names for row in connection.execute(f"SELECT * FROM {name}".encode())]
        rows += connection.execute(samples).fetchall()
        connection.execute("ANALYZE")  # for who looks next: samples are of what was there before
    values = [value for row in rows for value in row]
    return b"\n".join(value if isinstance(value, bytes) else str(value).encode() for value in values)


@pytest.mark.parametrize(
    "is_open", [True, False], ids=["open, among others", "not open, the last of its scope"]
)
@pytest.mark.parametrize(
    ("make", "verb", "may_stay"),
    [
        *(pytest.param(talk, verb, set[bytes](), id=name) for name, verb in CONVERSATIONS.items()),
        *(pytest.param(add, verb, set[bytes](), id=name) for name, verb in DOCUMENTS.items()),
        pytest.param(talk, TEXTS["session.forget"], {b"zinnia"}, id="session.forget"),
        *(pytest.param(talk, broken_off(at), {b"zinnia"}, id=f"broken off at {at}") for at in STEPS),
        pytest.param(add, TEXTS["replace"], {b"vault.md"}, id="replace"),
        pytest.param(add, pruned, set[bytes](), id="prune"),
    ],
)
def test_nothing_stays(
    address: str,
    make: Callable[[Store], None],
    verb: Verb,
    may_stay: set[bytes],
    is_open: bool,
) -> None:
    with Store.open(address) as store:
        if is_open:
            Session.open("ana/before", store=store).user("It was mild, with a little wind.")
        make(store)
        if is_open:
            Memory.of(store, "ana").search("locker")  # so that the next one follows it in the index
            Session.open("ana/behind", store=store).user("It was mild, with a little wind.")
        assert Memory.of(store, "ana").search("locker").hits
        assert b"heliotrope" in found_in(store, address)
        if is_open:
            verb(store, address)
            assert found_in(store, address) <= may_stay
    if not is_open:
        with Store.open(address) as store:
            verb(store, address)
            assert found_in(store, address) <= may_stay


def test_nothing_stays_of_what_was_superseded_before(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes another's place costs no wiping; that is done when something is forgotten, for both."""
    wiped: list[bool] = []
    monkeypatch.setattr(Lasting, "_wipe", counted(Lasting._wipe, wiped))  # pyright: ignore
    with Store.open(address) as store:
        session = Session.open("ana/one", store=store)
        for nth in range(40):
            session.user(f"It was mild on day {nth}.")
        session.pool.keep(Note("The word for the locker is heliotrope.", key="locker"))
        assert Memory.of(store, "ana").search("locker").hits
        wiped.clear()
        for nth in range(40):
            session.pool.keep(Note(f"The word for the locker is primrose {nth}.", key="locker"))
            assert len(Memory.of(store, "ana").search("locker").hits) == 1
        assert not any(wiped)
    with Store.open(address) as store:
        Memory(store, "ana").catch_up()
        assert not any(wiped)
        Session.open("ana/one", store=store).forget()
        assert any(wiped)
        assert found_in(store, address) == set()


def counted(wipe: Callable[[Lasting], None], wiped: list[bool]) -> Callable[[Lasting], None]:
    def wiping(index: Lasting) -> None:
        wiped.append(index._tables.read(is_unclean) is not None)  # pyright: ignore[reportPrivateUsage]
        wipe(index)

    return wiping


def found_in_files(folder: Path) -> set[bytes]:
    return {secret for path in folder.iterdir() for secret in SECRETS if secret in path.read_bytes()}


def test_copies_in_an_index_go_with_what_they_are_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a conversation recalled beside other work is found by its words, and so has to go from there."""
    from quire import Agent, Budget, Template, tool
    from quire.agent.builtin import recall_tools
    from quire.items import ToolCall
    from quire.models import Scripted
    from quire.sections import History

    @tool
    def weather() -> str:
        """Say how the weather is."""
        return "It is mild."

    monkeypatch.setattr(opening, "SMALL", 0)
    with Store.open(tmp_path / "chats.db") as store:
        talk(store)
        other = Session.open("ana/other", store=store)
        calls = [ToolCall("a", "weather", "{}"), ToolCall("b", "recall", '{"question": "the locker"}')]
        agent = Agent(
            other,
            Template(History(), budget=Budget(window=4_000)),
            model=Scripted([calls, "Done."]),
            tools=[weather, *recall_tools()],
        )
        asyncio.run(agent.ask("What is the word for the locker?"))
        assert Memory.of(store, "ana").search("heliotrope").hits
        Session.open("ana/zinnia", store=store).forget()
        assert b"heliotrope" not in found_in_files(tmp_path)
