"""Stores on disk with conversations in them, for the commands that work on stores."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from quire import Budget, Template
from quire.items import Message, Note, Span, Summary
from quire.sections import History
from quire.session import Session
from quire.stores import Store

ENDINGS = ("db", "jsonl")
KEY = bytes(range(32))
NASTY = "How did Q3 go? \x1b[31m\x9b2J\u202e[bold]:smile:"
ANSWER: dict[str, Any] = {
    "object": "chat.completion",
    "model": "gpt-5.6",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Quite well."}}
    ],
    "usage": {"prompt_tokens": 30, "completion_tokens": 2, "total_tokens": 32},
}


def seeded(path: Path, address: str = "ana/q3", key: bytes | None = None) -> str:
    """A store with a conversation: two questions, an answer, a request, a note and a summary; its path."""
    with Store.open(path, key=key) as store:
        session = Session.open(address, store=store)
        session.append(Message("system", "Be brief."))
        asked = session.user(NASTY)
        template = Template(History(), budget=Budget(window=8_000), model="gpt-5.6")
        session.build(template).render("openai")
        session.record(ANSWER)
        session.pool.keep(Note({"margin": 4}, key="report", description="the figures"))
        session.user("And Q4?")
        session.append(Summary("They spoke of Q3.", (Span(asked.id, asked.id),)))
    return str(path)


def conversation_in(path: str | Path, address: str = "ana/q3", key: bytes | None = None) -> list[Any]:
    """What the main transcript shows."""
    with Store.open(path, key=key) as store:
        return list(Session.open(address, store=store).view())


def ids_in(path: str | Path, address: str = "ana/q3") -> list[str]:
    return [item.id for item in conversation_in(path, address)]


def started(*arguments: str, **options: Any) -> "subprocess.Popen[str]":
    """The command line as a process of its own, which an interrupt reaches."""
    # Who is started in the background ignores interrupts, and so does what it starts.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [sys.executable, "-u", "-c", heard + "from quire.cli.door import main; main()", *arguments]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **{**pipes, **options})
