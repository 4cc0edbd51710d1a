"""`quire chat` with lines from a pipe and a model that follows a script."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from quire.agent import Tool
from quire.cli.chatting import converse
from quire.items import Item
from quire.models import Scripted
from quire.session import Session
from quire.stores import Store

ADDRESS = "ana/chat"


def nothing_installed(name: str) -> None:
    """What looks for a package, where there is none."""


class Talked(NamedTuple):
    """What was printed, what was asked of the model, and whether something failed."""

    out: str
    err: str
    model: Scripted
    has_failed: bool


class Place:
    """A store, and what is said in a conversation of it."""

    def __init__(self, path: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = path
        self._patch = patch
        self._capsys = capsys

    def talk(self, *lines: str, replies: Any = (), tools: Sequence[Tool] = ()) -> Talked:
        """Say some lines, until the input ends."""
        self._patch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        model = Scripted(replies)
        with Store.open(self.path) as store:
            failed = converse(store, ADDRESS, model, "Be brief.", list(tools))
        told = self._capsys.readouterr()
        return Talked(told.out, told.err, model, failed)

    def items(self, address: str = ADDRESS) -> list[Item]:
        """What a conversation shows."""
        with Store.open(self.path) as store:
            return list(Session.open(address, store=store).view())
