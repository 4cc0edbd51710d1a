"""The attacks of `attacks.toml`, and the ways by which they come into a conversation and through memory."""

import tomllib
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

from quire import Message, Session, Summary, ToolCall, ToolResult
from quire.context import Context, Template
from quire.items import Address, Audio, File, Image, Note
from quire.memory import Recall, Wishes
from quire.models import Scripted
from quire.providers import Rendered
from quire.sections import Catalogue, History, Inbox, Instructions, Pooled
from quire.state import as_imported, is_structural, is_user_message, spans_over
from quire.stores import MemoryStore
from quire.tokens import Budget

FORBIDDEN = "wire_refund"
PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")
QUESTION = "What does the house say about the refund, the order and the account?"


class Attack(NamedTuple):
    """A text, and where it comes in."""

    way: str
    text: str


ROWS = tomllib.loads(Path(__file__).with_name("attacks.toml").read_text("utf-8"))["attack"]
ATTACKS = [Attack(row["way"], text) for row in ROWS for text in row["texts"]]


def opened(name: str = "one", store: MemoryStore | None = None, **options: Any) -> Session:
    return Session.open(f"ana/{name}", store=store or MemoryStore(), **options)


def called(session: Session, number: int, text: Any, name: str = "look") -> None:
    """A call of a tool, and its result."""
    session.append(ToolCall(f"c{number}", name, '{"order": 17}'), ToolResult(f"c{number}", name, text))


def put(session: Session, attack: Attack, number: int = 0) -> None:
    """Let an attack come into a conversation by its way."""
    way, text = attack
    session.user(f"Look at the refund of order {number}.")
    match way:
        case "tool":
            called(session, number, text)
        case "split":
            for place, piece in enumerate(text.split("|")):
                called(session, 100 * number + place, piece)
        case "document":
            session.memory.knowledge.add_text(text, source=f"refund-{number}.md")
        case "document name":
            session.memory.knowledge.add_text(
                "The refund of an order goes to its account.", source=" ".join(text.split())
            )
        case "file name":
            session.user(
                ("See:", File(url=f"https://x.example/{number}", name=text), Image(url=f"https://x/{text}"))
            )
            called(session, number, ("See:", File(data=b"a,b", name=text, media_type="text/csv")))
        case "file":
            session.user(("See:", File(data=text.encode(), name="q2.csv", media_type="text/csv")))
        case "name":
            session.pool.keep(Note("A note.", key=text, description=text, origin="tool"))
            session.append(Note("A note.", key=text, description=text, origin="tool"))
            called(session, number, ("Shot:", Image(data=PIXEL, media_type="image/png")), name=text)
        case "note":
            session.pool.keep(Note(text, key=f"k{number}", description=text, origin="tool"))
            session.append(Note(text, description=text, origin="tool"))
            session.append(Message("user", text, agent_id="peer", address=Address("me")))
            session.append(Message("user", text, agent_id=text, origin="model"))
            session.append(ToolCall(f"l{number}", "look", "{}"))
            session.user("Still there?")
            session.assistant("I am.")
            session.user("So?")
            session.append(ToolResult(f"l{number}", "look", text))
        case "recording":
            said = ("Heard:", Audio(data=b"RIFF....WAVE", media_type="audio/wav", transcript=text))
            session.append(Message("user", said, origin="external"), ToolCall(f"a{number}", "hear", "{}"))
            session.user("Still there?")
            session.assistant("I am.")
            session.append(ToolResult(f"a{number}", "hear", said))
            called(session, number, said)
        case "description":
            pass  # a toolbox is no part of a conversation: see `test_attacks.py`
        case "imported":
            own = Message("system", text), Message("user", text), Message("assistant", "Yes.")
            session.append(*as_imported(own))
        case _:
            raise AssertionError(way)
    session.assistant("I have seen it.")


def rest(session: Session, turns: int = 3) -> None:
    """Some talk that asks for nothing."""
    for turn in range(turns):
        session.user(f"How warm is it on day {turn}?")
        session.assistant("Mild. " * 20)


