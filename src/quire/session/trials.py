"""Trials: a request that was sent, or the next one, under other settings. Nothing is sent or written."""

from collections.abc import Sequence
from typing import NamedTuple

from quire.compactors import Compactor
from quire.context import Context, Piece, Replay, Template, compact, replay
from quire.items import Item, Message
from quire.sections import Ask
from quire.state import Pool, Transcript, View, is_edit, is_output
from quire.tokens import Budget, Definition, counter_for


class Trial(NamedTuple):
    """What the sections of a request had to show, and its tools: `Trial(kept.pieces(), kept.tools)`.

    With a compactor, a trial begins with the log without its edits; without one, the edits are as they were.
    """

    pieces: tuple[Piece, ...]
    tools: Sequence[Definition] = ()

    def fit(self, budget: Budget, model: str, compactor: Compactor | None = None) -> Context:
        """Build what the model would see. What the compactor plans is carried out, once."""
        template, ask = Template(budget=budget, model=model), Ask(tools=self.tools)
        at = self._place
        if compactor is None:
            return template.fit(self.pieces, ask)
        log = Transcript(_unedited(self.recorded))
        context = template.fit(self._with(at, log.view), ask)
        is_smaller = compact(log, compactor, context.room(self.pieces[at].section.name), Pool())
        return template.fit(self._with(at, log.view), ask) if is_smaller else context

    def replay(
        self, budget: Budget, model: str, compactor: Compactor | None = None, *, most: int = 10_000
    ) -> Replay:
        """Build every request so far again, with the one that waits for a reply, in the first `most` items.

        What stands before the history is in each of them; what stands behind it is taken for as many tokens
        that differ in each.
        """
        at, counter = self._place, counter_for(model)
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
        """Everything in the history, with its edits."""
        view = self.pieces[self._place].origin if self.pieces else None
        return [] if view is None else view.recorded()

    @property
    def _place(self) -> int:
        """The place of the history among the pieces: the last one."""
        return max((at for at, piece in enumerate(self.pieces) if piece.origin is not None), default=0)

    def _with(self, at: int, view: View) -> tuple[Piece, ...]:
        history = self.pieces[at]._replace(content=view, source=None)
        return (*self.pieces[:at], history, *self.pieces[at + 1 :])


def _unedited(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if not is_edit(item)]
