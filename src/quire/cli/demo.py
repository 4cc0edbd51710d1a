"""The demonstration: a support conversation on the embedded model, and what is kept and chosen for it."""

import asyncio
import sys
import tempfile
from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path

from quire.agent import Agent, Done
from quire.cli import story
from quire.cli.demo_telling import Telling
from quire.cli.stage import Cue, Embedded, Stage
from quire.cli.words import several
from quire.compactors import Cascade, Offload, Summarize
from quire.context import Template
from quire.errors import InvalidValue, MissingExtra
from quire.items import Summary, ToolCall
from quire.memory import Recall
from quire.models import Local
from quire.sections import Catalogue, History, Instructions
from quire.session import Built, Compacted, Hook, Session
from quire.stores import Store
from quire.tokens import Budget, counter_for

_CALLS = 10
_BUDGET = Budget(window=800, reserve=100)
_CONTEXT = 1_536
_SCOPE = "lamp-shop"


def play(store: str | None, seconds: float) -> None:
    """Play all of it, and say where it is kept."""
    model = _embedded_model() if seconds > 0 else None
    path = store or str(Path(tempfile.mkdtemp(prefix="quire-demo-")) / "demo.db")
    try:
        with Store.open(path) as opened:
            address = _free_address(opened)
            embedded = None if model is None else Embedded(model, seconds, _CALLS)
            asyncio.run(_Play(opened, address, embedded).run())
        _tell_where(path, address)
    finally:
        if model is not None:
            model.close()


class _Play:
    def __init__(self, store: Store, address: str, embedded: Embedded | None) -> None:
        self._embedded = embedded
        self._stage = Stage(embedded)
        self._writer = Stage(embedded, *[Cue(story.SUMMARY, True, most=40)] * 3)
        self._telling = Telling(self._stage)
        built = Hook(self._telling.built, (Built,), name="quire.demo.built")
        compacted = Hook(self._telling.compacted, (Compacted,), name="quire.demo.compacted")
        self._session = Session.open(address, store=store, hooks=[built, compacted])
        self._later = Session.open(address, store=store, hooks=[built])
        self._agent = Agent(
            self._session,
            Template(Instructions(story.INSTRUCTIONS), History(), Catalogue(), budget=_BUDGET),
            model=self._stage,
            tools=story.shop_tools(),
            approver=self._approve,
        )
        self._session.compaction.use(_compactor(), self._writer)

    async def run(self) -> None:
        """All scenes, in order."""
        telling = self._telling
        telling.title("The real model: a call is forced by the schema of its tool, an answer is free")
        await self._turns(story.opening())
        telling.title("Replayed: more is said than fits, and large results go to the pool")
        await self._turns(story.more_parcels())
        telling.title("The budget of the last request by section, and what is not shown, and why")
        telling.receipt()
        telling.title("Replayed: the turns go on while the real model writes a summary beside them")
        await self._turns(story.middle())
        await self._waited()
        telling.title("What was moved out is brought back, and the budget of that request")
        await self._turns([story.brought_back([note.key for note in self._session.pool if note.key])])
        telling.receipt()
        telling.title("A summary is an edit: it can be taken back, and put in force again")
        self._undo()
        telling.title("The last word: what was sent before is not read again")
        await self._turns([story.ending()])
        await self._session.aio.close()
        telling.title("Much later: a question about something that was said far outside the window")
        await self._recall()
        self._tell_totals()

    async def _recall(self) -> None:
        """Ask for something that was said long ago, and tell how it was found."""
        talk = story.small_talk()
        for asked, answer in talk:
            self._later.user(asked)
            self._later.assistant(answer)
        self._telling.line(f"  {several(len(talk), 'turn')} of small talk are recorded, and nobody is asked")
        sections = Instructions(story.INSTRUCTIONS), History(), Recall(limit=2, tokens=120)
        agent = Agent(self._later, Template(*sections, budget=_BUDGET), model=self._stage)
        await self._turns([story.far_question()], agent)
        self._telling.recalled(self._later.view().recorded())

    async def _turns(self, turns: Iterable[story.Turn], agent: Agent | None = None) -> None:
        for turn in turns:
            self._telling.asked(turn.asked)
            self._stage.cue(*turn.cues)
            async with aclosing((agent or self._agent).stream(turn.asked)) as deltas:
                async for delta in deltas:
                    if not isinstance(delta, Done):
                        self._telling.delta(delta)

    async def _waited(self) -> None:
        """Wait for the summary, which is written while the turns go on."""
        work = self._session.compaction
        if work.metrics.pending:
            self._telling.line("\n  the summary is still being written: all turns above went on without it")
        await self._session.aio.close()
        if self._summary() is None:
            await self._session.aio.compaction.run()
        self._telling.arrivals()

    def _approve(self, call: ToolCall) -> bool:
        self._telling.line(f"  approved {call.name}, by the clerk who was asked first")
        return True

    def _undo(self) -> None:
        summary = self._summary()
        if summary is None:
            self._telling.line("  no summary was kept: there is nothing to take back")
            return
        self._telling.line(f"  in force       {self._history()}")
        undone = self._session.undo(summary.id)
        self._telling.line(f"  taken back     {self._history()}: all that was said is there as it was")
        self._session.undo(undone.id)
        self._telling.line(f"  in force again {self._history()}")

    def _summary(self) -> Summary | None:
        return next((item for item in self._session.view() if isinstance(item, Summary)), None)

    def _history(self) -> str:
        view, counter = self._session.view(), counter_for(self._stage.name)
        return f"{several(len(view), 'item')}, {view.tokens(counter):,} tokens"

    def _tell_totals(self) -> None:
        work, spending = self._session.compaction, self._session.spending
        metrics, live = work.metrics, 0 if self._embedded is None else _CALLS - self._embedded.calls_left
        self._telling.title("In all")
        self._telling.line(f"  {several(spending.requests, 'request')}, {live} of them to the real model")
        self._telling.line(f"  {spending.usage.input:,} tokens read, {spending.usage.output:,} written")
        self._telling.line(
            f"  {several(metrics.completed, 'compaction')}, {metrics.discarded} discarded, "
            f"{metrics.failed} failed; {several(metrics.misses, 'turn')} had to be cut before one came"
        )


def _compactor() -> Cascade:
    return Cascade(
        Offload(larger_than=60, keep=1, ceiling=0),
        Summarize(floor=4, ceiling=17, size=48, prompt=story.PROMPT),
    )


def _embedded_model() -> Local | None:
    try:
        model = Local(context=_CONTEXT)
    except (InvalidValue, MissingExtra) as fault:
        print(f"No real model here, so all of it is played from a script: {fault}.")
        return None
    print(f"{model.name}: a real model, and a tiny one. It shows that all of it works, and talks nonsense.")
    model.load()
    return model


def _free_address(store: Store) -> str:
    known = set(store.conversations(_SCOPE))
    return f"{_SCOPE}/{next(n for n in range(1, len(known) + 2) if str(n) not in known)}"


def _tell_where(path: str, address: str) -> None:
    command = sys.argv[0] if Path(sys.argv[0]).name == "quire" else "quire"
    print(f"\nAll of it is kept in {path}. To look at it:\n")
    for verb in (f"show {address}", f"show {address} --receipt last", f"log {address}", "ls"):
        print(f"  {command} {verb} --store {path}")
    print(f'  {command} recall "broken doorbell" --scope {_SCOPE} --store {path}')
