"""A support conversation in a lamp shop, and what the engine keeps, chooses and explains on the way.

Run it with `python examples/support.py`, `make run` or `quire demo`. A script says most of the lines. A small
real model answers in between, where one is installed and has time left; its calls are forced by the schema of
the tool. Everything is kept in a store, and the commands to look at it are printed at the end.
"""

import asyncio
import sys
import tempfile
from collections import Counter, deque
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from time import monotonic
from typing import Any, Literal, NamedTuple, Unpack

import msgspec

from quire import Agent, Budget, Message, Session, Summary, Template, ToolCall, counter_for, tool
from quire.agent import Delta, Done, Ended, Recorded, Words
from quire.agent.builtin import bringing_back_tools
from quire.cli.phrases import beginning, plural, preview
from quire.cli.terminal import say
from quire.compactors import Cascade, Offload, Summarize
from quire.context import Context, shared_prefix
from quire.errors import InvalidValue, MissingExtra, ModelFailed
from quire.items import Item, new_id
from quire.memory import Recall
from quire.models import Answering, Asks, Delta as ModelDelta, Local, Scripted, Terms, scripted_answer
from quire.providers import HISTORY, Parsed, Rendered
from quire.sections import Catalogue, History, Instructions
from quire.session import Built, Compacted, Hook
from quire.stores import Store
from quire.tokens import Usage, read_definition

SCOPE = "lamp-shop"
BUDGET = Budget(window=800, reserve=100)
MODEL_CONTEXT = 1_536
MOST_CALLS = 10
"""Requests to the real model, in all."""

# The shop

INSTRUCTIONS = "You help the customers of a lamp shop. Answer in one short sentence."
SUMMARY = "The customer asked for three parcels, got a broken shade and wants a refund for return R-2049."
SUMMARY_PROMPT = "Say in one sentence what the customer wants and what was done.\n\n{conversation}"

Order = Literal["4711", "4712", "4713"]


@tool
def track_parcel(order: Order) -> str:
    """Tell where the parcel of an order was seen."""
    stations, places = ("Hamburg", "Bremen", "Kassel", "Erfurt"), ("gate", "belt", "ramp")
    seen = (
        f"at {hour} in {stations[(hour + int(order)) % 4]}, at the {places[hour % 3]}"
        for hour in range(6, 16)
    )
    return f"order {order}: a reading lamp of brass, seen\n" + "\n".join(seen)


@tool(approve=True)
def refund(return_number: str) -> str:
    """Give the money back for a return."""
    return f"{return_number} has not arrived yet: nothing was paid back"


def approve(call: ToolCall) -> bool:
    """The clerk, who approves every refund."""
    say(f"  approved {call.name}, by the clerk who was asked first")
    return True


# The script


class Cue(NamedTuple):
    """What the model says next. Live, it is up to the real model, within `most` tokens.

    A live call is forced by the schema of its tool; `among` narrows the values of its arguments.
    """

    reply: str | ToolCall
    is_live: bool = False
    among: Mapping[str, Sequence[str]] = {}
    most: int = 24


class Turn(NamedTuple):
    """What the customer says, and what the model says to it."""

    asked: str
    cues: tuple[Cue, ...]


def calls(name: str, arguments: str, is_live: bool = False, **among: Sequence[str]) -> Cue:
    """A call of a tool."""
    return Cue(ToolCall(f"call_{new_id()}", name, arguments), is_live, among, most=48)


def tracks(asked: str, order: str, answer: str, is_live: bool = False) -> Turn:
    """A question about a parcel."""
    return Turn(asked, (calls("track_parcel", f'{{"order":"{order}"}}', is_live), Cue(answer, is_live)))


def opening() -> list[Turn]:
    """Answered by the real model."""
    return [
        tracks("Hello, I ordered three lamps. Where is order 4711?", "4711", "4711 comes tomorrow.", True)
    ]


def more_parcels() -> list[Turn]:
    """Replayed, until there is more than fits."""
    bell = "By the way, my doorbell is broken. The courier should knock at the green gate."
    return [
        Turn(bell, (Cue("I have told the courier."),)),
        tracks("And order 4712?", "4712", "4712 is a day behind, and comes on Thursday."),
        tracks("And the third one, 4713?", "4713", "4713 left Kassel this morning."),
    ]


