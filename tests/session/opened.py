"""What tests of sessions share: stores of every kind, sessions on them, and processes that die."""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from quire import Budget, Session, Template
from quire.items import Item, Message
from quire.sections import History, Instructions
from quire.stores import Entry, MemoryStore, Place, Store
from tests.stores.server import database

T = TypeVar("T")
KEY = bytes(range(32))
FILES = {"sqlite": "kept.db", "sealed": "sealed.db", "jsonl": "kept.jsonl"}
KINDS = ("memory", *FILES, "postgres")
TEMPLATE = Template(Instructions("Be brief."), History(), budget=Budget(window=8_000), model="gpt-5.6")
SECRET = "the number is swordfish-0815-1234"
_WRITES = ("append", "replace", "remove", "scrub")


class Shelf:
    """A store that is opened once or several times, as other processes would open it."""

    def __init__(self, url: str | None, folder: Path, key: bytes | None) -> None:
        self._url, self.folder, self._key = url, folder, key
        self._opened: list[Store] = []
        self.store = self.open()

    def open(self) -> Store:
        """One more opening; entries in memory are copied, since no other process sees them."""
        if self._url is not None:
            store = Store.open(self._url, key=self._key)
        else:
            store = twin(self._opened[-1]) if self._opened else MemoryStore()
        self._opened.append(store)
        return store

    def reopen(self) -> Store:
        """The store as it is found after a restart."""
        if self._url is not None:
            self.close()
        self.store = self.open()
        return self.store

    def holding(self, words: str) -> list[str]:
        """Entries and files that contain some words."""
        found = [str(place) for place, body in bodies(self.store) if words.encode() in body]
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return found + [path.name for path in files if words.encode() in path.read_bytes()]

    def close(self) -> None:
        """Close all openings."""
        for store in self._opened:
            store.close()
        self._opened.clear()


@contextmanager
def shelf(kind: str) -> Generator[Shelf]:
    """A fresh store of a kind."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        url = stack.enter_context(database()) if kind == "postgres" else None
        if kind in FILES:
            url = str(folder / FILES[kind])
        found = Shelf(url, folder, KEY if kind == "sealed" else None)
        stack.callback(found.close)
        yield found


def bodies(store: Store) -> Generator[tuple[Place, bytes]]:
    """All that is written in a store."""
    for scope in store.scopes():
        for name in store.conversations(scope):
            for entry in store.read(Place(scope, name)):
                yield Place(scope, name), entry.body


def kept_bytes(store: Store) -> bytes:
    """The bodies of all entries."""
    return b"".join(body for _, body in bodies(store))


def twin(other: Store) -> MemoryStore:
    """The same entries in another store, as another process would read them."""
    copied = MemoryStore()
    for scope in other.scopes():
        for name in other.conversations(scope):
            place = Place(scope, name)
            entries = [Entry(stored.stream, stored.body) for stored in other.read(place)]
            copied.append(place, entries, expected=0)
    return copied


class Died(BaseException):
    """The process was killed."""


def watch(store: Store, step: Callable[[str, Place | None], None], verbs: Iterable[str] = _WRITES) -> None:
    """Call a function before and after each write to a store."""

    def watched(name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **options: Any) -> Any:
            place = args[0] if args else None
            step(f"before {name}", place)
            given = verb(*args, **options)
            step(f"after {name}", place)
            return given

        return called

    for name in verbs:
        setattr(store, name, watched(name, getattr(store, name)))


def dies_at(store: Store, fatal: int) -> Callable[[], int]:
    """Let the process die at a step of its writes, and write nothing after that; the count of steps."""
    count = 0

    def step(*_: object) -> None:
        nonlocal count
        count += 1
        if fatal and count >= fatal:
            raise Died

    watch(store, step)
    return lambda: count


def session(store: Store | None = None, **options: Any) -> Session:
    """The conversation `ana/q3`, in memory unless a store is given."""
    return Session.open("ana/q3", store=store or MemoryStore(), **options)


@contextmanager
def two(kind: str = "sqlite", **options: Any) -> Generator[tuple[Session, Session]]:
    """Two sessions of one conversation that share no memory: the first has the options."""
    with shelf(kind) as held:
        yield session(held.store, **options), session(held.open())


def run(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives, within half a minute."""
    return asyncio.run(asyncio.wait_for(work, 30))


def said(*words: str) -> list[Item]:
    """Messages, of the user and the assistant in turn."""
    return [Message("user" if index % 2 == 0 else "assistant", word) for index, word in enumerate(words)]


def texts(items: Iterable[Item]) -> list[str]:
    """What messages say, and the kind of what says nothing."""
    return [item.text if isinstance(item, Message) else type(item).__name__ for item in items]


def ids(items: Iterable[Item]) -> list[str]:
    """The ids of items."""
    return [item.id for item in items]


def talk(one: Session, turns: int, name: str = "x") -> None:
    """Some turns of small talk."""
    for n in range(turns):
        one.user(f"{name} question {n}")
        one.assistant(f"{name} answer {n}")


def answer(words: str, *, input: int = 30, output: int = 2, model: str | None = "gpt-5.6") -> dict[str, Any]:
    """A reply of the Chat Completions API."""
    usage = {"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": words}}
    named = {} if model is None else {"model": model}
    return {"object": "chat.completion", "choices": [choice], "usage": usage, **named}
