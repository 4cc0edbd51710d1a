"""The command `chat`: reads lines, streams answers, and asks the person for approvals."""

import asyncio
import inspect
import logging
import signal
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from quire.agent import Agent, CallEnded, CallStarted, Delta, TextDelta, ThinkingDelta, Tool, TurnEnded, tool
from quire.agent.builtin import ask_user, file_tools, read_back_tools, time_tools
from quire.cli.options import KeyFile, StoreUrl
from quire.cli.phrases import STOPS, call, item_rows, named, outcome, plural, question
from quire.cli.stores import at_store
from quire.cli.terminal import Terminal, note
from quire.compactors import Cascade, ClearToolResults, Summarize, TruncateOldest
from quire.context import Context
from quire.errors import InvalidValue, MissingExtra, QuireError, cut
from quire.items import ToolCall
from quire.models import LOCAL, AnyModel, Local, Model, read_name
from quire.session import Built, Hook, Session, wait_for
from quire.stores import Store
from quire.stores.threads import TOOLS
from quire.tokens import counter_for

_ADDRESS = "me/chat"
FOLDER = "quire-files"
INSTRUCTIONS = "You are a helpful assistant. Answer briefly."
_TOOL_GROUPS = ("files", "time", "ask")
_READ_ONLY = ("list_files", "read_file", "search_files")
_YES, _NO = ("y", "yes"), ("", "n", "no")

_CLOSING_SECONDS = 10.0
"""How long the end of a conversation waits for a compaction."""

_MAX_SHOWN = 40
"""The number of items that `/context` lists, the last ones."""

_MODEL_HINT = (
    "name another model with --model: openai:gpt-5.6, anthropic:claude-sonnet-4-5 or google:gemini-2.5-pro "
    "with a key in the environment, local:/path/to/weights.gguf, "
    "or openai:NAME@http://127.0.0.1:8000/v1 for a service of your own"
)

ModelName = Annotated[
    str | None,
    typer.Option(envvar="QUIRE_MODEL", help="such as openai:gpt-5.6; by default the embedded one"),
]
InstructionsText = Annotated[str, typer.Option(help="the instructions of the model")]
ToolGroups = Annotated[str, typer.Option(help="groups of tools: files, time, ask, or several")]
Folder = Annotated[str, typer.Option(help="where the file tools keep their files")]


def chat(
    address: Annotated[str, typer.Argument(help="scope/conversation, new or existing")] = _ADDRESS,
    store: StoreUrl = None,
    model: ModelName = None,
    instructions: InstructionsText = INSTRUCTIONS,
    tools: ToolGroups = "",
    folder: Folder = FOLDER,
    key_file: KeyFile = None,
) -> None:
    """Chat with a model in a stored conversation, which can be continued. /help lists its commands."""
    with at_store(store, key_file, make=True) as opened:
        failed = converse(opened, address, model_named(model), instructions, tools_named(tools, folder))
    if failed:
        raise typer.Exit(1)


def converse(store: Store, address: str, model: AnyModel, instructions: str, tools: "list[Tool]") -> bool:
    """Chat until the input ends; return whether something failed that no person could see."""
    talk = Chat(model, instructions, tools)
    hook = Hook(talk.keep_context, (Built,), name="quire.chat.seen")
    talk.continue_in(Session.open(address, store=store, hooks=[hook]))
    with _warnings_shown():
        try:
            talk.run()
        finally:
            wait_for(close_model(model))
    return talk.has_failed and not talk.terminal.is_person