def middle() -> list[Turn]:
    """Replayed, while a summary of the beginning is written."""
    paid = calls("refund", '{"return_number":"R-2049"}')
    sorry = Cue("I am sorry. You can have a new one, or the money back.")
    return [
        Turn("One of them came with a broken shade.", (sorry,)),
        Turn(
            "The money back, please. The return is R-2049.",
            (paid, Cue("Your return is still on its way; I pay when it is here.")),
        ),
        Turn("May I keep the bulb?", (Cue("Yes, the bulb is yours."),)),
    ]


def brought_back(handles: list[str]) -> list[Turn]:
    """A question that needs an output which was moved out of the conversation."""
    call = calls("read_back", f'{{"handle":"{handles[0]}"}}', True, handle=handles)
    return [
        Turn("Where was parcel 4711 at six in the morning?", (call, Cue("It was in Bremen at six.", True)))
    ]


ENDING = [Turn("Thank you, that is all.", (Cue("You are welcome. Goodbye!", True),))]
FAR_QUESTION = [
    Turn(
        "How does the courier reach me without a doorbell?",
        (Cue("The courier knocks at the green gate.", True),),
    )
]


def small_talk() -> Iterable[tuple[str, str]]:
    """Sixty turns that have nothing to do with the question at the end."""
    for thing in ("shades", "bulbs", "cables", "switches", "stands", "hooks"):
        for colour in [
            "white",
            "black",
            "red",
            "blue",
            "yellow",
            "grey",
            "brown",
            "silver",
            "gold",
            "copper",
        ]:
            yield f"Do you have {colour} {thing}?", f"Yes, we have {thing} in {colour}."


# The models


class RealModel:
    """The small model, and what it may still take: so many requests, and seconds from now."""

    def __init__(self, model: Local, seconds: float) -> None:
        self.model = model
        self.calls_left = MOST_CALLS
        self._until = monotonic() + seconds

    @property
    def is_ready(self) -> bool:
        """Whether it may be asked once more."""
        return self.calls_left > 0 and monotonic() < self._until

    async def pieces(
        self, rendered: Rendered, **terms: Unpack[Terms]
    ) -> AsyncGenerator[ModelDelta | Parsed, None]:
        """Its words as they come, then the whole answer; when the time is over, what came until then."""
        self.calls_left -= 1
        answering = self.model.send(rendered, **terms)
        deltas = answering.deltas()
        try:
            while True:
                async with asyncio.timeout(self._until - monotonic()):
                    piece = await anext(deltas, None)
                if piece is None:
                    break
                yield piece
        except (TimeoutError, ModelFailed):
            pass  # the script answers
        yield await answering.close()


class Stage(Asks):
    """A model that says what it was cued to say, by itself or through the real model."""

    wire = Local.wire

    def __init__(self, real: RealModel | None, *cues: Cue) -> None:
        self._real = real
        self._cues = deque(cues)
        self.name = "scripted" if real is None else real.model.name
        self.was_live = False
        self.usage: Usage | None = None
        self.tools_in_words = ""

    def cue(self, *cues: Cue) -> None:
        """Add what it says next."""
        self._cues.extend(cues)

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """The answer that was cued."""
        cue = self._cues.popleft() if self._cues else Cue("…")
        self.was_live = cue.is_live and self._real is not None and self._real.is_ready
        if not self.was_live or self._real is None:
            return self._scripted(cue, rendered)
        return scripted_answer(self._live(cue, rendered, self._real), self.name)

    def _scripted(self, cue: Cue, rendered: Rendered) -> Answering:
        return Scripted([cue.reply], name=self.name).send(rendered)

    async def _live(
        self, cue: Cue, rendered: Rendered, real: RealModel
    ) -> AsyncGenerator[ModelDelta | Parsed, None]:
        """What the real model says; what the script says, where nothing usable comes."""
        call = cue.reply if isinstance(cue.reply, ToolCall) else None
        terms: Terms = {"max_tokens": cue.most}
        if call is not None:
            terms["output"] = forced(rendered, call.name, cue.among)
        answer = Parsed(())
        async for piece in real.pieces(self._with_tools_in_words(rendered), **terms):
            if isinstance(piece, Parsed):
                answer = piece
            elif call is None:
                yield piece
        self.usage = answer.usage
        played = sentence(answer) if call is None else called(answer, call.name)
        if played is None:
            self.was_live = False
            played = await self._scripted(cue, rendered).whole()
        yield played

    def _with_tools_in_words(self, rendered: Rendered) -> Rendered:
        """The payload with its tools in the first message: the model's template has no place for them."""
        payload, history = dict(rendered.payload), HISTORY[self.wire]
        tools = [read_definition(one) for one in payload.pop("tools", ())]
        lines = [f"- {name}({', '.join(schema.get('properties', ()))}): {use}" for name, use, schema in tools]
        self.tools_in_words = "\n".join(("Tools:", *lines)) if lines else ""
        if lines:
            first, *rest = payload[history]
            payload[history] = [{**first, "content": f"{first['content']}\n{self.tools_in_words}"}, *rest]
        return Rendered(payload, rendered.downgrades, rendered.names, lambda: "", rendered.model)


