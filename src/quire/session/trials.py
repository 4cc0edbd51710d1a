"""Trials: build a request that was sent, or the next one, with other settings. Nothing is sent or written."""

from collections.abc import Sequence
from typing import NamedTuple

from quire.compactors import Compactor
from quire.context import Context, Piece, Replay, Template, compact, replay
from quire.items import Item, Message
from quire.sections import Ask
from quire.state import Pool, Transcript, View, is_edit, is_output
from quire.tokens import Budget, Definition, counter_for


class Trial(NamedTuple):
    """The content of the sections of a request, and its tools: `Trial(kept.pieces(), kept.tools)`.

    With a compactor, a trial starts from the history without its edits; otherwise the edits stay.
    """

    pieces: tuple[Piece, ...]
    tools: Sequence[Definition] = ()

    def fit(self, budget: Budget, model: str, compactor: Compactor | None = None) -> Context:
        """Build the context that the model would see. One plan of the compactor is carried out."""
        template, ask = Template(budget=budget, model=model), Ask(tools=self.tools)
        if compactor is None:
            return template.fit(self.pieces, ask)
        log = Transcript(_unedited(self.recorded))
        context = template.fit(self._with_history(log.view), ask)
        room = context.room(self.pieces[self._history_index].section.name)
        is_smaller = compact(log, compactor, room, Pool())
        return template.fit(self._with_history(log.view), ask) if is_smaller else context

    def replay(
        self, budget: Budget, model: str, compactor: Compactor | None = None, *, most: int = 10_000
    ) -> Replay:
        """Build the requests of the first `most` items again; if these are all, also the one without a reply.

        The pieces before the history are in each request. Those after it are replaced by a block of as many
        tokens, which differs in each request.
        """
        at, counter = self._history_index, counter_for(model)
        recorded = self.recorded
        items = recorded[:most]
        if len(items) == len(recorded) and not all(map(is_output, _unedited(items)[-1:])):
            items.append(Message("assistant", ""))  # a request is built before each reply
        behind = (item for piece in self.pieces[at + 1 :] for item in piece.content)
        return replay(
            items if compactor is None else _unedited(items),
            compactor,
            tokens=budget.available,
            counter=counter,
            model=model,
            volatile=sum(map(counter.count, behind)),
            tools=self.tools,
            before=self.pieces[:at],
            provider=None,
        )

    @property
    def recorded(self) -> list[Item]:
        """All items of the history, with its edits."""
        view = self.pieces[self._history_index].origin if self.pieces else None
        return [] if view is None else view.recorded()

    @property
    def _history_index(self) -> int:
        """The index of the last piece that is a history."""
        return max((at for at, piece in enumerate(self.pieces) if piece.origin is not None), default=0)

    def _with_history(self, view: View) -> tuple[Piece, ...]:
        at = self._history_index
        history = self.pieces[at]._replace(content=view, source=None)
        return (*self.pieces[:at], history, *self.pieces[at + 1 :])


def _unedited(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if not is_edit(item)]