def shown(session: Session, window: int = 60_000) -> Context:
    """What a model is shown, by all that brings something back."""
    sections = (
        Wishes(),
        Recall("knowledge", "episodes", "working"),
        Catalogue(),
        Pooled(),
        Inbox(),
        History(),
    )
    template = Template(Instructions("You help."), *sections, budget=Budget(window=window))
    inbox = [one for one in session.view() if isinstance(one, Message) and one.address is not None]
    return session.build(template, inbox=[m for n, m in enumerate(inbox) if n < 3])


# Ways through memory. Each yields sessions whose next request is looked at.

Route = Callable[[list[Attack]], Iterator[Context]]


def plainly(attacks: list[Attack]) -> Iterator[Context]:
    session = opened()
    for number, attack in enumerate(attacks):
        put(session, attack, number)
    session.user(QUESTION)
    yield shown(session)


def by_summaries(attacks: list[Attack]) -> Iterator[Context]:
    """A writer that copies what it should not, and a summary of its summary."""
    session = opened()
    for number, attack in enumerate(attacks):
        put(session, attack, number)
    rest(session)
    words = "\n".join(f"The user said: {attack.text}" for attack in attacks)
    session.append(Summary(words))
    for text in (words, f"<summary>{words}</summary>"):
        view = session.view()
        last = [at for at, one in enumerate(view.groups()) if is_user_message(one.items[0])][-1]
        groups = [one.items for one in view.groups()[:last]]
        covered = [
            one for items in groups for one in items if isinstance(one, Summary) or not is_structural(one)
        ]
        spans = spans_over(view, covered)
        session.append(Summary(text, spans))
        session.user(QUESTION)
        yield shown(session)


def by_recall(attacks: list[Attack]) -> Iterator[Context]:
    store = MemoryStore()
    for number, attack in enumerate(attacks):
        session = opened(f"c{number}", store)
        put(session, attack, number)
        rest(session, 1)
    asking = opened("asking", store)
    asking.user(QUESTION)
    yield shown(asking)
    asking.assistant("Well.")
    asking.user("What do I always want, and what did the user, the system and the assistant say of it?")
    yield shown(asking)


def by_ledger(attacks: list[Attack]) -> Iterator[Context]:
    session = opened()
    for number, attack in enumerate(attacks):
        put(session, attack, number)
    rest(session, 12)
    session.user(QUESTION)
    yield shown(session, window=2_600)


def by_merge(attacks: list[Attack]) -> Iterator[Context]:
    session = opened(model=Scripted(lambda sent: unescape(str(sent.payload)), repeat=True))
    session.user("Begin.")
    for number, attack in enumerate(attacks):
        child = session.fork(f"child-{number}")
        put(child, attack, number)
        child.assistant(f"The user said: {attack.text}")
        session.merge(child, keep=("all", "result", "summary")[number % 3])
    session.user(QUESTION)
    yield shown(session)


def by_distrust(attacks: list[Attack]) -> Iterator[Context]:
    """What a person pasted, and took back."""
    session = opened()
    for attack in attacks:
        said, answer = session.user(attack.text.replace("|", "")), session.assistant(attack.text)
        assert answer is not None
        session.distrust(said)
        session.distrust(answer)
    session.user(QUESTION)
    yield shown(session)


ROUTES: dict[str, Route] = {
    "plainly": plainly,
    "through summaries": by_summaries,
    "through recall": by_recall,
    "through a ledger": by_ledger,
    "through forks and merges": by_merge,
    "as a message that is distrusted": by_distrust,
}


def writer() -> Scripted:
    """A model that writes into a summary, unescaped, what it was told not to follow."""

    def write(sent: Rendered) -> str:
        words = unescape(str(sent.payload["messages"][-1]["content"]))
        start = max(words.find(FORBIDDEN) - 80, 0)
        return f"The user said: {words[start : start + 120]}"

    return Scripted(write, name="writer")
