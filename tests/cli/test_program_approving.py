"""Calls of a program that a person approves of: one at a time, each with its own question, and the reason."""

import asyncio
from collections.abc import Callable

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire import Session, ToolCall
from quire.agent import tool
from quire.cli.program_approving import Approving
from quire.cli.program_telling import Telling
from quire.cli.terminal import Terminal
from quire.programs import Coder, Printed, Task
from quire.stores import MemoryStore


class Person(Terminal):
    """Who says these things, one after the other, and sees what is shown."""

    def __init__(self, *answers: str | None, meanwhile: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.is_person = True
        self.seen: list[str] = []
        self._answers = list(answers)
        self._meanwhile = meanwhile

    def line(self, prompt: str) -> str | None:
        self.seen.append(prompt)
        self._meanwhile()
        return self._answers.pop(0)

    def note(self, text: str) -> None:
        self.seen.append(text)


@tool(approve=True)
async def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


GATHERING = """\
import asyncio
async def one(path):
    try:
        return await delete(path)
    except RuntimeError as fault:
        return str(fault)
output = list(await asyncio.gather(*[one(path) for path in ("a", "b", "c", "d")]))
"""


def test_calls_side_by_side_are_asked_about_one_by_one_and_a_reason_is_passed_on() -> None:
    async def work() -> None:
        person = Person("yes", " No ", "it is my thesis", None)
        task = Task("clean", input={"x": int}, output=list[str], tools=[delete])
        session = Session.open("ana/one", store=MemoryStore())
        coder = Coder(session=session, approver=Approving(Telling(person), person))
        first, *others = (await coder.run(task, GATHERING, x=1)).value
        assert first == "deleted a" and all("not run" in other for other in others)
        assert "it is my thesis" in others[1] and "not approved" in others[0] and "not approved" in others[2]
        assert [text.partition("?")[0] for text in person.seen] == [
            "may this be run",
            "yes, no or why not: ",
        ] * 4
        assert [path for text in person.seen for path in "abcd" if f'"{path}"' in text] == [*"abcd"]

    asyncio.run(work())


def test_what_happens_while_a_person_types_is_shown_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[str] = []

    def meanwhile() -> None:
        telling(Printed("attempt_a", "meanwhile\n"))
        shown.append(capsys.readouterr().err)

    person = Person("yes", meanwhile=meanwhile)
    telling = Telling(person)
    assert asyncio.run(Approving(telling, person)(ToolCall("call_1", "delete"))) is True
    assert shown == [""] and "meanwhile" in capsys.readouterr().err


def test_where_there_is_no_person_nothing_is_approved() -> None:
    person = Person()
    person.is_person = False
    verdict = asyncio.run(Approving(Telling(person), person)(ToolCall("call_1", "delete")))
    assert isinstance(verdict, str) and person.seen == []
