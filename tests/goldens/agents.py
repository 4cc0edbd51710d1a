"""How the golden corpus of agents is computed.

A row has agents with the replies of their models, and steps: what is asked of whom, decided, resumed or
cancelled, and where the process ends. The outcome of a step is a `Reply`, the class of an error, or the
deltas of a stream. At the end stand the items of the conversation, the calls that reached a tool, how open
calls are left, and which providers would refuse the history. The clock stands.
"""

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import msgspec

from quire import errors
from quire.agent import Agent, Began, Delta, Done, Ended, Limits, Recorded, Reply, Thoughts, Words, tool
from quire.agent.builtin import Role, ask_user, delegating_tools
from quire.context import Template
from quire.errors import QuireError, StoreFailed
from quire.items import JSON, Item, Message, Note, Reasoning, ToolCall, use_clock
from quire.models import Scripted
from quire.providers import PROVIDERS, Parsed
from quire.sections import History, Instructions
from quire.session import Session
from quire.stores import Entry, MemoryStore, Place
from quire.tokens import Budget, Prices, Usage

Json = Any

CORPORA = ("agents",)
PRICES = {"priced": Prices(input=1_000.0, output=1_000.0)}
"""USD for a million tokens: a request costs some cents."""

DRAWN = re.compile(r"output-[0-9a-f]{10}")
ERRORS = ("uncertain", "not run")
"""Words by which a result says that a call may have run, or has not."""


@dataclass
class Report:
    """A report."""

    title: str
    pages: int


class Found(TypedDict):
    """A place."""

    name: str
    kind: Literal["city", "river"]


TYPES: dict[str, Any] = {
    "Report": Report,
    "Place": Found,
    "int": int,
    "list[int]": list[int],
    "list[Report]": list[Report],
    "str | None": str | None,
    "bool": bool,
}


class Tools:
    """The tools of all rows. `calls` are those that were run; a gate waits until a step opens it."""

    def __init__(self) -> None:
        self.calls: list[Json] = []
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()
        self.tools: dict[str, Any] = {"ask_user": ask_user}
        for made in (self._plain(), self._with_effects(), self._approved()):
            self.tools |= {one.name: one for one in made}

    def note(self, *call: Any) -> None:
        self.calls.append(list(call))

    def _plain(self) -> list[Any]:
        @tool(idempotent=True)
        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            self.note("add", a, b)
            return a + b

        @tool
        async def fail(why: str) -> str:
            """Fail."""
            self.note("fail", why)
            raise LookupError(why)

        @tool(max_output=40)
        def much(lines: int) -> str:
            """Say much."""
            return "\n".join(f"line {n}" for n in range(lines))

        @tool
        def keep(text: str, key: str | None = None) -> Note:
            """Keep a note."""
            return Note(text, key=key, description="kept")

        @tool
        def place(name: str) -> Found:
            """Find a place."""
            return {"name": name, "kind": "city"}

        return [add, fail, much, keep, place]

    def _with_effects(self) -> list[Any]:
        @tool
        async def send(text: str) -> str:
            """Send a text."""
            self.note("send", text)
            return f"sent {len(self.calls)}"

        @tool(idempotent=True)
        async def put(key: str, value: int = 0) -> str:
            """Put a value under a key."""
            self.note("put", key, value)
            return "put"

        @tool
        async def wait(name: str = "") -> str:
            """Wait at a gate."""
            self.note("wait", name)
            self.begun.set()
            await self.gate.wait()
            return f"through {name}".strip()

        @tool(timeout=0.01)
        async def hang() -> str:
            """Never end."""
            self.note("hang")
            await asyncio.Event().wait()
            return ""

        return [send, put, wait, hang]

    def _approved(self) -> list[Any]:
        @tool(approve=True)
        async def pay(amount: int) -> str:
            """Pay."""
            self.note("pay", amount)
            return f"paid {amount}"

        @tool(approve=lambda given: given["amount"] > 100)
        async def transfer(amount: int) -> str:
            """Transfer an amount; much of it needs approval."""
            self.note("transfer", amount)
            return f"transferred {amount}"

        return [pay, transfer]


