"""How the golden corpora of stores and sessions are computed.

A row of `sessions` has a script and the raw log that was written when it was first played. Its outcome is
what opening that log shows, and in which conversations playing the script again shows something else. A row
of `erased` has a script and ids to be forgotten; its outcome is what is left, and which entries lost their
content. `STORES` are whole stores, as they were written.
"""

import asyncio
import json
import lzma
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psycopg

from quire.agent import Agent
from quire.agent.builtin import recall_tools
from quire.compactors import ClearToolResults, Compactor, Offload, Room, Summarize, TruncateOldest
from quire.context import Template
from quire.errors import QuireError
from quire.items import Handoff, Item, Note, ToolCall, ToolResult, kind_of, use_clock
from quire.memory import Recall
from quire.models import Scripted
from quire.sections import Catalogue, History, Instructions, Pooled
from quire.session import Session, timeline
from quire.stores import Entry, MemoryStore, Place, Store
from quire.tokens import Budget, Prices
from tests.goldens.core import FOUR, Json, attempt, digest, items_of, numbered
from tests.stores.server import database

CORPORA = ("sessions", "erased")
WRITTEN = Path(__file__).with_name("data") / "stores"
SCOPE, CONVERSATION = "ana", "one"
T = TypeVar("T")

# What calls the library: only these functions know the names of its verbs.

BUDGET = Budget(window=8_000)
TEMPLATES = {
    "plain": Template(Instructions("Help."), History(), budget=BUDGET, model="gpt-5.6"),
    "notes": Template(Instructions("Help."), Catalogue(), Pooled(), History(), budget=BUDGET),
    "recall": Template(Instructions("Help."), History(), Recall("knowledge"), budget=BUDGET),
}
COMPACTORS: dict[str, Callable[[], Compactor]] = {
    "summarize": lambda: Summarize(unit="tokens"),
    "offload": lambda: Offload(larger_than=40, keep=0),
    "clear": lambda: ClearToolResults(keep=1),
    "truncate": lambda: TruncateOldest(unit="turns", ceiling=4, floor=2),
}

WIRES = {"choices": "openai", "output": "openai-responses", "content": "anthropic", "candidates": "gemini"}
"""The wire of a response, by a field that it has."""


def opened(store: Store, place: Place, options: Json) -> Session:
    prices = {model: Prices(**rates) for model, rates in options.get("prices", {}).items()}
    return Session.open(
        scope=place.scope,
        conversation=place.conversation,
        store=store,
        prices=prices,
        pool_limit=options.get("pool_limit"),
    )


def places_of(store: Store) -> list[Place]:
    """The conversations of a store, without those that the library keeps for itself."""
    found = [Place(scope, name) for scope in store.scopes() for name in store.conversations(scope)]
    return [place for place in found if not place.conversation.startswith("~")]


def entries_of(store: Store) -> Iterator[Json]:
    """All raw entries: scope, conversation, stream and body as JSON."""
    for scope in store.scopes():
        for conversation in store.conversations(scope):
            for stored in store.read(Place(scope, conversation)):
                yield [scope, conversation, stored.stream, json.loads(stored.body)]


def written_to(store: Store, entries: Sequence[Json]) -> Store:
    for scope, conversation, stream, body in entries:
        place = Place(scope, conversation)
        entry = Entry(stream, json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode())
        store.append(place, [entry], expected=store.version(place))
    return store


STORES = {"sqlite": "sqlite.db", "jsonl": "entries.jsonl", "sealed": "sealed.db", "postgres": "postgres.sql"}
KEY = bytes(range(32))


@contextmanager
def stored(kind: str, folder: Path) -> Generator[Store]:
    """A copy of a store that was written before, opened."""
    data = lzma.decompress((WRITTEN / f"{STORES[kind]}.xz").read_bytes())
    path = folder / STORES[kind]
    path.write_bytes(data)
    with ExitStack() as stack:
        url = str(path)
        if kind == "postgres":
            url = stack.enter_context(database())
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(data)
        yield stack.enter_context(Store.open(url, key=KEY if kind == "sealed" else None))


def write(one: Session, step: Json, run: "Playing") -> None:
    """Verbs that write items, or take notes in and out."""
    options = {name: step[name] for name in ("to", "id", "agent_id") if name in step}
    to = step.get("to", "main")
    match step["do"]:
        case "user":
            one.user(step["text"], **options)
        case "assistant":
            one.assistant(step["text"], **options)
        case "append":
            one.append(*items_of(step["items"]), to=to)
        case "handoff":
            one.append(Handoff(step["agent"]), to=to)
        case "pin":
            one.pin(step["item"], to=to)
        case "undo":
            one.undo(step.get("item"), to=to)
        case "name":
            one.new(step["label"])
        case "keep":
            one.pool.keep(
                Note(step["content"], key=step["key"], description=step.get("about"), id=step["id"])
            )
        case "drop":
            one.pool.drop(step["key"])
        case "clear":
            one.pool.clear()
        case "forget":
            one.forget(*step["ids"])
        case _:
            work(one, step, run)


