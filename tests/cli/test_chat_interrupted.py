"""`quire chat` as a process: an interrupt stops the answer and not the program, at a terminal and without."""

import os
import pty
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire.items import Message
from quire.session import Session
from quire.stores import Store

_PATIENCE = 120
SLOW = """
import asyncio, sys
from quire.cli.chatting import converse
from quire.models import Answering, Scripted
from quire.stores import Store

class Slow(Scripted):
    def send(self, rendered, **terms):
        answering = super().send(rendered, **terms)
        if "slowly" in str(rendered.payload["messages"][-1]["content"]):
            async def late():
                async with answering:
                    async for delta in answering.deltas():
                        yield delta
                        await asyncio.sleep(3600)
            return Answering(late(), lambda: answering.parsed)
        return answering

with Store.open(sys.argv[1]) as store:
    sys.exit(converse(store, "ana/chat", Slow(lambda sent: "Once upon a time."), "Be brief.", []))
"""


@contextmanager
def chatting(path: Path, **pipes: Any) -> "Generator[subprocess.Popen[str]]":
    command = [sys.executable, "-u", "-c", SLOW, str(path)]
    process = subprocess.Popen(command, text=True, **pipes)
    ending = threading.Timer(_PATIENCE, process.kill)
    ending.start()
    try:
        yield process
    finally:
        ending.cancel()
        process.kill()
        process.wait()


def said(path: Path) -> list[tuple[str, str, bool]]:
    with Store.open(path) as store:
        items = Session.open("ana/chat", store=store).view()
        return [(item.role, item.text, item.interrupted) for item in items if isinstance(item, Message)]


class Screen:
    """What a terminal shows of a process."""

    def __init__(self, descriptor: int, process: "subprocess.Popen[str]") -> None:
        self._descriptor = descriptor
        self._process = process
        self._unread = ""

    def wait_for(self, words: str) -> None:
        """Read on until some words have come."""
        while words not in self._unread:
            self._unread += os.read(self._descriptor, 4096).decode()
        self._unread = self._unread.partition(words)[2]

    def interrupt_until(self, words: str) -> None:
        """Interrupt until that is answered: at a prompt, one that comes a moment too early is not heard."""
        while words not in self._unread:
            self._process.send_signal(signal.SIGINT)
            if select.select([self._descriptor], [], [], 1.0)[0]:
                self._unread += os.read(self._descriptor, 4096).decode()
        self._unread = self._unread.partition(words)[2]


def test_without_a_terminal(tmp_path: Path) -> None:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with chatting(tmp_path / "chats.db", **pipes) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("Tell slowly\n")
        process.stdin.flush()
        assert process.stdout.read(4) == "Once"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate("Tell it\n", timeout=_PATIENCE)
    assert process.returncode == 0, err
    assert out == "\nOnce upon a time.\n" and "interrupted" in err and "Traceback" not in err
    assert said(tmp_path / "chats.db") == [
        ("user", "Tell slowly", False),
        ("assistant", "Once", True),
        ("user", "Tell it", False),
        ("assistant", "Once upon a time.", False),
    ]


def test_at_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with chatting(tmp_path / "chats.db", stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        screen = Screen(ours, process)
        screen.wait_for("> ")
        screen.interrupt_until("/quit ends this")  # nothing is on its way
        screen.wait_for("> ")
        os.write(ours, b"Tell slowly\n")
        screen.wait_for("Once")
        screen.interrupt_until("interrupted")
        screen.wait_for("> ")
        os.write(ours, b"\x04")
        assert process.wait(_PATIENCE) == 0
    os.close(ours)
    assert [role for role, _, _ in said(tmp_path / "chats.db")] == ["user", "assistant"]
