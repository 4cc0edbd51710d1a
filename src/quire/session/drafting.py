"""Drafts: side ways that are merged when they end well, all at once, and come to nothing when they do not."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from types import TracebackType
from typing import Generic, Self, TypeVar

from quire.errors import Forgotten
from quire.items import Item
from quire.session.branching import Branching
from quire.session.deciding import Decide
from quire.session.draft_ledger import DraftLedger
from quire.session.forgetting import finish_forgetting
from quire.session.held import RECORDING, Held
from quire.session.ledger import Ledger
from quire.session.merging import left_behind
from quire.session.rejoining import Drafted
from quire.session.since import Since
from quire.session.spending import Spending
from quire.session.workspace import Workspace, Written
from quire.state import Pool, View
from quire.stores.streams import MAIN

S = TypeVar("S")
Raised = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]

_BEGIN_AGAIN = "something was forgotten since the draft began: begin it again"


class Drafting(Branching):
    """The verb for drafts, and what a draft knows of the session that it left."""

    _left: "Drafting | None" = None  # of a draft: the session that it left
    _left_at = 0  # the version that it had then
    _before = Spending()  # what had been spent
    _since: Since | None = None  # how much had been forgotten

    def draft(self) -> "Draft[Self]":
        """A fork that is merged when its block ends well, all at once, and forgotten when it raises.

        What it spent is spent either way, and counts for the caps meanwhile. Hooks hear what it recorded
        when it is merged, and may refuse it; where they are async, it is `async with`. Who writes to it when
        its block has ended is told so, by `StoreFailed`.
        """
        return Draft(self._drafting, self._drafting_awaited)

    def new(self, label: str) -> str:
        """Take a name for another transcript: `label_a`, `label_b`, … the first that is free.

        Nobody else is given it, in a draft or in another process, though nothing is written to it yet.
        """
        self._check_goes_on()
        return super().new(label)

    def _is_draft(self) -> bool:
        return self._left is not None

    def view(self, name: str = MAIN) -> View:
        """What a transcript shows now."""
        self._check_known()
        return super().view(name)

    def recorded(self, name: str = MAIN) -> list[Item]:
        """All items of a transcript in the order they came, edits and what they hide included."""
        self._check_known()
        return super().recorded(name)

    @property
    def pool(self) -> Pool:
        """The notes at hand: a copy that may be read at leisure, and that changes nothing."""
        self._check_known()
        return super().pool

    def _outermost(self) -> tuple[Ledger, Spending | None]:
        """The log that all of this is merged into, and for a draft what had been spent when it began."""
        ledger, before, left = self._ledger, self._before, self._left
        while left is not None:
            ledger, before, left = left._ledger, left._before if left._left else before, left._left
        return ledger, None if self._left is None else before

    def _drafted(self) -> tuple[Self, Held]:
        """A session that begins where this one stands, on a log of its own, and what hooks are to hear."""
        outermost, _ = self._outermost()
        outermost.catch_up()  # what others forgot is not to be shown any more
        self._finish_forgetting()
        since = self._since or Since(outermost)
        with self._ledger.lock:
            beginning, version = self._ledger.workspace.child(), self.version
        draft = type(self)(DraftLedger(self._ledger, beginning), **self._options())
        draft.hooks = held = Held(self.hooks)
        draft._left, draft._left_at, draft._before = self, version, beginning.spending
        draft._since = since
        return draft, held

    def _finish_forgetting(self) -> None:
        """Finish what another began to forget: he may have died, and nobody is to show it until then."""
        if self._has_to_forget():
            finish_forgetting(self._outermost()[0])

    def _has_to_forget(self) -> bool:
        """Whether something that was begun is yet to be finished, be it only the wiping of files."""
        workspace = self._outermost()[0].workspace
        return bool(workspace.forgetting or workspace.unwiped)

    def _check_left(self) -> None:
        """`Forgotten` where something was forgotten since this draft began: it may hold it still."""
        self._outermost()[0].catch_up()
        self._check_known()

    def _check_known(self) -> None:
        """The same, as far as is known without looking."""
        if self._since is not None and not self._since.is_all:
            raise Forgotten(_BEGIN_AGAIN)

    def _check_mergeable(self, child: Branching) -> None:
        self._check_goes_on()  # before a model is asked
        super()._check_mergeable(child)

    def _check_goes_on(self) -> None:
        """`StoreFailed` where this is a draft whose block has ended."""
        if isinstance(self._ledger, DraftLedger):
            self._ledger.check_goes_on()

    def _ended(self) -> list[Written]:
        """All that this draft wrote; it takes no more."""
        assert isinstance(self._ledger, DraftLedger)
        return self._ledger.end()

    def _merging(self, draft: "Drafting", held: Held) -> Decide[Drafted]:
        """What writes all that a draft did."""
        drafted = Drafted(draft._ended(), held.before, held.after)

        def decide(workspace: Workspace) -> Drafted:
            if self._left is None and drafted.written:
                draft._check_known()
            return drafted.merged(workspace, draft._left_at, self._pool_limit)

        return decide

    def _give_up(self, draft: "Drafting") -> None:
        """Write what stays of a draft that came to nothing; nothing where it was merged after all.

        So it is where the merge was cancelled, or its store failed, when it had been written.
        """
        left = left_behind(draft._ended())
        self._ledger.commit(lambda workspace: self._uncounted(left, workspace, draft._left_at))

    @contextmanager
    def _drafting(self) -> Generator[Self, None, None]:
        self.hooks.refuse_async(RECORDING)  # now, not when all the work is done
        draft, held = self._drafted()
        try:
            yield draft
            decide = self._merging(draft, held)
            self._make(self._decided(decide), decide)
        except BaseException:
            self._give_up(draft)
            raise

    @asynccontextmanager
    async def _drafting_awaited(self) -> AsyncGenerator[Self, None]:
        draft, held = await self._aside(self._drafted)
        try:
            yield draft
            decide = self._merging(draft, held)
            await self._make_aside(await self._aside(lambda: self._decided(decide)), decide)
        except BaseException:
            await self._aside(lambda: self._give_up(draft))
            raise


class Draft(Generic[S]):
    """The block of a draft: `with` or `async with` it, and the draft is what it gives."""

    def __init__(
        self,
        plain: Callable[[], AbstractContextManager[S]],
        awaited: Callable[[], AbstractAsyncContextManager[S]],
    ) -> None:
        self._plain, self._awaited = plain, awaited
        self._entered: AbstractContextManager[S] | None = None
        self._entered_awaited: AbstractAsyncContextManager[S] | None = None

    def __enter__(self) -> S:
        self._entered = self._plain()
        return self._entered.__enter__()

    def __exit__(self, *raised: *Raised) -> None:
        assert self._entered is not None
        self._entered.__exit__(*raised)

    async def __aenter__(self) -> S:
        self._entered_awaited = self._awaited()
        return await self._entered_awaited.__aenter__()

    async def __aexit__(self, *raised: *Raised) -> None:
        assert self._entered_awaited is not None
        await self._entered_awaited.__aexit__(*raised)