def work(one: Session, step: Json, run: "Playing") -> None:
    """Verbs of turns: requests and their answers, compactions, calls on their way, drafts and forks."""
    items = items_of(step.get("items", []))
    match step["do"]:
        case "build":
            context = one.build(TEMPLATES[step["template"]], tools=step.get("tools", ()))
            context.render(step["wire"], model=step.get("model"))
            context.sent()
        case "record":
            response = step["response"]
            one.record(response, provider=next(WIRES[field] for field in WIRES if field in response))
        case "compact":
            writer = Session.open(
                scope=one.place.scope,
                conversation=one.place.conversation,
                store=run.store,
                compactor=COMPACTORS[step["by"]](),
                model=Scripted([step["text"]], repeat=True, name="writer") if "text" in step else None,
            )
            writer.compaction.run(room=Room(step["tokens"], FOUR))
        case "begin":
            wait(one.aio.begin(*calls_of(one, step)))
        case "hold":
            (result,) = items
            assert isinstance(result, ToolResult)
            wait(one.steps.hold(result))
        case "answer":
            wait(one.steps.answer(calls_of(one, step), *items))
        case "draft":
            with one.draft() as draft:
                for inner in step["steps"]:
                    write(draft, inner, run)
                if step.get("fails"):
                    raise GivenUp
        case "fork":
            run.sessions[step["name"]] = one.fork(
                step["name"], turns=step.get("turns"), tools=step.get("tools"), of=step.get("of", "main")
            )
        case "merge":
            model = Scripted([step["text"]], name="writer") if "text" in step else None
            one.merge(run.sessions[step["name"]], keep=step["keep"], model=model)
        case "look up":
            arguments = json.dumps({"question": step["text"], "limit": 10})
            call = ToolCall(step["id"], "recall", arguments, id=step["id"])
            agent = Agent(
                one, template=TEMPLATES["plain"], model=Scripted([[call], "Found."]), tools=recall_tools()
            )
            wait(agent.ask(step["text"]))
        case other:
            raise ValueError(other)


def calls_of(one: Session, step: Json) -> list[ToolCall]:
    return [call for call in one.view(step.get("to", "main")).pending() if call.id in step["calls"]]


def read(one: Session) -> Json:
    """All that a session shows, in JSON."""
    spending = one.spending
    return {
        "views": {name: list(map(shown, one.view(name))) for name in one.transcripts},
        "pool": [[note.id, note.key, note.content, note.description] for note in one.pool],
        "spending": [
            [spending.usage.input, spending.usage.output, spending.usage.cache_read],
            [spending.requests, round(spending.cost, 9), spending.unpriced],
        ],
        "pending": [
            [call.id, how, list(map(shown, one.steps.held(call)))]
            for name in one.transcripts
            for call, how in one.steps.standing(name)
        ],
        "receipts": [
            [kept.provider, kept.model, kept.tokens, kept.digest, attempt(is_same, kept)]
            for kept in one.receipts
        ],
        "timeline": [item.id for item in timeline(one)],
        "version": one.version,
    }


def is_same(kept: Any) -> bool:
    return bool(kept.payload().payload)


def tombstones(one: Session) -> list[str]:
    recorded = (item for name in one.transcripts for item in one.view(name).recorded())
    return [item.id for item in recorded if getattr(item, "extras", {}).get("forgotten")]


def earlier(one: Session, version: int) -> Json:
    return {name: [item.id for item in view] for name, view in one.at(version).items()}


