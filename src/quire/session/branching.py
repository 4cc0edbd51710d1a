"""Side ways of a conversation: forks that are kept, drafts that may come to nothing, and what was before."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any, Literal, Self

from quire.errors import Conflict, Forgotten, InvalidValue, WrongType, cut
from quire.items import Item, Note
from quire.models import Model, asking
from quire.session.events import Added, Adding
from quire.session.hooks import Hooks
from quire.session.ledger import Ledger
from quire.session.merging import joined, kept_of, summary_of, told_once
from quire.session.metering import Metered
from quire.session.opening import shared_ledger
from quire.session.recording import Recording
from quire.session.spending import Spending
from quire.session.streams import MAIN, ORIGIN, POOL, USAGE, checked_name, free_name, is_own, labelled
from quire.session.workspace import Workspace, Written
from quire.state import Transcript, View, fork_scoped
from quire.stores import MemoryStore, place_at

Keep = Literal["all", "result", "summary"]


class Branching(Recording):
    """The verbs for forks, drafts and the past."""

    _left: "Branching | None" = None  # of a draft: the session that it left
    _before = Spending()  # and what had been spent then

    def new(self, label: str) -> str:
        """A name for another transcript: `label_a`, `label_b`, … the first that is free."""
        return free_name(checked_name(label), self.transcripts)

    def timeline(self, labels: str | Iterable[str] | None = None) -> list[Item]:
        """What several transcripts show, woven by time, each item once.

        A label stands for a transcript of that name and for all that begin with it and an underscore.
        """
        found: dict[str, Item] = {}
        for name in labelled(self.transcripts, labels):
            for item in self.view(name):
                found.setdefault(item.id, item)
        return sorted(found.values(), key=lambda item: item.created_at)

    def at(self, version: int) -> dict[str, View]:
        """What each transcript showed at an earlier version of the conversation."""
        with self._ledger.lock:
            return self._ledger.workspace.at(version)

    def fork(
        self, name: str, *, turns: int | None = None, tools: Iterable[str] | None = None, of: str = MAIN
    ) -> Self:
        """Another conversation that begins with this one's past, at `conversation/name`: free at any length.

        Its past can be narrowed to the last so many turns of the user and to some tools. Calls that wait are
        closed in it. It has the notes of the pool, and both go their own ways.
        """
        if self._left is not None:
            raise InvalidValue("a draft has no forks: what it began with is nowhere but here")
        conversation = f"{self.place.conversation}/{checked_name(name)}"
        place = place_at(scope=self.place.scope, conversation=conversation)
        with self._ledger.lock:
            parent = self._transcript(of)
            child = fork_scoped(parent, turns=turns, tools=None if tools is None else list(tools))
            beginning = self._beginning(parent, child, of)
        ledger = shared_ledger(self._ledger.store, place)
        try:
            ledger.commit(lambda _: beginning, expected=0)
        except Conflict:
            raise InvalidValue(f"there is a fork {cut(name)!r} of this conversation already") from None
        return type(self)(ledger, **self._options())

    @contextmanager
    def draft(self) -> Generator[Self, None, None]:
        """A fork that is merged when the block ends well, all at once, and forgotten when it raises.

        What it spent is spent either way, and counts for the caps meanwhile.
        """
        with self._ledger.lock:
            beginning, version = self._ledger.workspace.child(), self.version
        draft = type(self)(Ledger(MemoryStore(), self.place, lambda: beginning.child()), **self._options())
        draft.hooks = Hooks()  # they hear of it when it is merged
        draft._left, draft._before = self, beginning.spending
        try:
            yield draft
            self._merge_draft(draft._ledger.recorded(), version)
        except BaseException:
            spent = [entry for entry in draft._ledger.recorded() if entry.stream == USAGE]
            self._ledger.commit(lambda _: spent)
            raise

    async def merge(
        self, child: Self, *, keep: Keep = "all", model: Model | None = None, agent_id: str | None = None
    ) -> tuple[Item, ...]:
        """Take in what a fork did: all of it, its final answer, or a summary that a model writes."""
        if not isinstance(child, Branching):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a session merges a session, not {type(child).__name__}")
        theirs = child._ledger.workspace.transcripts[MAIN]
        if keep == "summary":
            if model is None:
                raise InvalidValue("a model is needed to write the summary of a fork")
            return await self._merge_summary(child, model, agent_id)
        if keep not in ("all", "result"):
            raise InvalidValue("what is kept of a fork is all, its result or a summary")
        new = self._ready(item for _, item in kept_of(self._ledger.workspace, theirs, keep, agent_id))
        if not new:
            return ()
        await self.hooks.fire_and_wait(Adding(self.place, MAIN, new))
        written = self._ledger.commit(lambda workspace: self._merged(workspace, child, keep, agent_id))
        items = tuple(item for _, item in written)
        await self.hooks.fire_and_wait(Added(self.place, MAIN, items))
        return items

    async def _merge_summary(
        self, child: "Branching", model: Model, agent_id: str | None
    ) -> tuple[Item, ...]:
        metered, then = Metered(model), child._ledger.workspace
        summary = await summary_of(self._ledger.workspace, then.transcripts[MAIN], asking(metered), agent_id)
        spent = metered.written()
        self._ledger.commit(lambda _: spent)
        child._ledger.catch_up()
        if child._ledger.workspace is not then:
            raise Forgotten("something of the fork was forgotten meanwhile: merge it again")
        if summary is None:
            return ()
        new = self._ready((summary,))
        await self.hooks.fire_and_wait(Adding(self.place, MAIN, new))
        written = self._ledger.commit(lambda workspace: told_once(workspace, new[0]))
        items = tuple(item for _, item in written)
        await self.hooks.fire_and_wait(Added(self.place, MAIN, items))
        return items

    def _merged(
        self, workspace: Workspace, child: "Branching", keep: Literal["all", "result"], agent_id: str | None
    ) -> list[Written]:
        theirs = child._ledger.workspace.transcripts[MAIN]  # as it is now: some may have been forgotten
        new = [item for _, item in kept_of(workspace, theirs, keep, agent_id)]
        return [Written(MAIN, item) for item in self._ready(new)]

    def _outermost(self) -> tuple[Ledger, Spending | None]:
        """The log that all of this is merged into, and for a draft what had been spent when it began."""
        ledger, before, left = self._ledger, self._before, self._left
        while left is not None:
            ledger, before, left = left._ledger, left._before if left._left else before, left._left
        return ledger, None if self._left is None else before

    def _options(self) -> dict[str, Any]:
        """What a session beside this one is opened with."""
        return {"redact": self._redact}

    def _beginning(self, parent: Transcript, child: Transcript, of: str) -> list[Written]:
        content = {"conversation": self.place.conversation, "transcript": of, "revision": len(parent)}
        own = child.recorded(len(parent))  # what closes its calls, and narrows its past
        notes = [Written(POOL, note) for note in self._ledger.workspace.pool]
        return [Written(ORIGIN, Note(content=content)), *(Written(MAIN, item) for item in own), *notes]

    def _merge_draft(self, written: list[Written], began_at: int) -> None:
        if not written:
            return
        said: dict[str, tuple[Item, ...]] = {}
        for stream, item in written:
            if not is_own(stream) or (stream == POOL and isinstance(item, Note)):
                said[stream] = (*said.get(stream, ()), item)
        for stream, items in said.items():
            self.hooks.fire(Adding(self.place, stream, items))
        self._ledger.commit(lambda workspace: joined(written, workspace, began_at))
        for stream, items in said.items():
            self.hooks.fire(Added(self.place, stream, items))
