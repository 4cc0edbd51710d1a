"""What another process forgets is in no context that is built then: sections are asked after it, or again."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quire import Budget, Template
from quire.errors import Forgotten
from quire.items import Item, Message, Note
from quire.memory import Memory, Recall
from quire.sections import History
from quire.session import Hook, Session
from quire.session.events import EVENTS
from quire.stores import Store
from tests.session.opened import SECRET

FILES = ["a.db", "a.jsonl", "a.jsonl"]


class Looking:
    """A section that counts how often it is asked, and lets something happen meanwhile."""

    name = "looking"

    def __init__(self, *meanwhile: Callable[[], object]) -> None:
        self._meanwhile = [*meanwhile]
        self.asked = 0

    async def items(self, ask: Any) -> list[Item]:
        self.asked += 1
        if self._meanwhile:
            await asyncio.to_thread(self._meanwhile.pop(0))
        return [Message("system", "looked up")]


def talking(path: Path, **options: Any) -> tuple[Session, Callable[[], None]]:
    """A session, and what has another process forget what was said first in it."""
    one = Session.open("ana/q3", store=Store.open(path), **options)
    first = one.user(SECRET)
    one.assistant("Noted.")
    other = Session.open("ana/q3", store=Store.open(path))

    def forget() -> None:
        other.refresh()
        other.forget(first.id)

    return one, forget


def shown_by(section: Looking) -> Template:
    return Template(section, History(), budget=Budget(window=9_000))


async def built(one: Session, template: Template) -> str:
    return str((await one.build(template)).render("openai").payload)


@pytest.mark.parametrize("is_heard", [False, True])
@pytest.mark.parametrize("file", FILES)
def test_sections_are_asked_again_for_what_another_forgot_while_they_were(
    tmp_path: Path, file: str, is_heard: bool
) -> None:
    async def conversation() -> None:
        hooks = [Hook(lambda _: None, EVENTS)] if is_heard else []
        one, forget = talking(tmp_path / file, hooks=hooks)
        section = Looking(forget)
        assert "swordfish" not in await built(one, shown_by(section))
        assert section.asked == 2
        assert "swordfish" not in await built(one, shown_by(section)) and section.asked == 3

    asyncio.run(conversation())


@pytest.mark.parametrize("file", FILES)
def test_what_another_forgot_before_is_not_asked_for(tmp_path: Path, file: str) -> None:
    async def conversation() -> None:
        one, forget = talking(tmp_path / file)
        section = Looking()
        assert "swordfish" in await built(one, shown_by(section))
        forget()
        assert "swordfish" not in await built(one, shown_by(section))
        assert section.asked == 2

    asyncio.run(conversation())


def test_sections_are_asked_again_for_what_a_real_other_process_forgot(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    forgets = (
        "import sys; from quire import Session; Session.open('ana/q3', store=sys.argv[1]).forget(sys.argv[2])"
    )

    async def conversation() -> None:
        one, _ = talking(path)
        run = [sys.executable, "-c", forgets, str(path), one.view()[0].id]
        section = Looking(lambda: subprocess.run(run, check=True))
        assert "swordfish" not in await built(one, shown_by(section)) and section.asked == 2

    asyncio.run(conversation())


def test_a_draft_shows_nothing_that_another_forgot_since_it_began(tmp_path: Path) -> None:
    async def conversation() -> None:
        one, forget = talking(tmp_path / "a.db")
        section = Looking()
        with pytest.raises(Forgotten, match="begin it again"):
            async with one.draft() as draft:
                forget()
                await draft.build(shown_by(section))
        assert not section.asked
        async with one.draft() as draft:
            assert "swordfish" not in await built(draft, shown_by(section))

    asyncio.run(conversation())


@pytest.mark.parametrize("change", ["update", "remove"])
def test_a_document_that_was_recalled_is_changed_by_another(tmp_path: Path, change: str) -> None:
    async def conversation() -> None:
        path = tmp_path / "a.db"
        one = Session.open("ana/q3", store=path)
        knowledge = Memory.of(Store.open(path), "ana").knowledge
        knowledge.add_text("# Gate\n\nThe gate pin is quagmire42.", source="gate.md")
        one.user("What is the gate pin?")
        template = Template(History(), Recall("knowledge", tokens=300), budget=Budget(window=3_000))
        assert "quagmire42" in await built(one, template)
        if change == "remove":
            knowledge.remove("gate.md")
        else:
            knowledge.add_text("# Gate\n\nThe gate pin is zeppelin43.", source="gate.md")
        shown = await built(one, template)
        assert "quagmire42" not in shown and ("zeppelin43" in shown) == (change == "update")

    asyncio.run(conversation())


def test_what_another_forgot_in_the_pool_is_not_shown(tmp_path: Path) -> None:
    async def conversation() -> None:
        path = tmp_path / "a.db"
        one, other = (Session.open("ana/q3", store=Store.open(path)) for _ in range(2))
        one.user("Hello.")
        note = one.keep(Note(SECRET, key="number", description=SECRET))
        other.refresh()
        section = Looking(lambda: other.forget(note.id))
        assert "swordfish" not in await built(one, shown_by(section))
        assert section.asked == 2 and "number" not in one.pool

    asyncio.run(conversation())
