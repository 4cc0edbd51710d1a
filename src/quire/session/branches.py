"""Forks, which are conversations of their own; drafts, which are not; and what comes back from both."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from string import ascii_lowercase
from types import TracebackType
from typing import Generic, Literal, TypeVar

from msgspec.structs import replace

from quire.compactors import transcript_text
from quire.errors import Conflict, InvalidValue, StoreFailed, cut
from quire.items import Hide, Item, Note, ToolCall, ToolResult
from quire.models import AnyModel, asking
from quire.session.aio import AWAITED, INLINE, IO, Change, Writer, run
from quire.session.erasure import finish_erasing, is_related, merged_with
from quire.session.hooks import (
    RECORDING,
    Added,
    Adding,
    Cleared,
    Clearing,
    Event,
    Evicted,
    Evicting,
    HeldHooks,
    Hooks,
    Removed,
    Removing,
)
from quire.session.log import Compute, Entries, Guard, Log, open_log
from quire.session.pool import dropped, handle_of, handles_named, put_into
from quire.session.receipts import bare, is_receipt, shifted
from quire.session.spending import Metered, PricesByName, Spending
from quire.session.state import State, Written
from quire.state import View, fork_scoped, merge_all, merge_result, plan_summary
from quire.stores import MemoryStore, place_at
from quire.stores.streams import MAIN, NAMED, OF, ORIGIN, POOL, RECEIPTS, USAGE, checked_name, is_tombstone

S = TypeVar("S")
Keep = Literal["all", "result", "summary"]

_PROMPT = """\
Another agent worked on a part of this conversation. Say in a few sentences what it did and what came of it.
Keep names, numbers and decisions. Do not add anything of your own.