def forced(rendered: Rendered, name: str, among: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
    """The schema of a tool's required arguments."""
    definitions = map(read_definition, rendered.payload["tools"])
    parameters = next(schema for found, _, schema in definitions if found == name)
    required = list(parameters.get("required", ()))
    properties = {field: dict(parameters["properties"][field]) for field in required}
    for field, values in among.items():
        properties[field]["enum"] = list(values)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def called(answer: Parsed, name: str) -> Parsed | None:
    """The words of an answer as the arguments of a call; None where they are not whole."""
    try:
        arguments: Any = msgspec.json.decode(text_of(answer))
    except msgspec.DecodeError:
        return None
    made = ToolCall(f"call_{new_id()}", name, msgspec.json.encode(arguments).decode())
    return answer._replace(items=(made,), finish="calls")


def sentence(answer: Parsed) -> Parsed | None:
    """An answer up to the end of a sentence: a small model may not find one by itself."""
    text = text_of(answer).strip()
    end = max(text.rfind(sign) for sign in ".!?") + 1
    words = text if answer.finish == "stop" else text[:end] or text
    return answer._replace(items=(Message("assistant", words),), finish="stop") if words else None


def text_of(answer: Parsed) -> str:
    """The words of an answer."""
    return "".join(item.text for item in answer.items if isinstance(item, Message))


# The screen


class Screen:
    """Prints the conversation, what was sent for it, and what became of the rest."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._is_within_line = False
        self._arrived: list[str] = []
        self._in_cache: Context | None = None
        self._sent_at = monotonic()
        self.context: Context | None = None

    def title(self, text: str) -> None:
        """A heading."""
        self.line(f"\n-- {text} ".ljust(100, "-"))

    def line(self, text: str) -> None:
        """A line, then the compactions that arrived meanwhile."""
        if self._is_within_line:
            say()
            self._is_within_line = False
        say(text)
        self.arrivals()

    def arrivals(self) -> None:
        """The compactions that arrived since the last line."""
        arrived, self._arrived = self._arrived, []
        for text in arrived:
            say(text)

    def delta(self, delta: Delta) -> None:
        """A piece of an answer."""
        match delta:
            case Words():
                self._words(delta.text)
            case Recorded():
                self._recorded(delta)
            case Ended():
                self.line(f"  result   {preview(delta.result)}")
            case _:
                pass

    def built(self, event: Built) -> None:
        """A context was built, and is sent now."""
        self.context, self._sent_at = event.context, monotonic()

    def compacted(self, event: Compacted) -> None:
        """A compaction arrived from the background."""
        plan = event.plan
        tokens = f"{plan.before:,} tokens of history to {plan.after:,}"
        self._arrived.append(f"  arrived  {plan.by}, {event.outcome.fate}: {tokens}; {plan.reason}")

    def receipt(self) -> None:
        """The budget of the last request by section, what is not shown, and why."""
        assert self.context is not None
        self.line(str(self.context.receipt))
        hidden = (entry for entry in self.context.receipt.entries if entry.fate != "shown")
        for (fate, reason), count in Counter((entry.fate, entry.reason) for entry in hidden).items():
            self.line(f"  {plural(count, 'item')} {fate}: {reason}")

    def recalled(self, recorded: Sequence[Item]) -> None:
        """The budget of the last request, and what was recalled for it: from how far back, and why."""
        assert self.context is not None
        self.line(str(self.context.receipt))
        ago = {item.id: len(recorded) - place for place, item in enumerate(recorded)}
        for entry in self.context.receipt.entries:
            if entry.section != "recall" or entry.fate != "shown":
                continue
            if entry.item_id in ago:
                self.line(f"  recalled {preview(recorded[-ago[entry.item_id]])}")
                self.line(f"           said {ago[entry.item_id]:,} items ago; {entry.reason}")
            else:  # the store may hold an earlier run
                self.line(f"  recalled {entry.item_id}, of another conversation; {entry.reason}")

    def _words(self, text: str) -> None:
        if not self._is_within_line:
            say("assistant  ", end="")
            self._is_within_line = True
        say(text.replace("\n", " "), end="")
        sys.stdout.flush()

    def _recorded(self, delta: Recorded) -> None:
        """An answer, what was sent for it, and which model gave it."""
        seconds, context = monotonic() - self._sent_at, self.context
        for item in delta.items:
            if isinstance(item, ToolCall):
                self.line(f"  call     {item.name} {beginning(item.arguments)}")
            elif isinstance(item, Message) and not self._is_within_line:
                self._words(item.text)
        assert context is not None
        sizes = ", ".join(f"{name} {tokens:,}" for name, tokens in context.tokens.items())
        of = f"{context.receipt.tokens:,} of {context.receipt.available:,} tokens ({sizes})"
        by = f"real, {seconds:.1f} s; {self._cached(context)}" if self._stage.was_live else "replayed"
        self.line(f"  request  {of}; {by}")

    def _cached(self, context: Context) -> str:
        """The part of a request that the cache can serve, as the engine expects and as the model reports."""
        before, self._in_cache = self._in_cache, context
        if before is None:
            return "the cache is empty"
        counter = counter_for(self._stage.name)
        sizes = [*map(counter.count, context.items)]
        shared = shared_prefix(before.items, context.items)
        tools = counter.count(Message("system", self._stage.tools_in_words))
        expected = (sum(sizes[:shared]) + (tools if shared else 0)) / (sum(sizes) + tools)
        usage = self._stage.usage
        reported = f", {usage.cache_read / usage.input:.0%} reported" if usage and usage.input else ""
        return f"cached {expected:.0%} expected{reported}"


# The play


class Play:
    """All scenes, in one conversation of a store."""

    def __init__(self, store: Store, address: str, real: RealModel | None) -> None:
        self._real = real
        self._stage = Stage(real)
        self._screen = screen = Screen(self._stage)
        built = Hook(screen.built, (Built,), name="demo.built")
        compacted = Hook(screen.compacted, (Compacted,), name="demo.compacted")
        self._session = Session.open(address, store=store, hooks=[built, compacted])
        self._later = Session.open(address, store=store, hooks=[built])
        self._agent = Agent(
            self._session,
            Template(Instructions(INSTRUCTIONS), History(), Catalogue(), budget=BUDGET),
            model=self._stage,
            tools=[track_parcel, refund, *bringing_back_tools(tokens=60)],
            approver=approve,
        )
        compactor = Cascade(
            Offload(larger_than=60, keep=1, ceiling=0),
            Summarize(floor=4, ceiling=17, size=48, prompt=SUMMARY_PROMPT),
        )
        self._session.compaction.use(compactor, Stage(real, *[Cue(SUMMARY, True, most=40)] * 3))

    async def run(self) -> None:
        """Play the scenes in order."""
        screen = self._screen
        screen.title("The real model: a call is forced by the schema of its tool, an answer is free")
        await self._turns(opening())
        screen.title("Replayed: more is said than fits, and large results go to the pool")
        await self._turns(more_parcels())
        screen.title("The budget of the last request by section, and what is not shown, and why")
        screen.receipt()
        screen.title("Replayed: the turns go on while the real model writes a summary beside them")
        await self._turns(middle())
        await self._summary_arrived()
        screen.title("What was moved out is brought back, and the budget of that request")
        await self._turns(brought_back([note.key for note in self._session.pool if note.key]))
        screen.receipt()
        screen.title("A summary is an edit: it can be undone, and put in force again")
        self._undo()
        screen.title("The last word: what was sent before is not read again")
        await self._turns(ENDING)
        await self._session.aio.close()
        screen.title("Much later: a question about something that was said far outside the window")
        await self._recall()
        self._totals()

    async def _turns(self, turns: Iterable[Turn], agent: Agent | None = None) -> None:
        for turn in turns:
            self._screen.line(f"\ncustomer   {turn.asked}")
            self._stage.cue(*turn.cues)
            async with aclosing((agent or self._agent).stream(turn.asked)) as deltas:
                async for delta in deltas:
                    if not isinstance(delta, Done):
                        self._screen.delta(delta)

    async def _summary_arrived(self) -> None:
        """Wait for the summary that is written in the background."""
        if self._session.compaction.metrics.pending:
            self._screen.line("\n  the summary is still being written: all turns above went on without it")
        await self._session.aio.close()
        if self._summary() is None:
            await self._session.aio.compaction.run()
        self._screen.arrivals()

    def _undo(self) -> None:
        summary = self._summary()
        if summary is None:
            self._screen.line("  no summary was kept: there is nothing to undo")
            return
        self._screen.line(f"  in force       {self._size()}")
        undone = self._session.undo(summary.id)
        self._screen.line(f"  undone         {self._size()}: everything that was said is there as it was")
        self._session.undo(undone.id)
        self._screen.line(f"  in force again {self._size()}")

    def _summary(self) -> Summary | None:
        return next((item for item in self._session.view() if isinstance(item, Summary)), None)

    def _size(self) -> str:
        view = self._session.view()
        return f"{plural(len(view), 'item')}, {view.tokens(counter_for(self._stage.name)):,} tokens"

    async def _recall(self) -> None:
        talk = list(small_talk())
        for asked, answer in talk:
            self._later.user(asked)
            self._later.assistant(answer)
        self._screen.line(
            f"  {plural(len(talk), 'turn')} of small talk are recorded without asking the model"
        )
        sections = Instructions(INSTRUCTIONS), History(), Recall(limit=2, tokens=120)
        agent = Agent(self._later, Template(*sections, budget=BUDGET), model=self._stage)
        await self._turns(FAR_QUESTION, agent)
        self._screen.recalled(self._later.view().recorded())

    def _totals(self) -> None:
        metrics, spending = self._session.compaction.metrics, self._session.spending
        live = 0 if self._real is None else MOST_CALLS - self._real.calls_left
        self._screen.title("In all")
        self._screen.line(f"  {plural(spending.requests, 'request')}, {live} of them to the real model")
        self._screen.line(f"  {spending.usage.input:,} tokens read, {spending.usage.output:,} written")
        ended = f"{metrics.discarded} discarded, {metrics.failed} failed"
        self._screen.line(f"  {plural(metrics.completed, 'compaction')}, {ended}")


def play(store: str | None = None, seconds: float = 60.0) -> None:
    """Play everything, and print how to look at what was kept."""
    model = real_model() if seconds > 0 else None
    path = store or str(Path(tempfile.mkdtemp(prefix="quire-demo-")) / "demo.db")
    try:
        with Store.open(path) as opened:
            known = opened.conversations(SCOPE)
            address = f"{SCOPE}/{next(n for n in range(1, len(known) + 2) if str(n) not in known)}"
            asyncio.run(Play(opened, address, None if model is None else RealModel(model, seconds)).run())
    finally:
        if model is not None:
            model.close()
    command = sys.argv[0] if Path(sys.argv[0]).name == "quire" else "quire"
    say(f"\nEverything is kept in {path}. To look at it:\n")
    for verb in (f"show {address}", f"show {address} --receipt last", f"log {address}", "ls"):
        say(f"  {command} {verb} --store {path}")
    say(f'  {command} recall "broken doorbell" --scope {SCOPE} --store {path}')


def real_model() -> Local | None:
    """The small model, if it is installed."""
    try:
        model = Local(context=MODEL_CONTEXT)
    except (InvalidValue, MissingExtra) as fault:
        say(f"There is no real model here, so everything comes from the script: {fault}.")
        return None
    say(f"{model.name}: a real model, and a tiny one. It shows that everything works, and talks nonsense.")
    model.load()
    return model


if __name__ == "__main__":
    play()
