"""The context window of a model: its budget, what is learned when a request exceeds it, and room for outputs.

A window may be smaller than the facts of the model say. A model that refuses a request as too long is sent
less until it answers. What that tells about its window is kept with the model object, for all conversations.
"""

import logging
from functools import partial
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from quire.agent.tools import Room, ends
from quire.compactors import Offload, Room as HistoryRoom
from quire.context import Template
from quire.errors import WindowExceeded
from quire.items import ToolResult, now
from quire.models import AnyModel
from quire.session import Session
from quire.state import View, protected_positions
from quire.tokens import Budget, Counter, Usage, counter_for, facts_for

logger = logging.getLogger("quire.agent")

_UNKNOWN_WINDOW = 32_000
"""The window of a model without facts."""

_RESERVED = 8
"""One part in so many of a window is reserved for the answer."""

_SMALLEST_RESERVE = 256

_TRIES = 5
"""How often a request is sent again with less."""

_LESS = 0.8
"""The part of a request that is sent next if the model does not say how much was too much."""

_LEAST = 0.3
"""The smallest part that is sent next: counts of providers may be far from ours."""

_MARGIN = 0.95
"""The part of a computed window that is used: counts of providers are never quite ours."""

_MOST_OFF = 8
"""A provider's count that is more than so many times ours includes what we do not count, such as a film."""

_GUESS_LASTS = 3600.0
"""Seconds for which a window that the model did not state is believed."""