class Chat:
    """One person and one agent.

    The agent runs on the event loop of all synchronous calls, so that background work continues while the
    person types. This thread reads lines, and receives the interrupts from the keyboard.
    """

    def __init__(self, model: AnyModel, instructions: str, tools: "list[Tool]") -> None:
        self._model, self._instructions, self._tools = model, instructions, tools
        self.terminal = Terminal()
        self.has_failed = False
        self.seen: Context | None = None
        """The last context of this conversation."""

    def continue_in(self, session: Session) -> None:
        """Continue in a conversation."""
        # A small model is not trusted to write summaries.
        is_small = self._model.name.startswith("SmolLM2-135M")
        summarize = Cascade(ClearToolResults(ceiling=0.7), Summarize(unit="tokens", ceiling=0.8))
        self.agent = Agent(
            session,
            model=self._model,
            instructions=self._instructions,
            tools=self._tools,
            compactor=TruncateOldest(ceiling=0.9) if is_small else summarize,
            approver=self._approve,
        )
        self.seen = None

    def keep_context(self, event: Built) -> None:
        """Keep the last context."""
        self.seen = event.context

    def run(self) -> None:
        """Chat until the input ends or the person quits."""
        self._greet()
        while (line := self._line()) is not None and line not in ("/quit", "/exit"):
            try:
                self._handle(line)
            except QuireError as fault:
                self.has_failed = True
                self.terminal.error("; ".join([str(fault), *getattr(fault, "__notes__", ())]))
            except KeyboardInterrupt:
                self._interrupt()
        wait_for(self.agent.session.aio.close(timeout=_CLOSING_SECONDS))

    def answer(self, deltas: AsyncGenerator[Delta, None]) -> None:
        """Show an answer as it comes."""

        async def show() -> None:
            async for delta in deltas:
                self._show(delta)

        wait_for(show())

    def _greet(self) -> None:
        session = self.agent.session
        here = plural(len(session.view()), "item")
        self.terminal.note(f"{self.agent.model.name} in {session.place}, {here} so far; /help lists commands")
        open_calls = session.calls.list_open()
        for tool_call in (tool_call for tool_call, progress in open_calls if progress == "foreign"):
            self.terminal.note(f"{call(tool_call)} was recorded without a result, and may have run elsewhere")
        waiting = [tool_call for tool_call, _ in open_calls]
        if self._ask(waiting) < len(waiting):
            self.terminal.note("the last turn was left unfinished: /resume continues it")

    def _line(self) -> str | None:
        """The next line; an interrupt discards the line that is typed."""
        while True:
            try:
                return self.terminal.line("> ")
            except KeyboardInterrupt:
                if not self.terminal.is_person:
                    return None
                self.terminal.note("\n/quit ends the conversation")

    def _handle(self, line: str) -> None:
        """Answer a line, or run it as a command."""
        if not line.startswith("/"):
            if line.strip():
                self.answer(self.agent.stream(line.strip()))
            return
        name, _, rest = line[1:].partition(" ")
        if name not in COMMANDS:
            raise InvalidValue(f"there is no /{named(name)}; /help lists the commands")
        COMMANDS[name][0](self, rest.strip())

    def _interrupt(self) -> None:
        """Stop the answer, and wait until it is recorded; a second interrupt does not break this off."""
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            wait_for(self.agent.interrupt())
            self.terminal.note(STOPS["interrupted"])
        finally:
            signal.signal(signal.SIGINT, handler)

    def _show(self, delta: Delta) -> None:
        match delta:
            case TextDelta() | ThinkingDelta():
                self.terminal.stream(delta.text, dim=isinstance(delta, ThinkingDelta))
            case CallStarted():
                self.terminal.note(f"· {call(delta.call)}")
            case CallEnded():
                self.terminal.note(f"· {outcome(delta.result)}")
            case TurnEnded():
                self.terminal.end_line()
                if delta.reply.stop in STOPS:
                    self.terminal.note(STOPS[delta.reply.stop])
                self._ask(list(delta.reply.waiting))
            case _:
                self.terminal.end_line()

    def _ask(self, calls: list[ToolCall]) -> int:
        """Print the model's questions and return their number; the next line answers the first."""
        asking = {tool.name for tool in self.agent.tools if tool.asks_person}
        questions = [tool_call for tool_call in calls if tool_call.name in asking]
        for tool_call in questions:
            self.terminal.say(f"? {question(tool_call)}")
        return len(questions)

    async def _approve(self, tool_call: ToolCall) -> bool | str:
        try:
            return await TOOLS.do(ask_approval, self.terminal, tool_call)
        except asyncio.CancelledError:  # the thread still reads a line
            self.terminal.note("this call is not approved: press Enter to continue")
            raise


def ask_approval(terminal: Terminal, tool_call: ToolCall) -> bool | str:
    """Whether a person approves a call; a text is the reason for a refusal."""
    terminal.say(f"approve this call? {call(tool_call)}")
    answer = (terminal.line("yes, no or why not: ") or "").strip()
    return answer.lower() in _YES if answer.lower() in (*_YES, *_NO) else answer


@contextmanager
def _warnings_shown() -> Generator[None]:
    """Print the library's warnings, a line each."""

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(record.getMessage())

    logger, notes = logging.getLogger("quire"), Notes(logging.WARNING)
    logger.addHandler(notes)
    try:
        yield
    finally:
        logger.removeHandler(notes)


# Lines that begin with a slash


def _help(chat: Chat, _: str) -> None:
    chat.terminal.say("\n".join(line for _, line in COMMANDS.values()))


def _context(chat: Chat, _: str) -> None:
    when = "the model saw" if chat.seen is not None else "nothing was sent yet; the model would see"
    context = _seen(chat)
    head, *rows = item_rows(context.items, counter_for(context.model or chat.agent.model.name))
    earlier = len(rows) - _MAX_SHOWN
    omitted = [f"… {plural(earlier, 'item')} before these"] if earlier > 0 else []
    chat.terminal.say("\n".join((f"{when}:", head, *omitted, *rows[-_MAX_SHOWN:], "", str(context.receipt))))


