"""A long output that was moved out of a fork can be read where the fork was merged to."""

import asyncio

import pytest

from quire.agent.tools.capping import kept
from quire.compactors import Cascade, Offload, TruncateOldest, read_back
from quire.context import Template
from quire.items import Note, ToolCall, ToolResult
from quire.sections import History
from quire.session import Added, Adding, Session, hook
from quire.stores import MemoryStore
from quire.tokens import Budget, counter_for


@pytest.mark.parametrize("redacts", [False, True])
def test_what_a_stub_names_is_read_back_after_a_merge(redacts: bool) -> None:
    async def work() -> None:
        def redact(item: object) -> object:
            if redacts and isinstance(item, Note):
                return Note("hidden", key=item.key, id=item.id, created_at=item.created_at)
            return item

        session = Session.open(
            "ana/q3",
            store=MemoryStore(),
            compactor=Cascade(Offload(), TruncateOldest()),
            redact=redact,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        )
        session.user("start")
        child = session.fork("side")
        await child.put(Note("not named by anything", key="mine"))
        child.user("read it")
        found = "the marmalade is here\n" * 2_000
        child.append(ToolCall("c1", "look", "{}"), ToolResult("c1", "look", found))
        await child.build(Template(History(), budget=Budget(window=3_000)))
        await child.close()
        child.assistant("done")
        await session.merge(child)
        stub = next(item for item in session.view() if isinstance(item, ToolResult)).text
        (handle,) = (note.key for note in session.pool)
        assert handle is not None and handle in stub
        said = read_back(session.pool, handle, counter_for("gpt-5.6"), 50)
        assert ("hidden" in said) if redacts else said.startswith("the marmalade is here")
        await session.merge(child)
        assert len(session.pool) == 1

    asyncio.run(work())


@pytest.mark.parametrize("is_refused", [False, True])
def test_hooks_hear_of_the_outputs_that_a_merge_brings(is_refused: bool) -> None:
    heard: list[tuple[str, str]] = []

    @hook(Adding, Added)
    def hears(event: Adding | Added) -> None:
        heard.append((type(event).__name__, event.stream))
        if is_refused and "marmalade" in str(event.items) and event.stream != "main":
            raise PermissionError

    async def work() -> None:
        store = MemoryStore()
        other = Session.open("ana/other", store=store)
        [note] = kept("the marmalade is here\n" * 2_000, "output of look")
        other.append(ToolCall("c1", "look", "{}"), ToolResult("c1", "look", f"[kept as {note.key}]"))
        other.keep(note)
        session = Session.open("ana/q3", store=store, hooks=[hears])
        if is_refused:
            with pytest.raises(PermissionError):
                await session.merge(other)
            assert list(session.view()) == [] and list(session.pool) == []
        else:
            await session.merge(other)
            assert [one.key for one in session.pool] == [note.key]
            assert heard == [(when, where) for when in ("Adding", "Added") for where in ("main", ".pool")]

    asyncio.run(work())
