"""The demonstration: plays the story through the core and prints what is recorded, counted and shown."""

import asyncio

from quire.cli.story import story
from quire.compactors import Offload, Room, record
from quire.context import Template
from quire.items import (
    ConfigChange,
    Handoff,
    Item,
    Message,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
    kind_of,
    text_of,
)
from quire.providers import PROVIDERS
from quire.providers.checking import HISTORY
from quire.sections import Ask, Catalogue, History
from quire.state import Pool, Transcript, View, truncate
from quire.tokens import Budget, Counter, counter_for

MODEL = "gpt-5.6"
BUDGET = 400
WINDOW = 900
WIRE_MODELS = {
    "openai": MODEL,
    "openai-responses": MODEL,
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
}


def main() -> None:
    """Print the whole story."""
    transcript = Transcript(story())
    counter = counter_for(MODEL)
    everything = transcript.view
    _print_view(f"What happened, counted for {MODEL}", everything, everything, counter)

    cut = truncate(everything, tokens=BUDGET, counter=counter)
    if cut is not None:
        transcript.append(cut)
    _print_view(f"Truncated to {BUDGET} tokens", transcript.view, everything, counter)
    print("The frame stays: instructions, configuration, the handoff, the waiting call, the last question.")
    print("Calls went with their results, and nothing is lost: the cut is an item of its own.\n")

    if cut is not None:
        transcript.append(Undo(cut.id))
    _print_totals("Undone", transcript.view, counter)
    child = transcript.fork()
    _print_totals("A fork, in which the open call is closed and marked", child.view, counter)
    print(f"Revisions 0 to {transcript.revision} can all be shown again.\n")
    _print_wires(transcript.view)
    print("\nWhat the model sees within a budget, and why:\n")
    asyncio.run(_print_choice(transcript, counter))


async def _print_choice(transcript: Transcript, counter: Counter) -> None:
    pool, room = Pool(), Room(WINDOW, counter)
    plan = Offload(larger_than=200, keep=0, ceiling=0).plan(transcript.view, room)
    if plan is not None:
        record(transcript, plan, pool=pool)
        print(f"{plan.by}: {plan.before:,} tokens to {plan.after:,}. {plan.reason}.\n")
    template = Template(History(), Catalogue(), budget=Budget(window=WINDOW, reserve=100), model=MODEL)
    context = await template.build(Ask(views={"main": transcript.view}, pool=pool))
    print(f"{context.receipt}\n")
    for entry in (entry for entry in context.receipt.entries if entry.kind == "tool_result"):
        print(f"  {entry.kind}, {entry.tokens:,} tokens: {entry.fate}. {entry.reason} ({entry.rule}).")


def _print_wires(view: View) -> None:
    print("The same view for four providers:")
    for name, provider in PROVIDERS.items():
        rendered = provider.render(view, model=WIRE_MODELS[name])
        sent = rendered.payload[HISTORY[name]]
        faults = provider.check(rendered.payload, WIRE_MODELS[name])
        print(f"  {name:17} {WIRE_MODELS[name]:18} {len(sent):>2} messages, {len(faults)} faults")
        for downgrade in rendered.downgrades:
            print(f"      {downgrade.change}: {downgrade.reason}")


def _print_view(title: str, view: View, everything: View, counter: Counter) -> None:
    _print_totals(title, view, counter)
    print(f"  {'#':>2}  {'kind':13} {'group':>5} {'tokens':>6}  {'shown':7} what")
    number_of = {
        item.id: number for number, group in enumerate(everything.groups(), 1) for item in group.items
    }
    for index, item in enumerate(everything, 1):
        state = view.fate(item.id).state
        tokens = counter.count(item)
        kind = kind_of(item)
        print(f"  {index:>2}  {kind:13} {number_of[item.id]:>5} {tokens:>6}  {state:7} {_glimpse(item)}")
    print()


def _print_totals(title: str, view: View, counter: Counter) -> None:
    sizes = f"{len(view)} items, {len(view.groups())} groups, {view.tokens(counter)} tokens"
    print(f"{title}: {sizes}, {len(view.pending())} waiting")


def _glimpse(item: Item) -> str:
    """A few words to recognise an item by."""
    match item:
        case Message():
            media = "".join(
                f" +{type(part).__name__.lower()}" for part in item.parts if not isinstance(part, str)
            )
            words = f"{item.role}: {item.text}"
            return _short(words, 60 - len(media)) + media
        case ToolCall():
            return _short(f"{item.name}({item.arguments})")
        case ToolResult():
            return _short(f"{item.name} {'failed' if item.is_error else 'gave'}: {text_of(item.content)}")
        case Reasoning() | Summary():
            return _short(item.text)
        case Handoff():
            return _short(f"to {item.to_agent}: {item.reason}")
        case ConfigChange():
            return _short(f"tools: {', '.join(item.tools or ())}")
        case _:
            return kind_of(item)


def _short(text: str, width: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