def budget_for(model: AnyModel) -> Budget:
    """The budget of a model: its window, an eighth of it reserved for the answer."""
    facts = facts_for(model.name)
    window = getattr(model, "context", None) or facts.window or _UNKNOWN_WINDOW
    reserve = max(window // _RESERVED, _SMALLEST_RESERVE)
    return Budget(window=window, reserve=min(reserve, facts.output or window))


# Windows that are smaller than they should be


class LearnedWindow:
    """What is known of the window of a model beyond its facts, in tokens as its provider counts them."""

    def __init__(self) -> None:
        self.most_read = 0
        """The tokens of the largest request that the model has answered."""
        self._tokens: int | None = None
        self._until = 0.0

    @property
    def tokens(self) -> int | None:
        """The window, if one was learned."""
        return self._tokens if self._until > now() else None

    def learn(self, tokens: int, *, is_stated: bool) -> None:
        """Remember a window; one that the model did not state expires."""
        self._tokens, self._until = tokens, float("inf") if is_stated else now() + _GUESS_LASTS

    def note_read(self, tokens: int) -> None:
        """Note that the model has read so many tokens: its window is no smaller."""
        self.most_read = max(self.most_read, tokens)
        self.raise_to(tokens)

    def raise_to(self, tokens: int) -> None:
        """Raise a learned window that turns out to be too small."""
        if self._tokens is not None:
            self._tokens = max(self._tokens, tokens)

    def forget(self) -> None:
        """Forget what was learned."""
        self._tokens = None


_windows: "WeakKeyDictionary[AnyModel, LearnedWindow]" = WeakKeyDictionary()
_narrowed: "WeakKeyDictionary[Template, Template]" = WeakKeyDictionary()


def window_of(model: AnyModel) -> LearnedWindow:
    """What was learned of a model's window. It belongs to the object: services may share a model's name."""
    if model not in _windows:
        _windows[model] = LearnedWindow()
    return _windows[model]


def narrowed(template: Template, model: AnyModel) -> Template:
    """The template within the learned window of a model; the same object as long as that is the same."""
    window = window_of(model).tokens
    if window is None or window >= template.budget.window:
        return template
    known = _narrowed.get(template)
    if known is None or known.budget != _smaller(template.budget, window):
        _narrowed[template] = known = _within(template, window)
    return known


class Narrowing:
    """One request, which is sent with less until the model answers it."""

    def __init__(self, template: Template, model: AnyModel) -> None:
        self.template = narrowed(template, model)
        self.exceeded: WindowExceeded | None = None
        """The last refusal."""
        self._full = template
        self._model = model
        self._refused = 0  # tokens of the last request that was refused, by our count
        self._tries_left = _TRIES
        self._is_widened = False

    def narrow(self, sent: int, exceeded: WindowExceeded) -> bool:
        """Send less after a request of so many tokens was refused; False if it is not worth another try."""
        self.exceeded, self._refused = exceeded, sent
        self._tries_left -= 1
        self.template = _within(self._full, self._next())
        return self._tries_left >= 0 and self.template.budget.available < sent

    def widen(self) -> bool:
        """Use the full window if what must be sent does not fit into the learned one."""
        self._is_widened = self.template is not self._full
        self.template = self._full
        return self._is_widened

    def learn(self, usage: Usage | None) -> None:
        """Note that the model has answered: the window is smaller than what was refused before."""
        window = window_of(self._model)
        window.note_read(0 if usage is None else usage.input)
        exceeded = self.exceeded
        if exceeded is None:
            if self._is_widened:
                window.forget()
        elif exceeded.limit and exceeded.limit >= window.most_read:
            # A stated window is believed, unless the count behind it includes what we do not count.
            is_comparable = exceeded.limit + exceeded.over <= self._refused * _MOST_OFF
            if exceeded.limit < self._full.budget.window and is_comparable:
                self._keep(exceeded.limit, is_stated=True)
            else:
                window.raise_to(exceeded.limit)
        elif (
            not exceeded.in_bytes
            and max(exceeded.over, window.most_read) < self._refused <= self._full.budget.window
        ):
            self._keep(max(self._next(), window.most_read), is_stated=False)

    def _keep(self, tokens: int, *, is_stated: bool) -> None:
        window, name = window_of(self._model), self._model.name
        if window.tokens != tokens:
            how = "as it states" if is_stated else "as far as requests tell"
            logger.warning("the window of %s is %d tokens, %s: less than expected", name, tokens, how)
        window.learn(tokens, is_stated=is_stated)

    def _next(self) -> int:
        """The window of the next try, by our count."""
        assert self.exceeded is not None
        sent, over, limit = self._refused, self.exceeded.over, self.exceeded.limit
        tokens = (sent - over) * _MARGIN if 0 < over < sent else sent * _LESS
        if limit:
            tokens = min(tokens, sent * limit / (limit + over if over else max(limit, sent)) * _MARGIN)
        return max(int(tokens), int(sent * _LEAST), 1)


def _within(template: Template, window: int) -> Template:
    return Template(*template.sections, budget=_smaller(template.budget, window), model=template.model)


def _smaller(budget: Budget, window: int) -> Budget:
    """The budget of a smaller window; the reserve and the promised shares still fit."""
    promised = sum(share.minimum for share in budget.shares.values())
    reserve = min(budget.reserve, window // _RESERVED)
    return replace(budget, window=max(window, reserve + max(promised, 1)), reserve=reserve)


# Room for tool outputs

_ONE_OUTPUT = 4
"""One output may take one part in so many of a request."""

_ALL_OUTPUTS = 2
"""All outputs of one reply may take one part in so many."""

_LEAST_OUTPUT = 64
"""Tokens that every output may take; the line that says where the rest is kept takes as many."""

_MOST_BYTES = 4  # of a character: no counter finds more tokens in a text than it has bytes


def room_for(template: Template, model: AnyModel, calls: int) -> Room:
    """The room for the output of each of so many calls of one reply."""
    available = template.budget.available
    tokens = min(available // _ONE_OUTPUT, available // (_ALL_OUTPUTS * max(calls, 1)))
    return partial(_characters, _counter(template, model), max(tokens, _LEAST_OUTPUT))


def _characters(counter: Counter, tokens: int, text: str, most: int) -> int:
    """How many characters of a text, as beginning and end, take at most so many tokens."""
    most = min(most, len(text))
    while most > tokens // _MOST_BYTES:
        counted = counter.count(ToolResult("call", "tool", "".join(ends(text, most))))
        if counted <= tokens:
            break
        most = most * tokens * 9 // (counted * 10)
    return most


async def make_room(session: Session, template: Template, model: AnyModel, over: int) -> bool:
    """Move tool results that must be shown to the pool until so many tokens are free; False if none can."""
    view, counter = session.view(), _counter(template, model)
    results = sum(isinstance(item, ToolResult) for item in view)
    room = HistoryRoom(max(_protected(view, counter) - over - over // 8, 0), counter)
    moving = Offload(larger_than=_LEAST_OUTPUT, keep=results, ceiling=0)
    return bool(await session.aio.compaction.run(by=moving, room=room))


def _protected(view: View, counter: Counter) -> int:
    """The tokens of what a history must show."""
    runs = ((position, view.run_at(position)) for position in set(protected_positions(view)))
    shown = (run.stand_in or view.log.item(position) for position, run in runs if run is not None)
    return counter.total(sum(map(counter.count, shown)))


def _counter(template: Template, model: AnyModel) -> Counter:
    return counter_for(template.model or model.name)
