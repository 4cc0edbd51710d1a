"""A conversation at the command line: lines in, answers as they come, and questions to the person between."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

from quire.agent import Agent, Began, Delta, Done, Ended, Reply, Thoughts, Words
from quire.agent.calls import Approver
from quire.cli.beside import Beside
from quire.cli.chat_commands import COMMANDS, Command
from quire.cli.chat_words import STOPS, call_in_words, question_of
from quire.cli.interrupts import interrupts_to
from quire.cli.terminal import Terminal
from quire.cli.words import glimpse, named, several
from quire.context import Context
from quire.errors import InvalidValue, QuireError
from quire.items import ToolCall
from quire.session import Built, Hook, Session

T = TypeVar("T")

PROMPT = "> "
_YES, _NO = ("y", "yes"), ("", "n", "no")
_PATIENCE = 10.0
"""Seconds that the end of a conversation waits for a compaction before it leaves it to the next one."""

_HEARING = 0.5
"""Seconds to wait for a word before waiting again: an interrupt that came just before is heard between."""


class _May(NamedTuple):
    """A call that a person is to approve."""

    call: ToolCall
    answer: "Future[bool | str]"


class Chat:
    """One person and one agent.

    `opening` gives a session that a hook hears, `make` the agent of a session, given who approves of calls.
    """

    def __init__(
        self,
        opening: Callable[[Hook], Session],
        make: Callable[[Session, Approver], Agent],
        beside: Beside,
    ) -> None:
        self._make = make
        self._told: SimpleQueue[Delta | _May | None] = SimpleQueue()
        self.beside = beside
        self.terminal = Terminal()
        self.has_failed = False
        self._stop: Callable[[], object] = bool  # what an interrupt does: now nothing
        self.seen: Context | None = None
        """What the model saw last in this conversation."""
        self.go_on_in(opening(Hook(self._see, (Built,), name="quire.chat.seen")))

    def go_on_in(self, session: Session) -> None:
        """Go on in a conversation."""
        self.agent, self.seen = self._make(session, self._approve), None

    def run(self) -> None:
        """Talk until the input ends, or the person has enough. An interrupt stops what is on its way."""
        with interrupts_to(lambda: self._stop()):
            self._run()

    def _run(self) -> None:
        self._greet()
        while (line := self._line(PROMPT)) is not None:
            if line.startswith("/"):
                name, _, rest = line[1:].partition(" ")
                if name in ("quit", "exit"):
                    break
                self._obey(COMMANDS.get(name), name, rest.strip())
            elif line.strip():
                self.follow(self.agent.stream(line.strip()))
        self.beside.wait(self.agent.session.aio.close(timeout=_PATIENCE))

    def follow(self, deltas: AsyncGenerator[Delta, None]) -> None:
        """Show an answer as it comes. An interrupt stops the answer, and nothing else."""
        work = self.beside.begin(self._tell(deltas))
        with self._stopped_by(lambda: self.beside.begin(self.agent.interrupt())):
            while (told := self._next()) is not None:
                self._show(told)
        try:
            work.result()
        except QuireError as fault:
            self.fail(fault)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What some work gives; an interrupt stops it, and is an error."""
        begun = self.beside.begin(work)
        try:
            with self._stopped_by(begun.cancel):
                return begun.result()
        except CancelledError:
            raise InvalidValue("this was interrupted") from None

    def fail(self, fault: QuireError) -> None:
        """Say in a line what went wrong; the conversation goes on."""
        self.has_failed = True
        self.terminal.fault("; ".join([str(fault), *getattr(fault, "__notes__", ())]))

    def _obey(self, command: Command | None, name: str, rest: str) -> None:
        try:
            if command is None:
                raise InvalidValue(f"there is no /{named(name)}; /help lists what there is")
            command.act(self, rest)
        except QuireError as fault:
            self.fail(fault)

    def _line(self, prompt: str) -> str | None:
        """The next line; an interrupt of a person who types drops what was typed."""
        while True:
            try:
                return self.terminal.line(prompt)
            except KeyboardInterrupt:
                if not self.terminal.is_person:
                    return None
                self.terminal.note("\n/quit ends this")

    @contextmanager
    def _stopped_by(self, stop: Callable[[], object]) -> Generator[None]:
        before, self._stop = self._stop, stop
        try:
            yield
        finally:
            self._stop = before

    def _next(self) -> "Delta | _May | None":
        while True:
            with suppress(Empty):
                return self._told.get(timeout=_HEARING)

    async def _tell(self, deltas: AsyncGenerator[Delta, None]) -> None:
        try:
            async for delta in deltas:
                self._told.put(delta)
        finally:
            self._told.put(None)

    def _show(self, told: "Delta | _May") -> None:
        match told:
            case Words():
                self.terminal.words(told.text)
            case Thoughts():
                self.terminal.words(told.text, dim=True)
            case Began():
                self.terminal.note(f"· {call_in_words(told.call)}")
            case Ended():
                failed = " failed" if told.result.is_error else ""
                self.terminal.note(f"· {named(told.result.name)}{failed}: {glimpse(told.result)}")
            case Done():
                self._end(told.reply)
            case _May():
                self._decide(told)
            case _:
                self.terminal.end_line()

    def _end(self, reply: Reply) -> None:
        self.terminal.end_line()
        if reply.stop in STOPS:
            self.terminal.note(STOPS[reply.stop])
        self._ask_what_waits(list(reply.waiting))

    def _ask_what_waits(self, calls: list[ToolCall]) -> None:
        """Put the questions of the model; the next line answers the first."""
        tools = {tool.name: tool for tool in self.agent.tools}
        for call in calls:
            if call.name in tools and tools[call.name].asks_person:
                self.terminal.say(f"? {question_of(call)}")

    def _decide(self, asked: _May) -> None:
        verdict: bool | str = False
        try:
            self.terminal.say(f"may this be run? {call_in_words(asked.call)}")
            said = (self.terminal.line("yes, no or why not: ") or "").strip()
            verdict = said.lower() in _YES if said.lower() in (*_YES, *_NO) else said
        except KeyboardInterrupt:
            self._stop()
        asked.answer.set_result(verdict)

    async def _approve(self, call: ToolCall) -> bool | str:
        answer: Future[bool | str] = Future()
        self._told.put(_May(call, answer))
        return await asyncio.wrap_future(answer)

    def _see(self, event: Built) -> None:
        self.seen = event.context

    def _greet(self) -> None:
        session = self.agent.session
        here = several(len(session.view()), "item")
        self.terminal.note(f"{self.agent.model.name} in {session.place}, {here} so far; /help lists commands")
        waiting = [call for call, _ in session.steps.standing()]
        self._ask_what_waits(waiting)
        if any(not _asks(self.agent, call) for call in waiting):
            self.terminal.note("the last turn was left in the middle: /resume goes on with it")


def _asks(agent: Agent, call: ToolCall) -> bool:
    return any(tool.name == call.name and tool.asks_person for tool in agent.tools)
