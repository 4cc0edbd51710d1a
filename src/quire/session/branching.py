"""Side ways of a conversation: forks that are kept, what comes back from them, and what was before."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Self

from quire.errors import Conflict, Forgotten, InvalidValue, UnknownKey, WrongType, cut
from quire.items import Item, Note
from quire.models import AnyModel, asking
from quire.session.events import Added, Adding
from quire.session.families import is_related, merged_with
from quire.session.forgetting import finish_forgetting
from quire.session.ledger import Ledger
from quire.session.merging import kept_of, summary_of, told_once, woven
from quire.session.metering import Metered
from quire.session.opening import shared_ledger
from quire.session.outputs import outputs_named
from quire.session.quoting import Quoting
from quire.session.since import Since
from quire.session.workspace import Workspace, Written
from quire.session.writing import aside
from quire.state import Transcript, View, fork_scoped
from quire.stores import place_at
from quire.stores.streams import FORGOTTEN, MAIN, NAMED, ORIGIN, POOL, checked_name, free_name, labelled

Keep = Literal["all", "result", "summary"]


class Branching(Quoting):
    """The verbs for forks and the past."""

    _writer: AnyModel | None = None  # who writes what nobody else is asked for

    def new(self, label: str) -> str:
        """Take a name for another transcript: `label_a`, `label_b`, … the first that is free.

        Nobody else is given it, in a draft or in another process, though nothing is written to it yet.
        """
        label, name = checked_name(label), ""

        def named(workspace: Workspace) -> list[Written]:
            nonlocal name
            name = free_name(label, workspace.named.union(workspace.transcripts, self.transcripts))
            return [Written(NAMED, Note(content={"name": name}, description="named"))]

        self._outermost()[0].commit(named)
        return name

    def timeline(self, labels: str | Iterable[str] | None = None) -> list[Item]:
        """What several transcripts show, woven by time, each item once; each keeps its own order.

        A label stands for a transcript of that name and for all that begin with it and an underscore.
        """
        return woven([self.view(name) for name in labelled(self.transcripts, labels)])

    def at(self, version: int) -> dict[str, View]:
        """What each transcript showed at an earlier version of the conversation."""
        with self._ledger.lock:
            return self._ledger.workspace.at(version)

    def fork(
        self, name: str, *, turns: int | None = None, tools: Iterable[str] | None = None, of: str = MAIN
    ) -> Self:
        """Another conversation that begins with this one's past, at `conversation/name`: free at any length.

        Its past can be narrowed to the last so many turns of the user and to some tools. Calls that wait are
        closed in it. It has the notes of the pool, is kept small as this one is, and both go their own ways.
        """
        if self._is_draft():
            raise InvalidValue("a draft has no forks: what it began with is nowhere but here")
        conversation = f"{self.place.conversation}/{checked_name(name)}"
        place = place_at(scope=self.place.scope, conversation=conversation)
        self._ledger.catch_up()
        finish_forgetting(self._ledger)
        with self._ledger.lock:
            parent = self._transcript(of)
            child = fork_scoped(parent, turns=turns, tools=None if tools is None else list(tools))
            beginning = self._beginning(parent, child, of)
        ledger = shared_ledger(self._ledger.store, place)
        try:
            ledger.commit(lambda _: beginning, expected=0)
        except Conflict:
            raise InvalidValue(f"there is a fork {cut(name)!r} of this conversation already") from None
        finish_forgetting(ledger)  # what was forgotten between the copy and its keeping
        return type(self)(ledger, **self._options_of_a_fork())

    def beside(self, name: str) -> Self:
        """A conversation of its own, at `conversation/name`, that begins with nothing of this one's past."""
        ledger = self._below(name)
        if ledger.workspace.version:
            raise InvalidValue(f"there is a conversation {cut(name)!r} beside this one already")
        return type(self)(ledger, **self._options())

    def reopened(self, name: str) -> Self:
        """The conversation at `conversation/name` that was forked from this one or begun beside it before."""
        ledger = self._below(name)
        if not ledger.workspace.version:
            raise UnknownKey(f"no conversation {cut(name)!r} was begun from {self.place}")
        finish_forgetting(ledger)
        is_fork = ledger.workspace.origin is not None
        return type(self)(ledger, **(self._options_of_a_fork() if is_fork else self._options()))

    def _below(self, name: str) -> Ledger:
        conversation = f"{self.place.conversation}/{checked_name(name)}"
        return shared_ledger(self._ledger.store, place_at(scope=self.place.scope, conversation=conversation))

    async def merge(
        self, child: Self, *, keep: Keep = "all", model: AnyModel | None = None, agent_id: str | None = None
    ) -> tuple[Item, ...]:
        """Take in what a fork did: all of it, its final answer, or a summary that a model writes.

        It may as well be any other conversation of the scope in the same store. The `model` is the one that
        writes for the session, where none is given.
        """
        if not isinstance(child, Branching):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a session merges a session, not {type(child).__name__}")
        self._check_mergeable(child)
        if keep == "summary":
            writer = model or self._writer
            if writer is None:
                raise InvalidValue("a model is needed to write the summary of a fork")
            return await self._merge_summary(child, writer, agent_id)
        if keep not in ("all", "result"):
            raise InvalidValue("what is kept of a fork is all, its result or a summary")
        guard, theirs = await aside(lambda: self._guarded(child))

        def kept(workspace: Workspace) -> tuple[Item, ...]:
            return self._ready(item for _, item in kept_of(workspace, theirs, keep, agent_id))

        def now() -> tuple[Item, ...]:
            with self._ledger.lock:
                return kept(self._ledger.workspace)

        return await self._merged(child, guard, await aside(now), kept)

    async def _merge_summary(
        self, child: "Branching", model: AnyModel, agent_id: str | None
    ) -> tuple[Item, ...]:
        self._check_writer(model)
        metered = Metered(model, self._prices)
        guard, theirs = await aside(lambda: self._guarded(child))
        rows = await aside(child._recalled)
        known = sorted({one for listed in rows.values() for row in listed for one in row})
        await aside(guard.check)  # before it is told to a model
        summary = await summary_of(
            self._ledger.workspace, theirs, asking(metered), agent_id, self._redact, known
        )
        spent = metered.written()
        await aside(lambda: self._ledger.commit(lambda _: spent))
        await aside(guard.check)
        new = () if summary is None else self._ready((summary,))
        return await self._merged(child, guard, new, lambda workspace: told_once(workspace, new))

    def _guarded(self, child: "Branching") -> "tuple[_Guard, Transcript]":
        """What a fork did, as it stands now, and who sees to it that nothing of it is forgotten meanwhile."""
        guard = _Guard(self._ledger, child._ledger)
        with child._ledger.lock:
            return guard, child._ledger.workspace.transcripts[MAIN].copy()

    async def _merged(
        self,
        child: "Branching",
        guard: "_Guard",
        new: Sequence[Item],
        kept: Callable[[Workspace], Sequence[Item]],
    ) -> tuple[Item, ...]:
        """Write what a fork did, once hooks have heard of it."""
        if not new:
            return ()
        notes = self._outputs_of(child, new, self._ledger.workspace)
        await self.hooks.fire_and_wait(Adding(self.place, MAIN, tuple(new)))
        for note in notes:
            await self.hooks.fire_and_wait(Adding(self.place, POOL, (note,)))

        async def tell(written: Sequence[Written]) -> None:
            items = tuple(item for stream, item in written if stream == MAIN)
            await self.hooks.fire_and_wait(Added(self.place, MAIN, items))
            for stream, item in written:
                if stream == POOL:
                    await self.hooks.fire_and_wait(Added(self.place, POOL, (item,)))

        written = await aside(lambda: self._write_merged(child, guard, kept, notes), tell)
        return tuple(item for stream, item in written if stream == MAIN)

    def _outputs_of(self, child: "Branching", items: Sequence[Item], workspace: Workspace) -> Sequence[Item]:
        """The long outputs that something merged names, and that are not here."""
        return self._ready(outputs_named(items, child._ledger.workspace.pool, workspace.pool))

    def _write_merged(
        self,
        child: "Branching",
        guard: "_Guard",
        kept: Callable[[Workspace], Sequence[Item]],
        heard: Sequence[Item],
    ) -> Sequence[Written]:
        link = self._linked(child)
        recalled = child._recalled()
        if sources := self._new_sources(recalled):
            self._link(sources)  # before it is here: who forgets there from now on looks here too

        def change(workspace: Workspace) -> list[Written]:
            guard.check()
            items = kept(workspace)
            ids = {note.id for note in self._outputs_of(child, items, workspace)}
            moved = [note for note in heard if note.id in ids]
            written = [*(Written(MAIN, item) for item in items), *(Written(POOL, note) for note in moved)]
            return [*written, *link, *self._noted(recalled, workspace)] if items else []

        return self._ledger.commit(change)

    def _linked(self, child: "Branching") -> list[Written]:
        """Say of what is merged where else it is, so that it is forgotten there too; what is to be said here.

        It is said before there is anything to be found: who forgets meanwhile looks here as well, and one
        that has no entries yet would be looked for in vain.
        """
        ours, theirs = self._outermost()[0], child._ledger
        is_known = is_related(ours.place, theirs.place)
        link = [merged_with(theirs.place)]
        if not is_known:
            theirs.commit(lambda _: [merged_with(ours.place)])
        if ours.workspace.version:
            return [] if is_known else link
        ours.commit(lambda _: link)
        return []

    def _check_mergeable(self, child: "Branching") -> None:
        """Nothing of one scope is readable from another, and who forgets looks in one store alone."""
        ours, theirs = self._outermost()[0], child._outermost()[0]
        is_one_store = ours.store is theirs.store or self._ledger.store is child._ledger.store
        if ours.place.scope != theirs.place.scope or not is_one_store:
            raise InvalidValue(f"{ours.place} merges what is in its scope and its store, not {theirs.place}")

    def _is_draft(self) -> bool:
        """Whether what is here is nowhere else yet."""
        return False

    def _options(self) -> dict[str, Any]:
        """What a session beside this one is opened with."""
        return {"redact": self._redact}

    def _options_of_a_fork(self) -> dict[str, Any]:
        """The same, and what keeps it small: it is as long as this one from the start."""
        return self._options()

    def _beginning(self, parent: Transcript, child: Transcript, of: str) -> list[Written]:
        workspace = self._ledger.workspace
        content = {
            "conversation": self.place.conversation,
            "transcript": of,
            "revision": len(parent),
            "last": parent.view.log.item(len(parent) - 1).id if len(parent) else None,
            "forgotten": workspace.forgotten,
        }
        own = child.recorded(len(parent))  # what closes its calls, and narrows its past
        notes = [Written(POOL, note) for note in workspace.pool]
        return [Written(ORIGIN, Note(content=content)), *(Written(MAIN, item) for item in own), *notes]


class _Guard:
    """Sees to it that nothing was forgotten while it was on its way from a fork to another conversation.

    Who forgets says so in both before anything is emptied. So what is written before that is emptied too,
    and what would be written after it is refused here.
    """

    def __init__(self, ours: Ledger, theirs: Ledger) -> None:
        self._theirs = theirs
        for ledger in (ours, theirs):
            ledger.catch_up()
            finish_forgetting(ledger)
        self._since, self._their_since = Since(ours), Since(theirs)
        self._read = theirs.workspace.version

    def check(self) -> None:
        """`Forgotten` where something was since.

        The fork's entries are looked at in the store: who reads a fork again waits for the conversation that
        it left, and that one may be waiting here.
        """
        new = self._theirs.store.read(self._theirs.place, after=self._read)
        is_forgotten = any(entry.stream == FORGOTTEN for entry in new)
        if is_forgotten or not (self._since.is_all and self._their_since.is_all):
            raise Forgotten("something of the fork was forgotten meanwhile: merge it again")
