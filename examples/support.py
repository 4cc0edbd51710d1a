"""A support conversation in a lamp shop: what Quire keeps, what it sends, and why.

Run it with `make run`, `quire demo` or `python examples/support.py`. A script plays the customer and the
assistant, so that every run is alike. The summary is written by a small model on this machine, if there is
one. The conversation is kept in a store, and the commands to look at it are printed at the end.
"""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from os import getpid, kill
from pathlib import Path
from signal import SIGKILL
from textwrap import indent, shorten
from time import monotonic

from quire import Agent, Budget, Message, Session, Summary, Template, ToolCall, ToolResult, counter_for, tool
from quire.agent import Tool
from quire.compactors import Cascade, Offload, Summarize
from quire.context import Context
from quire.errors import InvalidValue, MissingExtra
from quire.items import Item, new_id
from quire.memory import Recall
from quire.models import Local, Scripted
from quire.providers import provider_for
from quire.sections import History, Instructions
from quire.session import Compacted, Hook, parts_of
from quire.stores import Store

SCOPE = "lamp-shop"
MODEL = "gpt-5.6"
"""The model whose tokens are counted. It is not asked: nothing leaves this machine."""

INSTRUCTIONS = "You help the customers of a lamp shop."
BUDGET = Budget(window=1_000, reserve=100)
SUMMARY = "The customer has three lamps on the way, and wants the money back for return R-2049."
PROMPT = "Say in one sentence what the customer wants and what was done.\n\n{conversation}"
MODEL_CONTEXT = 1_536

# What is said. The assistant's lines are texts, and calls of tools.

DOORBELL = "My doorbell is broken. The courier should knock at the green gate."
PARCELS = [
    ("Hello! Where is order 4711?", ["track_parcel", "4711"], "It is in Erfurt, and comes tomorrow."),
    (DOORBELL, "I have told the courier."),
    ("And order 4712?", ["track_parcel", "4712"], "It comes on Thursday."),
    ("And order 4713?", ["track_parcel", "4713"], "It left Kassel this morning."),
]
COMPLAINTS = [
    ("One lamp came with a broken shade.", "I am sorry. Do you want a new one, or the money back?"),
    ("The money, please. The return is R-2049.", "I pay as soon as the return is here."),
    ("May I keep the bulb?", "Yes, the bulb is yours."),
]
THANKS = ("Thank you.", "You are welcome.")
REFUND = "R-2049 is at your shop now. Please pay."
AFTERWARDS = "Your money for R-2049 is on its way. It was paid once."
QUESTION = "How will the courier reach me, without a doorbell?"


def small_talk() -> Iterable[tuple[str, str]]:
    """Sixty turns that have nothing to do with the question at the end."""
    colours = ["white", "black", "red", "blue", "yellow", "grey", "brown", "silver", "gold", "copper"]
    for thing in ("shades", "bulbs", "cables", "switches", "stands", "hooks"):
        for colour in colours:
            yield f"Do you have {colour} {thing}?", f"Yes, we have {thing} in {colour}."


# The shop


def tools_of(payments: Path, *, is_killed: bool = False) -> list[Tool]:
    """The tools of the shop. With `is_killed` the process dies within a refund, after the money was sent."""

    @tool(idempotent=True)
    def track_parcel(order: str) -> str:
        """Tell where the parcel of an order was seen."""
        towns, places = ("Hamburg", "Bremen", "Kassel", "Erfurt"), ("gate", "belt", "ramp")
        seen = (f"{hour}:00 {towns[(hour + int(order)) % 4]}, {places[hour % 3]}" for hour in range(6, 24))
        return f"order {order}: a reading lamp of brass\n" + "\n".join(seen)

    @tool
    def refund(return_number: str) -> str:
        """Pay back the money for a return."""
        with payments.open("a") as file:
            file.write(f"paid {return_number}\n")
        if is_killed:
            kill(getpid(), SIGKILL)
        return f"{return_number} is paid"

    @tool(idempotent=True)
    def list_payments() -> str:
        """List the payments that were made."""
        return payments.read_text()

    return [track_parcel, refund, list_payments]


def call(name: str, **arguments: str) -> ToolCall:
    """A call of a tool, as a model makes it."""
    fields = ", ".join(f'"{field}": "{value}"' for field, value in arguments.items())
    return ToolCall(f"call_{new_id()}", name, f"{{{fields}}}")