class Ending(MemoryStore):
    """A store that takes so many writes and then none: the process that writes has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None

    def append(self, place: Place, entries: Any, *, expected: int) -> int:
        if self.left is not None and entries:
            if self.left == 0:
                raise StoreFailed("the process has ended")
            self.left -= 1
        return super().append(place, entries, expected=expected)

    def found(self) -> "Ending":
        """What another process finds."""
        other = Ending()
        for scope in self.scopes():
            for conversation in self.conversations(scope):
                place = Place(scope, conversation)
                kept = [Entry(stored.stream, stored.body) for stored in self.read(place)]
                MemoryStore.append(other, place, kept, expected=0)
        return other


# Replies of models


def script_of(raw: Json) -> Any:
    """A reply: a text, or texts, calls and thoughts; an error; an answer that ends for another reason."""
    if isinstance(raw, str):
        return raw
    first: dict[str, Json] = {} if isinstance(raw[0], str) else raw[0]
    if "error" in first:
        return getattr(errors, first["error"])("it failed")
    if "finish" in first:
        return Parsed(tuple(map(item_of, first["items"])), finish=first["finish"], usage=Usage(10, 5))
    return [item_of(one) for one in raw]


def item_of(raw: Json) -> Item:
    if isinstance(raw, str):
        return Message("assistant", raw)
    if "thought" in raw:
        return Reasoning(raw["thought"])
    given = raw.get("args", {})
    return ToolCall(raw["id"], raw["call"], given if isinstance(given, str) else json.dumps(given))


# Playing a row


class Playing:
    """The agents of a row, in one conversation, and what they have done."""

    def __init__(self, given: Json) -> None:
        self.given = given
        self.tools = Tools()
        self.store = Ending()
        self.models: dict[str, Scripted] = {}
        self.underway: asyncio.Task[Json] | None = None
        self.begin()

    def begin(self) -> None:
        """Open the conversation as a new process does. Models go on with the replies they have left."""
        self.session = Session.open("ana/one", store=self.store, prices=PRICES)
        self.agents: dict[str, Agent] = {}
        for name, raw in self.given["agents"].items():
            if not raw.get("role"):
                self.agents[name] = self.agent(name, raw, self.session)

    def agent(self, name: str, raw: Json, session: Session) -> Agent:
        options: Json = {"limits": Limits(**raw["limits"])} if "limits" in raw else {}
        if "approver" in raw:
            options["approver"] = approver_of(raw["approver"])
        return Agent(
            session,
            template=template_of(raw),
            model=self.model(name, raw),
            tools=[*(self.tools.tools[one] for one in raw.get("tools", ())), *self.roles(raw)],
            name=name,
            instructions="" if "window" in raw else raw.get("instructions", "Be brief."),
            handoffs=[self.agents[other] for other in raw.get("handoffs", ())],
            **options,
        )

    def model(self, name: str, raw: Json) -> Scripted:
        if name not in self.models:
            replies = map(script_of, raw["replies"])
            options = {"name": raw.get("model", "scripted"), "wire": raw.get("wire", "openai")}
            self.models[name] = Scripted([*replies], repeat=raw.get("repeat", False), **options)
        return self.models[name]

    def roles(self, raw: Json) -> list[Any]:
        made = [self.role(name, self.given["agents"][name]) for name in raw.get("delegates", ())]
        return delegating_tools(*made, timeout=60.0) if made else []

    def role(self, name: str, raw: Json) -> Role:
        chosen = {key: raw[key] for key in ("sees",) if key in raw}
        return Role(
            name=name, description="Helps.", make=lambda session: self.agent(name, raw, session), **chosen
        )

    async def step(self, step: Json) -> Json:
        """The outcome of a step; an error is its class."""
        try:
            return await self._done(step)
        except (QuireError, asyncio.CancelledError) as error:
            return {"error": type(error).__name__}

    async def _done(self, step: Json) -> Json:
        agent = self.agents[step.get("agent", next(iter(self.agents)))]
        match step["do"]:
            case "restart":
                self.store = self.store.found()
                self.begin()
            case "end after":
                self.store.left = step["writes"]
            case "open gate":
                self.tools.gate.set()
            case "start":
                self.tools.begun.clear()
                self.underway = asyncio.ensure_future(self.step(step["step"]))
                await self._begun(step)
            case "cancel":
                assert self.underway is not None
                self.underway.cancel()
                return await self.underway
            case "join":
                assert self.underway is not None
                return await self.underway
            case "interrupt":
                await agent.interrupt()
            case "say":
                self.session.user(step["text"])
            case _:
                return await self._asked(agent, step)
        return None

    async def _begun(self, step: Json) -> None:
        """Wait until a tool stands at the gate, and until the results of so many others are held."""
        async with asyncio.timeout(30):
            await self.tools.begun.wait()
            while [how for _, how in self.session.steps.standing()].count("held") < step.get("held", 0):
                await asyncio.sleep(0.001)

    async def _asked(self, agent: Agent, step: Json) -> Json:
        asking: Json = {"output": TYPES[step["output"]]} if "output" in step else {}
        asking |= {"limits": Limits(**step["limits"])} if "limits" in step else {}
        match step["do"]:
            case "ask":
                return reply(await agent.ask(step["text"], **asking))
            case "resume":
                return reply(await agent.resume(**asking))
            case "decide":
                return reply(await agent.decide(step["decisions"], **asking))
            case "stream":
                return await told(agent.stream(step["text"], **asking), step.get("deltas"))
            case "resume stream":
                return await told(agent.resume_stream(**asking), step.get("deltas"))
            case "decide stream":
                return await told(agent.decide_stream(step["decisions"], **asking), step.get("deltas"))
            case _:
                raise ValueError(step["do"])

    def end(self) -> Json:
        """What is left: items, calls that were run, open calls and their standing, faults of the history."""
        main = self.session.view()
        names = [one for one in self.store.conversations("ana") if one != "one" and one[0] != "~"]
        others = {one: Session.open(scope="ana", conversation=one, store=self.store) for one in names}
        return {
            "items": written(main.recorded()),
            "shown": len(main),
            "others": {one: written(session.view().recorded()) for one, session in others.items()},
            "ran": self.tools.calls,
            "open": [[call.call_id, standing] for call, standing in self.session.steps.standing()],
            "notes": sorted(DRAWN.sub("output-~", note.key or "") for note in self.session.pool),
            "sent": {name: len(model.requests) for name, model in self.models.items()},
            "faults": [] if self.session.steps.standing() else faults_of(self.session),
        }


def approver_of(verdicts: dict[str, bool | str]) -> Callable[[ToolCall], bool | str]:
    def approve(call: ToolCall) -> bool | str:
        return verdicts.get(call.call_id, False)

    return approve


def template_of(raw: Json) -> Template | None:
    if "window" not in raw:
        return None
    budget = Budget(window=raw["window"], reserve=raw.get("reserve", 0))
    return Template(Instructions(raw.get("instructions", "Be brief.")), History(), budget=budget)


def faults_of(session: Session) -> list[str]:
    """The providers that would refuse the history."""
    view = session.view()
    return [name for name, one in PROVIDERS.items() if one.check(one.render(view).payload)]


def reply(found: Reply) -> Json:
    return {
        "text": found.text,
        "stop": found.stop,
        "agent": found.agent,
        "items": [type(item).__name__ for item in found.items],
        "waiting": [call.call_id for call in found.waiting],
        "output": msgspec.to_builtins(found.output),
        "usage": found.usage.input > 0 and found.usage.output > 0,
        "cost": found.cost > 0,
    }


async def told(stream: Any, most: int | None) -> Json:
    """The deltas of a stream in order; where only some are read, the stream is closed."""
    deltas: list[Json] = []
    async for one in stream:
        deltas.append(delta(one))
        if len(deltas) == most:
            await stream.aclose()
            break
    return deltas


def delta(one: Delta) -> Json:
    """A delta: its class, and what it holds in short."""
    match one:
        case Words() | Thoughts():
            told: Json = one.text
        case Began():
            told = one.call.call_id
        case Ended():
            told = one.result.call_id
        case Recorded():
            told = [type(item).__name__ for item in one.items]
        case Done():
            told = reply(one.reply)
    return [type(one).__name__, told]


def written(items: Any) -> Json:
    """Items as JSON, without ids, times, marks of our own, and the words of errors and corrections."""
    found = json.loads(DRAWN.sub("output-~", JSON.encode(list(items)).decode()))
    for one in found:
        del one["id"]
        one.pop("created_at", None)
        one["extras"] = {mark: held for mark, held in one.get("extras", {}).items() if "quire." not in mark}
        if one.get("is_error"):
            one["content"] = next((word for word in ERRORS if word in str(one["content"])), "other")
        if one["extras"].get("correction"):
            one["content"] = "correction"
    return found


async def play(given: Json) -> Json:
    playing = Playing(given)
    try:
        steps = [await playing.step(step) for step in given["steps"]]
        return {"steps": steps, **playing.end()}
    finally:
        if playing.underway is not None:
            playing.underway.cancel()
            with suppress(asyncio.CancelledError):
                await playing.underway


CATEGORIES: dict[str, Callable[[Json], Coroutine[Any, Any, Json]]] = {"run": play}


def compute(category: str, given: Json) -> Json:
    """The outcome of one row."""
    with use_clock(lambda: 1_000.0):
        return asyncio.run(CATEGORIES["run"](given))