{work}"""


# Names of transcripts


async def take_name(io: IO, log: Log, label: str) -> str:
    """Reserve the first free name of a label, for all drafts and processes."""
    label, name = checked_name(label), ""

    def named(state: State) -> Entries:
        nonlocal name
        name = free_name(label, state.named.union(state.transcripts, log.state.transcripts))
        return [Written(NAMED, Note(content={"name": name}, description="named"))]

    log.check_open()
    await io.do(log, lambda: log.root.commit(named))
    return name


def free_name(label: str, taken: Collection[str]) -> str:
    """The first name of a label that is not taken: `label_a` to `label_z`, then `label_aa`."""
    number = 1
    while (name := f"{label}_{_letters(number)}") in taken:
        number += 1
    return name


def _letters(number: int) -> str:
    """A number in letters: a is 1, z is 26, aa is 27."""
    letters = ""
    while number:
        number, letter = divmod(number - 1, 26)
        letters = ascii_lowercase[letter] + letters
    return letters


def labelled(names: Iterable[str], labels: str | Iterable[str] | None) -> list[str]:
    """The names that belong to some labels: a label itself, or with an underscore and an ending."""
    if labels is None:
        return list(names)
    wanted = [labels] if isinstance(labels, str) else list(labels)
    return [name for name in names if any(name == one or name.startswith(f"{one}_") for one in wanted)]


def woven(views: Sequence[View]) -> list[Item]:
    """What several views show, merged by time, each item once, and each view in its own order.

    A summary was made late and stands early: it counts as of the time of what comes after it.
    """
    found: dict[str, tuple[float, Item]] = {}
    for view in views:
        earliest, row = float("inf"), list[tuple[float, Item]]()
        for item in reversed(list(view)):
            earliest = min(earliest, item.created_at)
            row.append((earliest, item))
        for time, item in reversed(row):
            found.setdefault(item.id, (time, item))
    return [item for _, item in sorted(found.values(), key=lambda pair: pair[0])]


# Forks


def begin_fork(log: Log, name: str, turns: int | None, tools: Iterable[str] | None, of: str) -> Log:
    """Begin a conversation with the past of another; of its own it has the notes and what narrows the past."""
    if log.root is not log:
        raise InvalidValue("a draft has no forks: its past is stored nowhere")
    place = place_at(scope=log.place.scope, conversation=f"{log.place.conversation}/{name}")
    log.catch_up()
    finish_erasing(log)
    with log.lock:
        parent = log.state.transcripts[of]
        child = fork_scoped(parent, turns=turns, tools=None if tools is None else list(tools))
        content = {
            "conversation": log.place.conversation,
            "transcript": of,
            "revision": len(parent),
            "last": parent.view.log.item(len(parent) - 1).id if len(parent) else None,
            "forgotten": log.state.forgotten,
        }
        own = [Written(MAIN, item) for item in child.recorded(len(parent))]
        notes = [Written(POOL, note) for note in log.state.pool]
    fork = open_log(log.store, place)
    try:
        fork.commit(lambda _: [Written(ORIGIN, Note(content=content)), *own, *notes], expected=0)
    except Conflict:
        raise InvalidValue(f"there is a fork {cut(name)!r} of this conversation already") from None
    log.catch_up()
    finish_erasing(fork)  # something may have been forgotten between the copy and its writing
    return fork


class Merge:
    """Takes what a conversation did into another: all of it, its final answer, or a summary."""

    def __init__(
        self,
        writer: Writer,
        child: Log,
        keep: Keep,
        model: AnyModel | None,
        prices: PricesByName,
        agent_id: str | None,
    ) -> None:
        if keep not in ("all", "result", "summary"):
            raise InvalidValue('`keep` is "all", "result" or "summary"')
        self._writer, self._ours, self._theirs = writer, writer.log, child
        ours, theirs = self._ours.root, child.root
        if ours.place.scope != theirs.place.scope or ours.store is not theirs.store:
            raise InvalidValue(f"{ours.place} merges what is in its scope and its store, not {theirs.place}")
        self._ours.check_open()
        self._keep: Keep = keep
        self._model = None if model is None else Metered(model, prices)
        self._agent_id = agent_id
        self._answer: dict[str, Item] = {}  # the final answer, which is made anew, by its id

    async def run(self, io: IO) -> tuple[Item, ...]:
        """Merge; returns what was recorded."""
        guard = await io.do(self._ours, self._begin)
        done = self._theirs.look(lambda state: state.transcripts[MAIN].copy())
        summary = await self._summary(io, guard) if self._keep == "summary" else None
        if self._keep == "summary" and summary is None:
            return ()

        def items(state: State) -> list[Item]:
            ours = state.transcripts[MAIN]
            if summary is not None:
                return [] if summary.id in ours else [summary]
            if self._keep == "all":
                return merge_all(ours.copy(), done, self._agent_id)
            return [self._answer.setdefault(i.id, i) for i in merge_result(ours.copy(), done, self._agent_id)]

        link = await io.do(self._ours, self._link)
        place = self._writer.place

        def decide(state: State) -> Change:
            guard.check("the fork was read")
            merged = self._writer.ready(items(state))
            if not merged:
                return Change([])
            outputs = self._outputs(merged, state)
            entries = [*(Written(MAIN, item) for item in merged), *(Written(POOL, note) for note in outputs)]
            return Change(
                [*entries, *link],
                [Adding(place, MAIN, merged), *(Adding(place, POOL, (note,)) for note in outputs)],
                [Added(place, MAIN, merged), *(Added(place, POOL, (note,)) for note in outputs)],
            )

        made = await self._writer.make(io, decide)
        return tuple(item for stream, item in made.entries if stream == MAIN)

    def _begin(self) -> Guard:
        for log in (self._ours.root, self._theirs.root):
            log.catch_up()
            finish_erasing(log)
        return Guard(self._ours, self._theirs)

    async def _summary(self, io: IO, guard: Guard) -> Item | None:
        """What a model writes of what the child did; `None` if there is nothing new."""
        assert self._model is not None
        theirs = self._theirs.look(lambda state: state.transcripts[MAIN].copy())
        plan = self._ours.look(lambda state: plan_summary(state.transcripts[MAIN], theirs, self._agent_id))
        if plan is None:
            return None
        text = transcript_text(self._writer.ready(plan.items))
        words = await asking(self._model)(_PROMPT.format(work=text))
        used = [Written(USAGE, note) for note in self._model.used()]
        await io.do(self._ours, lambda: self._ours.commit(lambda _: used))
        guard.check("the fork was read")
        summary = plan.summary(words)
        return summary and replace(summary, extras={OF: [item.id for item in plan.items]})

    def _outputs(self, items: Sequence[Item], state: State) -> list[Note]:
        """The long outputs in the pool of the child that merged items name, and that are not here."""
        named, pool = handles_named(items), self._theirs.state.pool
        notes = [note for note in pool if handle_of(note) in named and note.key not in state.pool]
        return [note for note in self._writer.ready(notes) if isinstance(note, Note)]

    def _link(self) -> Entries:
        """Note in both that they share items, unless their addresses say so; returns what is to be noted here.

        It is noted before anything is shared: who erases meanwhile looks in both.
        """
        ours, theirs = self._ours.root, self._theirs
        if is_related(ours.place, theirs.place):
            return []
        theirs.commit(lambda _: [merged_with(ours.place)])
        if ours.state.version and ours is self._ours:
            return [merged_with(theirs.place)]
        ours.commit(lambda _: [merged_with(theirs.place)])
        return []


# Drafts


class DraftLog(Log):
    """The log of a draft: entries in memory over the state of another log."""

    def __init__(self, parent: Log) -> None:
        self.parent = parent
        with parent.lock:
            beginning = parent.state.child()
            self.began_at = parent.state.version
        self._before: Spending = parent._before if isinstance(parent, DraftLog) else beginning.spending
        self._guard: Guard = parent._guard if isinstance(parent, DraftLog) else Guard(parent.root)
        self._is_over = False
        self._counted: set[str] = set()  # usage that came too late, and was passed on
        super().__init__(MemoryStore(), parent.place, beginning.child)

    @property
    def root(self) -> Log:
        """The log that all of it is merged into."""
        return self.parent.root

    @property
    def spent_apart(self) -> Spending:
        """What was spent in the draft, and those around it."""
        return self.state.spending.since(self._before)

    def check_known(self) -> None:
        """Raise `Forgotten` if something was forgotten since the draft began."""
        self._guard.check("the draft began")

    def check_open(self) -> None:
        """Raise `StoreFailed` if the block of the draft has ended."""
        if self._is_over:
            raise StoreFailed(f"the draft of {self.place} is over: nothing is kept of what is written to it")

    def end(self) -> Entries:
        """All entries; it takes no more."""
        with self.lock:
            self._is_over = True
            return self.recorded()

    def append(self, name: str, item: Item) -> Item:
        """Write one item."""
        with self.lock:
            self.check_open()
            return super().append(name, item)

    def commit(self, compute: Compute, *, expected: int | None = None) -> Entries:
        """Write what is computed. After the end, what was spent is passed on, and the rest refused."""
        with self.lock:
            if not self._is_over:
                return super().commit(compute, expected=expected)
            entries = compute(self.state)
        used = [entry for entry in entries if entry.stream == USAGE]
        new = [entry for entry in used if entry.item.id not in self._counted]
        self._counted.update(entry.item.id for entry in new)
        self.parent.commit(lambda _: new)
        if len(used) < len(entries):
            self.check_open()
        return used


class Draft(Generic[S]):
    """The block of a draft: `with` or `async with` it; the draft is what it gives."""

    def __init__(self, writer: Writer, limit: int | None, make: Callable[[DraftLog, Hooks], S]) -> None:
        self._writer, self._limit, self._make = writer, limit, make
        self._log: DraftLog | None = None
        self._hooks = HeldHooks(writer.hooks)

    def __enter__(self) -> S:
        self._writer.hooks.refuse_async(RECORDING)  # now, and not when all the work is done
        return self._make(self._begin(), self._hooks)

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        run(self._end(INLINE, is_well=kind is None))

    async def __aenter__(self) -> S:
        return self._make(await AWAITED.do(self._writer.log, self._begin), self._hooks)

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end(AWAITED, is_well=kind is None)

    def _begin(self) -> DraftLog:
        root = self._writer.log.root
        root.catch_up()
        if root.state.forgetting or root.state.unwiped:
            finish_erasing(root)
        self._hooks = HeldHooks(self._writer.hooks)
        self._log = DraftLog(self._writer.log)
        return self._log

    async def _end(self, io: IO, *, is_well: bool) -> None:
        assert self._log is not None
        draft, parent = self._log, self._writer.log
        entries = draft.end()

        def decide(state: State) -> Change:
            if entries and parent.root is parent:
                draft.check_known()
            change = Change(entries, self._hooks.before, self._hooks.after)
            return _rebased(change, state, draft.began_at, self._limit)

        def give_up() -> None:
            parent.commit(lambda state: _spent(entries, state, parent, draft.began_at))

        if not is_well:
            await io.do(parent, give_up)
            return
        try:
            await self._writer.make(io, decide)
        except BaseException:
            await io.do(parent, give_up)
            raise


def _spent(entries: Entries, state: State, log: Log, began_at: int) -> Entries:
    """What stays of a draft that came to nothing: what it spent, and that it sent something.

    Nothing that was written after all: a merge may be cancelled, or its store fail, when it is done.
    """
    left = [entry for entry in entries if entry.stream == USAGE] + _bare_receipts(entries)
    new = [v for stream in (USAGE, RECEIPTS) for v in state.versions(stream) if v > began_at]
    known = {item.id for item in log.read_at(sorted(new))} if left else set[str]()
    return [entry for entry in left if entry.item.id not in known]


def _bare_receipts(entries: Entries) -> Entries:
    receipts = [item for _, item in entries if isinstance(item, Note) and is_receipt(item)]
    return [Written(RECEIPTS, bare(item)) for item in receipts]


def _rebased(change: Change, state: State, began_at: int, limit: int | None) -> Change:
    """What a draft did, as it is written to a log that may have grown since.

    Receipts name versions: if others wrote, it is only said that something was sent. Evictions from the pool
    are decided anew.
    """
    streams = () if state.version == began_at else (*state.transcripts, POOL)
    if not any(found[-1] > began_at for found in map(state.versions, streams) if found):
        shift = [
            Written(stream, shifted(item, state.version) if stream == RECEIPTS else item)
            for stream, item in change.entries
        ]
        return change._replace(entries=shift)
    open_calls = state.waiting() | {item.call_id for _, item in change.entries if isinstance(item, ToolCall)}
    for _, item in change.entries:
        if isinstance(item, ToolResult) and item.call_id not in open_calls:
            raise Conflict(f"call {cut(item.call_id)!r} was answered by another first")
    redone = _PoolRedone(change.entries, state, limit)
    kept = [entry for entry in redone.entries if entry.stream != RECEIPTS]
    return Change(
        [*kept, *_bare_receipts(change.entries)], redone.told(change.before), redone.told(change.after)
    )


class _PoolRedone:
    """What a draft did to the pool, done again on the pool as it is now, and the events of that."""

    def __init__(self, entries: Entries, state: State, limit: int | None) -> None:
        self._pool, self._limit = state.pool.fork(), limit
        self._evicted: dict[str, list[Note]] = {}  # by the id of the note that came
        self._dropped: set[str] = set()
        self.entries = [new for entry in entries for new in self._redo(entry)]

    def _redo(self, entry: Written) -> Entries:
        item = entry.item
        if entry.stream != POOL or is_tombstone(item):
            return [entry]
        if isinstance(item, Note):
            leaving = put_into(self._pool, item, self._limit)
            self._evicted.setdefault(item.id, leaving)
            return [*(dropped(one, item) for one in leaving), entry]
        if not isinstance(item, Hide) or "by" in item.extras:
            return []
        key, note_id = str(item.extras.get("key", "")), item.spans[0].first
        if key not in self._pool or self._pool.get(key).id != note_id:
            return []  # others dropped it first
        self._pool.remove(key)
        self._dropped.add(note_id)
        return [entry]

    def told(self, events: Iterable[Event]) -> list[Event]:
        """The events in place of those of the draft alone."""
        evicted = dict(self._evicted)
        return [new for event in events for new in self._told(event, evicted)]

    def _told(self, event: Event, evicted: dict[str, list[Note]]) -> Iterator[Event]:
        if isinstance(event, Adding | Added) and event.stream == POOL:
            kind = Evicting if isinstance(event, Adding) else Evicted
            for note in event.items:
                if isinstance(note, Note):
                    yield from (kind(event.place, one, note) for one in evicted.pop(note.id, ()))
            yield event
        elif isinstance(event, Removing | Removed):
            yield from [event] if event.note.id in self._dropped else ()
        elif isinstance(event, Clearing | Cleared):
            notes = tuple(note for note in event.notes if note.id in self._dropped)
            yield from [event._replace(notes=notes)] if notes or not event.notes else ()
        elif not isinstance(event, Evicting | Evicted):
            yield event
