"""Forks and other conversations of a scope, and what comes back from them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import count, product
from string import ascii_lowercase
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from quire.compactors import transcript_text
from quire.errors import Conflict, InvalidValue, cut
from quire.items import Item, Note
from quire.models import asking
from quire.session.aio import IO, Change, Writer
from quire.session.erasure import finish_erasing, is_related, merged_with
from quire.session.heard import Metered
from quire.session.log import Entries, Guard, Log, open_log
from quire.session.pool import handle_of, handles_named, keeping
from quire.session.state import State, Written
from quire.state import Transcript, View, fork_scoped, merge_all, merge_result, plan_summary
from quire.stores import Place, Store, items_in
from quire.stores.store import checked_name
from quire.stores.streams import MAIN, NAMED, OF, ORIGIN, POOL, USAGE

Keep = Literal["all", "result", "summary"]

_PROMPT = """\
Another agent worked on a part of this conversation. Say in a few sentences what it did and what came of it.
Keep names, numbers and decisions. Do not add anything of your own.

{work}"""


# Names of transcripts


def take_name(writer: Writer, label: str) -> str:
    """Reserve the first free name of a label, for all processes."""
    label, name = checked_name(label), ""

    def named(state: State) -> Entries:
        nonlocal name
        name = free_name(label, state.named.union(state.transcripts))
        return [Written(NAMED, Note(content={"name": name}, description="named"))]

    writer.commit(named)
    return name


def free_name(label: str, taken: Collection[str]) -> str:
    """The first name of a label that is not taken: `label_a` to `label_z`, then `label_aa`."""
    endings = ("".join(letters) for size in count(1) for letters in product(ascii_lowercase, repeat=size))
    return next(name for ending in endings if (name := f"{label}_{ending}") not in taken)


def labelled(names: Iterable[str], labels: str | Iterable[str] | None) -> list[str]:
    """The names that belong to some labels: a label itself, or with an underscore and an ending."""
    if labels is None:
        return list(names)
    wanted = [labels] if isinstance(labels, str) else list(labels)
    return [name for name in names if any(name == one or name.startswith(f"{one}_") for one in wanted)]


def merged_by_time(views: Sequence[View]) -> list[Item]:
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


def begin_fork(
    log: Log, name: str, turns: int | None, tools: Iterable[str] | None, of: str, at: int | str | None = None
) -> Log:
    """Begin a conversation with the past of another; its own are the notes and what narrows the past."""
    place = log.place._replace(conversation=f"{log.place.conversation}/{name}")
    log.catch_up()
    finish_erasing(log)
    with log.lock:
        parent, pool = log.state.transcripts.get(of, Transcript()), log.state.pool
        if at is not None:
            parent, pool = log.past_at(at if isinstance(at, int) else log.state.version_of(at, of), of)
        child = fork_scoped(parent, turns=turns, tools=None if tools is None else list(tools))
        content = {
            "conversation": log.place.conversation,
            "transcript": of,
            "revision": len(parent),
            "last": parent.view.log.id_at(len(parent) - 1) if len(parent) else None,
        }
        own = [Written(MAIN, item) for item in child.recorded(len(parent))]
        notes = [Written(POOL, note) for note in pool]
    fork = open_log(log.store, place)
    try:
        fork.commit(lambda _: [Written(ORIGIN, Note(content=content)), *own, *notes], expected=0)
    except Conflict:
        raise InvalidValue(f"there is a fork {cut(name)!r} of this conversation already") from None
    log.catch_up()
    finish_erasing(fork)  # something may have been forgotten between the copy and its writing
    return fork


class Branch(NamedTuple):
    """A conversation and where it began: a fork of another, or one that began empty."""

    place: Place
    parent: str | None
    """The conversation that it was forked from."""
    version: int
    """The version of the parent up to which it has its past."""
    began: int
    """How many items of its main transcript are its past."""
    length: int
    """How many items its main transcript has, those of its past included."""


def family(store: Store, place: Place, limit: int | None = None) -> list[Branch]:
    """The conversation at the top of a name, and all below it, by name; with a limit those closest to it."""
    names, parts = store.conversations(place.scope), place.conversation.split("/")
    line = [name for depth in range(len(parts)) if (name := "/".join(parts[: depth + 1])) in names]
    found = [name for name in names if line and (name == line[0] or name.startswith(f"{line[0]}/"))]
    found.sort(key=lambda name: (name not in line, not name.startswith(f"{place.conversation}/")))

    @cache
    def origin_of(name: str) -> Mapping[str, Any]:
        first = store.read_at(place._replace(conversation=name), [1])
        note = items_in(place, first)[0] if first[0].stream == ORIGIN else None
        return note.content if isinstance(note, Note) else {"conversation": None, "revision": 0}

    @cache
    def versions_of(name: str, transcript: str) -> list[int]:
        """The versions of the items of a transcript; 0 for each of its past."""
        before = int(origin_of(name)["revision"]) if transcript == MAIN else 0
        return [0] * before + store.versions_of(place._replace(conversation=name), transcript)

    branches: list[Branch] = []
    for name in sorted(found[:limit]):
        origin, length = origin_of(name), len(versions_of(name, MAIN))
        parent, began = origin["conversation"], int(origin["revision"])
        version = versions_of(parent, origin["transcript"])[began - 1] if began else 0
        branches.append(Branch(place._replace(conversation=name), parent, version, began, length))
    return branches


class Merge:
    """Takes what a conversation did into another: all of it, its final answer, or a summary."""

    def __init__(
        self, writer: Writer, child: Log, keep: Keep, model: Metered | None, agent_id: str | None
    ) -> None:
        if keep not in ("all", "result", "summary"):
            raise InvalidValue('`keep` is "all", "result" or "summary"')
        self._writer, self._ours, self._theirs = writer, writer.log, child
        ours = self._ours
        if ours.place.scope != child.place.scope or ours.store is not child.store:
            raise InvalidValue(f"{ours.place} merges what is in its scope and its store, not {child.place}")
        self._writer.check_open()
        self._keep: Keep = keep
        self._model = model
        self._agent_id = agent_id
        self._answer: dict[str, Item] = {}  # the final answer, which is made anew, by its id

    async def run(self, io: IO) -> tuple[Item, ...]:
        """Merge; returns what was recorded."""
        guard = await io.do(self._ours, self._begin)
        done = self._theirs.look(lambda state: state.transcripts[MAIN].copy())
        summary = None
        if self._keep == "summary":
            summary = await self._summary(io, done, guard)
            if summary is None:
                return ()
        link = await io.do(self._ours, self._link)
        place = self._writer.place

        def decide(state: State) -> Change:
            guard.check("the fork was read")
            merged = self._writer.ready(self._items(state.transcripts[MAIN], done, summary))
            if not merged:
                return Change([])
            outputs = keeping(self._writer, self._outputs(merged, state), state)
            return Change.joined([Change.adding(place, MAIN, merged), outputs, Change(link)])

        made = await self._writer.write_change(io, decide)
        return tuple(item for stream, item in made.entries if stream == MAIN)

    def _begin(self) -> Guard:
        for log in (self._ours, self._theirs):
            log.catch_up()
            finish_erasing(log)
        return Guard(self._ours, self._theirs)

    def _items(self, ours: Transcript, done: Transcript, summary: Item | None) -> list[Item]:
        """What is to be recorded here of what the child did."""
        if summary is not None:
            return [] if summary.id in ours else [summary]
        if self._keep == "all":
            return merge_all(ours.copy(), done, self._agent_id)
        answer = merge_result(ours.copy(), done, self._agent_id)
        return [self._answer.setdefault(item.id, item) for item in answer]

    async def _summary(self, io: IO, done: Transcript, guard: Guard) -> Item | None:
        """What a model writes of what the child did; `None` if there is nothing new."""
        assert self._model is not None
        plan = self._ours.look(lambda state: plan_summary(state.transcripts[MAIN], done, self._agent_id))
        if plan is None:
            return None
        text = transcript_text(self._writer.ready(plan.items))
        words = await asking(self._model)(_PROMPT.format(work=text))
        used = [Written(USAGE, note) for note in self._model.used()]
        await io.do(self._ours, lambda: self._writer.commit(lambda _: used))
        guard.check("the fork was read")
        summary = plan.summary(words)
        return summary and replace(summary, extras={OF: [item.id for item in plan.items]})

    def _outputs(self, items: Sequence[Item], state: State) -> list[Note]:
        """The long outputs in the pool of the child that merged items name, and that are not here."""
        named, pool = handles_named(items), self._theirs.state.pool
        notes = [note for note in pool if handle_of(note) in named and note.key not in state.pool]
        return [note for note in self._writer.ready(notes) if isinstance(note, Note)]

    def _link(self) -> Entries:
        """Note in both that they share items, unless their addresses say so; returns what to note here.

        It is noted before anything is shared: an erasure that runs meanwhile looks in both.
        """
        ours, theirs = self._ours, self._theirs
        if is_related(ours.place, theirs.place):
            return []
        theirs.commit(lambda _: [merged_with(ours.place)])
        if ours.state.version:
            return [merged_with(theirs.place)]
        ours.commit(lambda _: [merged_with(theirs.place)])
        return []