def agent_of(session: Session, tools: list[Tool], *replies: str | ToolCall) -> Agent:
    """An agent that gives these replies."""
    left = iter(replies)
    model = Scripted(lambda sent: next(left), name=MODEL)
    template = Template(Instructions(INSTRUCTIONS), History(), budget=BUDGET, model=MODEL)
    return Agent(session, template=template, model=model, tools=tools)


# The screen


def title(text: str) -> None:
    """Print the title of a scene."""
    print(f"\n== {text} ".ljust(100, "="), flush=True)


def say(who: str, text: str) -> None:
    """Print what someone says or does, on one line."""
    print(f"{who:<11}{shorten(text, 86, placeholder=' …')}", flush=True)


def say_items(items: Iterable[Item]) -> None:
    """Print what the assistant did and said."""
    for item in items:
        match item:
            case ToolCall():
                say("  call", f"{item.name} {item.arguments}")
            case ToolResult():
                say("  result", f"{counter_for(MODEL).count(item)} tokens: {item.text}")
            case Message(role="assistant"):
                say("assistant", item.text)
            case _:
                pass


def say_compacted(event: Compacted) -> None:
    """Print a compaction that arrived from the background."""
    plan = event.plan
    did = "a summary replaces the oldest turns" if plan.request else "an older tool result is moved out"
    say("  compact", f"{did}: the history shrinks from {plan.before:,} tokens to {plan.after:,}")


def say_size(what: str, session: Session) -> None:
    """Print what is shown of a conversation."""
    view = session.view()
    print(f"  {what:<20}{len(view):>4} items, {view.tokens(counter_for(MODEL)):,} tokens")


def say_why(context: Context, item: Message | ToolResult) -> None:
    """Print what became of an item, and why."""
    entry = context.explain(item)
    print(f"  {shorten(item.text, 42, placeholder=' …')!r}\n    {entry.fate}: {entry.reason}")


# The scenes


async def play_all(store: Store, path: str, address: str, writer: Local | None, seconds: float) -> None:
    """Play the scenes in order, in one conversation."""
    payments = Path(tempfile.mkdtemp(prefix="quire-demo-")) / "payments.txt"
    tools = tools_of(payments)
    session = Session.open(address, store=store, hooks=[Hook(say_compacted, (Compacted,), name="demo")])
    cascade = Cascade(
        Offload(larger_than=60, keep=1, ceiling=0),
        Summarize(floor=4, ceiling=15, size=48, prompt=PROMPT),
    )
    session.compaction.use(cascade, writer or Scripted([SUMMARY], name="the script", repeat=True))

    title("1. Long tool results are moved out; a stub with a handle stays")
    await talk(session, tools, PARCELS)

    title("2. A summary is written in the background; no turn waits for it")
    began = monotonic()
    await talk(session, tools, COMPLAINTS)
    talked = monotonic()
    await session.aio.compaction.close(timeout=max(seconds, 5))
    if summary_in(session) is None:  # the small model was too slow, or its summary was discarded
        session.compaction.use(cascade, Scripted([SUMMARY], name="the script"))
        await session.aio.compaction.run()
    summary, by = summary_in(session), parts_of(session).compactions.model
    assert summary is not None and by is not None
    say("summary", repr(summary.text))
    waited = monotonic() - talked
    print(f"  by {by.name}, {waited:.1f} s after the last turn; all three turns took {talked - began:.1f} s")

    title("3. Why does the model not see it? Every item has a fate and a reason")
    context = await agent_of(session, tools).preview()
    print(context.receipt)
    for item in session.view().recorded():
        if isinstance(item, Message | ToolResult) and item.text.startswith(("My doorbell", "order 4713")):
            say_why(context, item)

    title("4. The summary leaves things out. It is an edit: undo it, and it stays undone")
    say_size("with the summary", session)
    session.undo(summary.id)
    say_size("after the undo", session)
    await talk(session, tools, [THANKS])
    await session.aio.compaction.close()
    say_size("one turn later", session)

    title("5. The process is killed within a tool call. Is the refund paid twice?")
    say("customer", REFUND)
    before = len(session.view().recorded())
    child = [sys.executable, "-P", __file__, "--crash", path, address, str(payments)]
    signal = -subprocess.run(child, check=False).returncode
    session = Session.open(address, store=store)
    say_items(session.view().recorded()[before:])
    say(
        "  killed",
        f"by signal {signal}: the refund is paid, its result is not recorded. Another one resumes:",
    )
    before = len(session.view().recorded())
    await agent_of(session, tools, call("list_payments"), AFTERWARDS).resume()
    say_items(session.view().recorded()[before:])
    print(f"  payments for R-2049: {payments.read_text().count('R-2049')}")

    title("6. Sixty turns later: a question about something that left the window long ago")
    for asked, answer in small_talk():
        session.user(asked)
        session.assistant(answer)
    say("customer", QUESTION)
    session.user(QUESTION)
    sections = Instructions(INSTRUCTIONS), History(), Recall(limit=2, tokens=120)
    say_recall(await session.aio.build(Template(*sections, budget=BUDGET, model=MODEL)), session)