def _budget(chat: Chat, _: str) -> None:
    context, budget = _seen(chat), chat.agent.speaker.template.budget
    receipt, work = context.receipt, chat.agent.session.compaction
    rows = [
        *((line.section, line.tokens) for line in receipt.lines()),
        *([("tool definitions", receipt.schemas)] if receipt.schemas else []),
        ("in all", receipt.tokens),
        ("free", receipt.available - receipt.tokens),
        ("reserved for the answer", budget.reserve),
        ("window", budget.window),
    ]
    width = max(len(name) for name, _ in rows)
    lines = [f"{named(name):{width}}  {tokens:>9,}" for name, tokens in rows]
    counts = f"compactions: {work.metrics.completed:,} done, {work.metrics.pending:,} running"
    fault = f"; the last one failed: {work.metrics.fault}" if work.metrics.fault else ""
    chat.terminal.say("\n".join((*lines, _spent(chat.agent.session), f"{counts}{fault}")))


def _compact(chat: Chat, _: str) -> None:
    counter, session = _seen(chat).room().counter, chat.agent.session
    before = session.view().tokens(counter)
    if wait_for(session.aio.compaction.run()):
        now = session.view().tokens(counter)
        chat.terminal.say(f"the history has {now:,} tokens now, {before:,} before; /undo restores it")
    else:
        chat.terminal.say("there is nothing to compact")


def _undo(chat: Chat, _: str) -> None:
    session = chat.agent.session
    before = len(session.view())
    undone = session.undo()
    now = plural(len(session.view()), "item is shown", "items are shown")
    chat.terminal.say(f"{named(undone.target)} is undone: {now}, {before:,} before")


def _fork(chat: Chat, name: str) -> None:
    if not name:
        raise InvalidValue("a fork needs a name: /fork NAME")
    parent = chat.agent.session
    child = parent.fork(name)
    wait_for(parent.aio.close())
    chat.continue_in(child)
    chat.terminal.say(f"continuing in {child.place}; {parent.place} stays as it is")


def _resume(chat: Chat, _: str) -> None:
    if not len(chat.agent.session.view()):
        raise InvalidValue("there is nothing to resume")
    chat.answer(chat.agent.resume_stream())


COMMANDS: dict[str, tuple[Callable[[Chat, str], None], str]] = {
    "context": (_context, "/context     show what the model saw last, and why"),
    "budget": (_budget, "/budget      show tokens by section, what is free, what was spent"),
    "compact": (_compact, "/compact     compact the history now"),
    "undo": (_undo, "/undo        undo the last edit, such as a compaction"),
    "fork": (_fork, "/fork NAME   continue in a copy; this conversation stays as it is"),
    "resume": (_resume, "/resume      continue a turn that was left unfinished"),
    "help": (_help, "/help        list these commands\n/quit        end; so does the end of input"),
}


def _seen(chat: Chat) -> Context:
    """The last context; if nothing was sent, a preview."""
    if chat.seen is not None:
        return chat.seen
    preview = wait_for(chat.agent.preview())
    chat.seen = None  # the hook has set it, but a preview is not sent
    return preview


def _spent(session: Session) -> str:
    spending, usage = session.spending, session.spending.usage
    share = f", {usage.cache_read / usage.input:.0%} of it from the cache" if usage.cache_read else ""
    cost = f", {spending.cost:.4f} USD" if spending.cost else ""
    requests = plural(spending.requests, "request")
    return f"spent so far: {requests}, {usage.input:,} tokens read{share}, {usage.output:,} written{cost}"


# Models and tools by name


def model_named(name: str | None) -> AnyModel:
    """The model of a name; without a name the embedded one, or an error that says how to name one."""
    parsed = read_name(name or LOCAL)
    if parsed.client != LOCAL:
        return Model(name or LOCAL)
    try:
        return Local(parsed.model or None)
    except (InvalidValue, MissingExtra) as fault:
        if name is not None:
            raise
        raise InvalidValue(f"no model runs on this machine: {fault}; or {_MODEL_HINT}") from None


async def close_model(model: AnyModel) -> None:
    """Close the connections or the weights of a model."""
    close: Any = getattr(model, "close", None)
    closing = close() if close is not None else None
    if inspect.isawaitable(closing):
        await closing


def tools_named(names: str, folder: str) -> "list[Tool]":
    """The tools of groups, such as `files,time`, and with them those that read long outputs back."""
    groups = [name.strip() for name in names.split(",") if name.strip()]
    for name in groups:
        if name not in _TOOL_GROUPS:
            raise InvalidValue(f"no tools are called {cut(name)!r}; there are {', '.join(_TOOL_GROUPS)}")
    tools: list[Tool] = []
    if "files" in groups:
        tools += map(_with_approval, file_tools(folder))
    if "time" in groups:
        tools += time_tools()
    if "ask" in groups:
        tools.append(ask_user)
    return [*tools, *read_back_tools()] if tools else []


def _with_approval(file_tool: Tool) -> Tool:
    """The tool; if it changes files, it needs the person's approval."""
    if file_tool.name in _READ_ONLY:
        return file_tool
    return tool(file_tool.function, name=file_tool.name, idempotent=file_tool.is_idempotent, approve=True)
