"""Autonomy's summarized history: the engine's compaction beside the conversation, with its figures."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, TypedDict
from weakref import WeakKeyDictionary

from quire.bridges.autonomy.memory import Memory
from quire.bridges.autonomy.models import Chat, model_of
from quire.bridges.autonomy.sections import HISTORY, Messages, Reads
from quire.compactors import CONVERSATION, MESSAGES, Room, Summarize, item_text
from quire.errors import InvalidLimit, InvalidValue, WrongType, cut
from quire.items import Item, Summary
from quire.models import AnyModel
from quire.sections import Ask, History
from quire.session import Metrics, Session
from quire.state import View
from quire.tokens import MOST, Tally

FLOOR, CEILING, SIZE = 10, 20, 2048
_ROOM = Room(MOST, Tally("autonomy.characters", lambda item: len(item_text(item)) // 4 + 4))
"""There is room for all: the number of messages counts. A summary has to be shorter than what it stands for.
A rough count is enough for that, and saves the time that loading a vocabulary takes."""


class CacheInfo(TypedDict):
    """What is at hand: conversations with a summary, summaries being written, and which these are."""

    cached_conversations: int
    pending_summarizations: int
    conversations: list[tuple[str, str]]


class SummarizedHistorySection(Reads, History):
    """What was said, its beginning as a summary once it has more than `ceiling` messages.

    The summary is written beside the conversation, and no turn waits for it: until it is there, all is shown
    as it was said. With it about `floor` messages are left, which begin where it ends.
    """

    def __init__(
        self,
        summary_model: AnyModel | Chat | str,
        floor: int = FLOOR,
        ceiling: int = CEILING,
        size: int = SIZE,
        instructions: str | None = None,
        name: str = HISTORY,
    ) -> None:
        super().__init__(name=name)
        if summary_model is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise WrongType("a summarized history needs a model that writes the summaries")
        self._model = model_of(summary_model)
        self._compactor = Summarize(floor=floor, ceiling=ceiling, size=size, **_told(instructions))
        if floor >= ceiling:
            raise InvalidLimit(f"the floor of {floor:,} is not below the ceiling of {ceiling:,}")
        self._ceiling = ceiling
        self._sessions: WeakKeyDictionary[Session, tuple[str, str]] = WeakKeyDictionary()
        # Of each conversation once, and what they were when it was attached: all sessions of it share them.
        self._figures: dict[int, tuple[Metrics, Metrics]] = {}
        self._hits = self._misses = 0

    async def get_messages(
        self, memory: Memory, scope: str, conversation: str, params: dict[str, Any]
    ) -> Messages:
        """The summary, if there is one, and what was said since."""
        session = memory.session(scope, conversation)
        self.attach(session, scope, conversation)
        shown = await super().get_messages(memory, scope, conversation, params)
        await session.compaction.consider(session.view(), _ROOM, was_cut=False)
        return shown

    async def items(self, ask: Ask) -> View | Sequence[Item]:
        """The history, counted."""
        view = ask.view()
        if _summary_in(view) is not None:
            self._hits += 1
        elif view.tokens(MESSAGES) > self._ceiling:
            self._misses += 1
        return await super().items(ask)

    def attach(self, session: Session, scope: str, conversation: str) -> None:
        """Keep the conversation of a session small, from now on."""
        if session.compaction.compactor is self._compactor:
            return
        self._sessions[session] = (scope, conversation)
        session.compaction.use(self._compactor, self._model)
        metrics = session.compaction.metrics
        self._figures.setdefault(id(metrics), (metrics, copy(metrics)))

    def get_metrics(self) -> dict[str, int]:
        """How often a summary was there and was not, and what became of those that were begun."""
        figures = self._figures.values()
        return {
            "cache_hits": self._hits,
            "cache_misses": self._misses,
            "background_tasks_started": sum(now.started - before.started for now, before in figures),
            "background_tasks_completed": sum(now.completed - before.completed for now, before in figures),
            "background_tasks_failed": sum(now.failed - before.failed for now, before in figures),
        }

    def get_cache_info(self) -> CacheInfo:
        """Which conversations that are at hand have a summary, and how many are being written."""
        summed = [s for s in self._at_hand() if _summary_in(s.view()) is not None]
        pending = sum(metrics.pending for metrics, _ in self._figures.values())
        return {
            "cached_conversations": len(summed),
            "pending_summarizations": pending,
            "conversations": [self._sessions[session] for session in summed],
        }

    def clear_cache(self, scope: str | None = None, conversation: str | None = None) -> None:
        """Take the summaries of a conversation back, and show it again as it was said.

        One that is being written is let go. Without a scope or a conversation, all that are at hand.
        """
        for session in self._at_hand():
            own_scope, own = self._sessions[session]
            if scope in (None, own_scope) and conversation in (None, own):
                session.compaction.give_up()
                while (summary := _summary_in(session.view())) is not None:
                    session.undo(summary.id)  # one that was folded into it is shown then

    def _at_hand(self) -> list[Session]:
        return list(self._sessions)


def summary_section(
    given: bool | Mapping[str, Any] | None, model: AnyModel
) -> SummarizedHistorySection | None:
    """The history of an agent with a `context_summary`, as a flag or with options; none without."""
    if given is None or given is False:
        return None
    if given is not True and not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"context_summary is true, false or a dictionary, not {type(given).__name__}")
    options = {} if given is True else dict(given)
    writer = options.pop("model", None)
    unknown = options.keys() - {"floor", "ceiling", "size", "instructions"}
    if unknown:
        raise InvalidValue(f"context_summary has no option {', '.join(map(cut, sorted(unknown)))}")
    return SummarizedHistorySection(model if writer is None else writer, **options)


def _told(instructions: str | None) -> dict[str, Any]:
    """A prompt of one's own, where it says where the conversation goes; else guidance for the usual one."""
    if instructions is None or (isinstance(instructions, str) and not instructions.strip()):  # pyright: ignore
        return {}
    if not isinstance(instructions, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"instructions are a text, not {type(instructions).__name__}")
    return {"prompt" if CONVERSATION in instructions else "guidance": instructions}


def _summary_in(view: View) -> Summary | None:
    return next((item for item in view if isinstance(item, Summary)), None)