async def talk(session: Session, tools: list[Tool], turns: Iterable[tuple[str | list[str], ...]]) -> None:
    """Play turns: what the customer says, and what the assistant does and says."""
    for asked, *cues in turns:
        replies = [call(cue[0], order=cue[1]) if isinstance(cue, list) else cue for cue in cues]
        say("customer", str(asked))
        reply = await agent_of(session, tools, *replies).ask(str(asked))
        say_items(reply.items)


def summary_in(session: Session) -> Summary | None:
    """The summary that is shown."""
    return next((item for item in session.view() if isinstance(item, Summary)), None)


def say_recall(context: Context, session: Session) -> None:
    """Print the receipt of the last request, what was recalled for it, and what a model would be sent."""
    print(context.receipt)
    recorded = session.view().recorded()
    places = {item.id: place for place, item in enumerate(recorded)}
    for entry in context.receipt.entries:
        if entry.section == "recall" and entry.fate == "shown" and entry.item_id in places:
            say("  recalled", f"from {len(recorded) - places[entry.item_id]} items ago: {entry.reason}")
    print("What a model would be sent now, from the question on:")
    for item in context.items[-2:]:
        print(indent(item.text if isinstance(item, Message) else str(item), "  | "))
    wires = "openai", "openai-responses", "anthropic", "gemini"
    faults = [fault for wire in wires for fault in provider_for(wire).check(context.render(wire).payload)]
    print(f"Rendered for {', '.join(wires)}: {len(faults)} violations of their rules.")


def crash(path: str, address: str, payments: str) -> None:
    """Ask for a refund, in a process that is killed within it."""
    with Store.open(path) as store:
        tools = tools_of(Path(payments), is_killed=True)
        agent = agent_of(Session.open(address, store=store), tools, call("refund", return_number="R-2049"))
        agent.ask_sync(REFUND)


def play(store: str | None = None, seconds: float = 20.0) -> None:
    """Play everything, and print how to look at what was kept."""
    writer = local_model() if seconds > 0 else None
    path = store or str(Path(tempfile.mkdtemp(prefix="quire-demo-")) / "demo.db")
    try:
        with Store.open(path) as opened:
            known = opened.conversations(SCOPE)
            address = f"{SCOPE}/{next(n for n in range(1, len(known) + 2) if str(n) not in known)}"
            asyncio.run(play_all(opened, path, address, writer, seconds))
    finally:
        if writer is not None:
            writer.close()
    command = ".venv/bin/quire" if Path(".venv/bin/quire").exists() else "quire"
    print(f"\nEverything is kept in {path}. To look at it:")
    for verb in (f"show {address}", f"log {address}", f'recall "broken doorbell" --scope {SCOPE}'):
        print(f"  {command} {verb} --store {path}")


def local_model() -> Local | None:
    """The small model, if it is installed."""
    try:
        model = Local(context=MODEL_CONTEXT)
    except (InvalidValue, MissingExtra) as fault:
        print(f"There is no model on this machine, so the script writes the summary too: {fault}.")
        return None
    print(f"A script plays both sides; {model.name}, on this machine, writes the summary.")
    return model


if __name__ == "__main__":
    if sys.argv[1:2] == ["--crash"]:
        crash(*sys.argv[2:])
    else:
        play()