class Dying(MemoryStore):
    """A store whose writer dies before one of its writes."""

    left: float = float("inf")
    """How many writes it takes."""

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        self._write()
        return super().append(place, entries, expected=expected)

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        self._write()
        super().replace(place, bodies)

    def scrub(self, *, wait: bool = True) -> None:
        self._write()
        super().scrub(wait=wait)

    def _write(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


# Scripts


class GivenUp(Exception):
    """What a draft that fails raises."""


class Clock:
    """Time that stands still but for steps of a script, so that it does not matter how often it is read."""

    def __init__(self, time: float = 1_700_000_000.0) -> None:
        self.time = time

    def __call__(self) -> float:
        return self.time


class Playing:
    """A script while it is played."""

    def __init__(self, store: Store, options: Json, scope: str = SCOPE) -> None:
        self.store, self.options, self.scope = store, options, scope
        self.sessions: dict[str, Session] = {}

    def session(self, name: str) -> Session:
        if name not in self.sessions:
            self.sessions[name] = opened(self.store, Place(self.scope, name), self.options)
        return self.sessions[name]


def wait(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def play(store: Store, given: Json, clock: Clock) -> Json:
    """Play a script, a minute for each step; gives back the class of the error for each step refused."""
    run = Playing(store, given.get("options", {}), given.get("scope", SCOPE))
    refused: list[Json] = []
    for number, step in enumerate(given["script"]):
        clock.time += 60
        try:
            write(run.session(step.get("on", CONVERSATION)), step, run)
        except (QuireError, GivenUp) as error:
            refused.append([number, type(error).__name__])
    return refused


def shown(item: Item) -> Json:
    """An item as a view shows it: its id, its kind and what it says."""
    text: str = getattr(item, "text", "") or getattr(item, "arguments", "") or ""
    return [item.id, kind_of(item), text if len(text) <= 200 else f"{text[:80]}… {digest(text)}"]


def look(store: Store, options: Json) -> Json:
    """What all conversations of a store show."""
    return {str(place): read(opened(store, place, options)) for place in places_of(store)}


def continued(store: Store, scope: str, conversation: str, text: str) -> Json:
    """What a conversation shows after the user said something more."""
    place = Place(scope, conversation)
    write(opened(store, place, {}), {"do": "user", "text": text}, Playing(store, {}))
    return look(store, {})[str(place)]["views"]["main"]


# Outcomes


def sessions(clock: Clock, given: Json) -> Json:
    """What a log shows when it is opened; with `play`, also where playing its script shows something else."""
    options = given.get("options", {})
    store = written_to(MemoryStore(), given["log"])
    found = look(store, options)
    main = opened(store, Place(SCOPE, CONVERSATION), options)
    end = main.version
    outcome = {
        **found,
        "at": {str(version): attempt(earlier, main, version) for version in (end // 4, end // 2, end - 1)},
    }
    if given.get("play"):
        store = MemoryStore()
        outcome["refused"] = play(store, given, clock)
        played, told = map(without_made_ids, (look(store, options), found))
        outcome["played"] = [place for place in {**told, **played} if played.get(place) != told.get(place)]
    return outcome


READ = ("views", "pool", "spending", "pending", "receipts", "timeline")


def without_made_ids(found: Json) -> Json:
    """What can be compared between two logs: ids that the library made up as numbers, digests left out."""
    told = {place: {name: one[name] for name in READ} for place, one in found.items()}
    for one in told.values():
        one["receipts"] = [[*receipt[:3], receipt[4]] for receipt in one["receipts"]]
    return json.loads(numbered(json.dumps(told)))


def erased(clock: Clock, given: Json) -> Json:
    """What is left when ids were forgotten, and what was emptied; with `dies`, also after a crash.

    Entries were emptied since they name what was forgotten, unless `by` says otherwise: they were made for a
    request that was sent since, or repeat a text. Only those that name it must be emptied.
    """
    store, options = MemoryStore(), given.get("options", {})
    refused = play(store, given, clock)
    log, unforgotten = list(entries_of(store)), without_made_ids(look(store, options))
    forget(store, given)
    complete, left = look(store, options), dict(versions(entries_of(store)))
    emptied: dict[str, list[Json]] = {"named": [], "receipt": [], "text": []}
    for (key, body), (_, conversation, stream, _) in zip(versions(log), log, strict=True):
        if left.get(key) != body:
            by = given["by"].get(f"{stream} {body['id']}", "named")
            emptied[by].append([conversation, stream, body["kind"], body["id"]])
    outcome = {
        "refused": refused,
        **complete,
        "tombstones": {str(place): tombstones(opened(store, place, options)) for place in places_of(store)},
        "emptied": emptied,
    }
    if given.get("dies"):
        ends = {"none": unforgotten, "all": without_made_ids(complete)}
        outcome["dies"] = [*dict.fromkeys(deaths(log, given, ends))]
    return outcome


def forget(store: Store, given: Json) -> None:
    place = Place(SCOPE, given.get("in", CONVERSATION))
    write(opened(store, place, {}), {"do": "forget", "ids": given["forget"]}, Playing(store, {}))


def deaths(log: Sequence[Json], given: Json, ends: dict[str, Json]) -> Iterator[str]:
    """For each write of forgetting, what is there when the writer died before it and another came."""
    for writes in range(200):
        store = Dying()
        written_to(store, log)
        store.left = writes
        try:
            forget(store, given)
        except KeyboardInterrupt:
            left = written_to(MemoryStore(), list(entries_of(store)))
            look(left, {})  # whoever opens a conversation finishes what was begun
            found = without_made_ids(look(left, given.get("options", {})))
            yield next((name for name, end in ends.items() if found == end), "some")
        else:
            return


def versions(entries: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
    """Each body with its scope, conversation and version."""
    counts = Counter[tuple[str, str]]()
    for scope, conversation, _, body in entries:
        counts[scope, conversation] += 1
        yield (scope, conversation, counts[scope, conversation]), body


def compute(category: str, given: Json) -> Json:
    """The outcome of a row."""
    clock = Clock()
    with use_clock(clock):
        return attempt(sessions if "log" in given else erased, clock, given)
