"""What a person can tell a conversation to do, in lines that begin with a slash."""

from collections.abc import Callable
from os.path import expanduser
from typing import TYPE_CHECKING, NamedTuple

from quire.cli import formats
from quire.cli.showing import item_rows
from quire.cli.words import named, several
from quire.cli.writing import write_json
from quire.context import Context
from quire.errors import InvalidValue
from quire.session import Session

if TYPE_CHECKING:
    from quire.cli.chat import Chat

_MOST_SHOWN = 40
"""Items of a context that are listed, the last ones."""


class Command(NamedTuple):
    """What is done, given what stands after its name, and what it is for."""

    act: "Callable[[Chat, str], None]"
    use: str


def _help(chat: "Chat", _: str) -> None:
    chat.terminal.say("\n".join(command.use for command in COMMANDS.values()))


def _context(chat: "Chat", _: str) -> None:
    when = "the model saw" if chat.seen is not None else "nothing was sent yet; the model would see"
    context = _seen(chat)
    rows = item_rows(context.items, context.model or chat.agent.model.name)
    left = len(rows) - 1 - _MOST_SHOWN
    if left > 0:
        rows = [rows[0], f"… {several(left, 'item')} before these", *rows[-_MOST_SHOWN:]]
    chat.terminal.say("\n".join((f"{when}:", *rows, "", str(context.receipt))))


def _budget(chat: "Chat", _: str) -> None:
    context, budget = _seen(chat), chat.agent.speaker.template.budget
    receipt = context.receipt
    rows = [(line.section, line.tokens) for line in receipt.lines()]
    rows += [("tool definitions", receipt.schemas)] if receipt.schemas else []
    rows += [
        ("in all", receipt.tokens),
        ("free", receipt.available - receipt.tokens),
        ("kept for the answer", budget.reserve),
        ("window", budget.window),
    ]
    width = max(len(name) for name, _ in rows)
    table = [f"{named(name):{width}}  {tokens:>9,}" for name, tokens in rows]
    chat.terminal.say("\n".join((*table, _spent(chat.agent.session), *_compaction(chat))))


def _compact(chat: "Chat", _: str) -> None:
    counter = _seen(chat).room().counter  # there is a room for the history only once a context was built
    session = chat.agent.session
    before = session.view().tokens(counter)
    if chat.wait(session.aio.compaction.run()):
        now = session.view().tokens(counter)
        chat.terminal.say(f"the history has {now:,} tokens now, {before:,} before; /undo takes it back")
    else:
        chat.terminal.say("there is nothing to make smaller")


def _undo(chat: "Chat", _: str) -> None:
    session = chat.agent.session
    before = len(session.view())
    undone = session.undo()
    now = several(len(session.view()), "item is shown", "items are shown")
    chat.terminal.say(f"{named(undone.target)} is taken back: {now}, {before:,} before")


def _fork(chat: "Chat", name: str) -> None:
    if not name:
        raise InvalidValue("a fork has a name: /fork NAME")
    before = chat.agent.session
    child = before.fork(name)
    chat.wait(before.aio.close())
    chat.go_on_in(child)
    chat.terminal.say(f"this goes on in {child.place}; {before.place} stays as it is")


def _save(chat: "Chat", file: str) -> None:
    if not file:
        raise InvalidValue("what is saved has a name: /save FILE")
    items = chat.agent.session.view().recorded()
    payload, _ = formats.written(items, formats.OWN, model=None, tools=[])
    write_json(payload, expanduser(file))
    chat.terminal.say(f"{several(len(items), 'item')} written to {file}")


def _resume(chat: "Chat", _: str) -> None:
    if not len(chat.agent.session.view()):
        raise InvalidValue("nothing was said yet")
    chat.follow(chat.agent.resume_stream())


def _seen(chat: "Chat") -> Context:
    """What the model saw last; where nothing was sent, what it would see."""
    if chat.seen is not None:
        return chat.seen
    would_see = chat.wait(chat.agent.preview())
    chat.seen = None  # it was built, and nobody saw it
    return would_see


def _spent(session: Session) -> str:
    spending, usage = session.spending, session.spending.usage
    share = f", {usage.cache_read / usage.input:.0%} of it from the cache" if usage.cache_read else ""
    cost = f", {spending.cost:.4f} USD" if spending.cost else ""
    # A compaction asks too, and has no receipt; an endpoint may not tell what an answer took.
    sent = max(spending.requests, len(session.receipts))
    untold = sent - spending.requests
    left = f"; of {several(untold, 'request')} it was not told" if untold else ""
    told = f"{usage.input:,} tokens read{share}, {usage.output:,} written{cost}"
    return f"spent so far: {several(sent, 'request')}, {told}{left}"


def _compaction(chat: "Chat") -> list[str]:
    work = chat.agent.session.compaction
    if work.compactor is None:
        return []
    metrics = work.metrics
    fault = f"; the last one failed: {metrics.fault}" if metrics.fault else ""
    return [f"compactions: {metrics.completed:,} done, {metrics.pending:,} under way{fault}"]


COMMANDS: dict[str, Command] = {
    "context": Command(_context, "/context     what the model saw last, and why"),
    "budget": Command(_budget, "/budget      tokens by section, what is free, what was spent"),
    "compact": Command(_compact, "/compact     make the history smaller now"),
    "undo": Command(_undo, "/undo        take the last edit back, such as a compaction"),
    "fork": Command(_fork, "/fork NAME   go on in a copy; this conversation stays as it is"),
    "save": Command(_save, "/save FILE   write all that was recorded, for `quire import`"),
    "resume": Command(_resume, "/resume      go on with a turn that was left in the middle"),
    "help": Command(_help, "/help        this\n/quit        end; so does the end of input"),
}
