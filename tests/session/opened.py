"""What tests of sessions share: stores of every kind, sessions on them, and processes that die."""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from quire import Budget, Session, Template
from quire.context import Context
from quire.errors import QuireError
from quire.items import Item, Message, ToolCall, new_id
from quire.providers import Rendered
from quire.sections import History, Instructions
from quire.state import Transcript
from quire.stores import MemoryStore, Place, Store
from quire.testing.histories import Author, Op
from tests.stores.keeping import kept, stored_bodies, twin as twin

T = TypeVar("T")
KINDS = ("memory", "sqlite", "sealed sqlite", "json lines", "postgres")
TEMPLATE = Template(Instructions("Be brief."), History(), budget=Budget(window=8_000), model="gpt-5.6")
SECRET = "the number is swordfish-0815-1234"
_WRITES = ("append", "replace", "remove", "scrub", "write_checkpoint")


def called(session: Session, name: str, arguments: str = "{}") -> ToolCall:
    """A call that a session has recorded."""
    call = ToolCall(f"call_{new_id()}", name, arguments)
    session.append(call)
    return call


def kept_bytes(store: Store) -> bytes:
    """The bodies of all entries."""
    return b"".join(body for _, body in stored_bodies(store))


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
    with kept(kind) as held:
        yield session(held.store, **options), session(held.open())


def run(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives, within half a minute."""
    return asyncio.run(asyncio.wait_for(work, 60))


def send(context: Context, wire: str = "openai", **parameters: Any) -> Rendered:
    """What a context is rendered as, and says that it was sent."""
    rendered = context.render(wire)
    context.sent(parameters=parameters or None)
    return rendered


def said(*words: str) -> list[Item]:
    """Messages, of the user and the assistant in turn."""
    return [Message("user" if index % 2 == 0 else "assistant", word) for index, word in enumerate(words)]


def texts(items: Iterable[Item]) -> list[str]:
    """What messages say, and the kind of what says nothing."""
    return [item.text if isinstance(item, Message) else type(item).__name__ for item in items]


def ids(items: Iterable[Item]) -> list[str]:
    """The ids of items."""
    return [item.id for item in items]


def write_op(one: Session, author: Author, op: Op) -> None:
    """Write what a random operation stands for, if the conversation takes it."""
    item = author.item(Transcript(one.view().recorded()), op)
    with suppress(QuireError):
        one.append(*([] if item is None else [item]))


def talk(one: Session, turns: int, name: str = "x") -> None:
    """Some turns of small talk."""
    for n in range(turns):
        one.user(f"{name} question {n}")
        one.assistant(f"{name} answer {n}")


def answer(
    words: str, *, input: int = 30, output: int = 2, cached: int = 0, model: str | None = "gpt-5.6"
) -> dict[str, Any]:
    """A reply of the Chat Completions API."""
    usage: dict[str, Any] = {"prompt_tokens": input, "completion_tokens": output}
    usage |= {"total_tokens": input + output, "prompt_tokens_details": {"cached_tokens": cached}}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": words}}
    named = {} if model is None else {"model": model}
    return {"object": "chat.completion", "choices": [choice], "usage": usage, **named}
