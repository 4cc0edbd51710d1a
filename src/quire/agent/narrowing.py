"""A window that is smaller than it was thought to be: how much less is sent, and what is learnt of it."""

import logging
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from quire.agent.speaker import RESERVED, Speaker
from quire.context import Template
from quire.errors import WindowExceeded
from quire.items import now
from quire.models import AnyModel
from quire.tokens import Budget, Usage

logger = logging.getLogger("quire.agent")

_TRIES = 5
"""How often less is sent, until it is given up."""

_SMALLER = 0.8
"""What is taken for the window of what was too much, where nobody says by how much."""

_SMALLEST = 0.3
"""And where it is said: counts may be far from those of the provider, so much is never taken away at once."""

_MARGIN = 0.95
"""Of a window that is worked out: counts are never quite those of the provider."""

_MOST_OFF = 8
"""By what factor a count may be off; what is reported beyond that is no count of what was sent."""

_BELIEVED = 3600.0
"""Seconds for which a window counts that nobody stated: a wrong guess is not kept for ever."""


class Window:
    """What was found out about the window of a model, in tokens as its provider counts them.

    It belongs to the model object and not to its name: two services may have a model of the same name.
    """

    def __init__(self) -> None:
        self.most_read = 0
        """The largest request that the model has read."""
        self._tokens: int | None = None
        self._until = 0.0

    @property
    def tokens(self) -> int | None:
        """The window that was found, if one was."""
        return self._tokens if self._until > now() else None

    def keep(self, tokens: int, *, is_stated: bool) -> None:
        """Remember a window; one that the model did not state is a guess, and expires."""
        self._tokens, self._until = tokens, float("inf") if is_stated else now() + _BELIEVED

    def raise_to(self, tokens: int) -> None:
        """Take in that the model reads so many at least."""
        if self._tokens is not None and self._tokens < tokens:
            self._tokens = tokens

    def note_read(self, tokens: int) -> None:
        """Take in that the model has read so many at once."""
        self.most_read = max(self.most_read, tokens)
        self.raise_to(tokens)

    def forget(self) -> None:
        """Take back what was found: the model reads more."""
        self._tokens = None


_windows: "WeakKeyDictionary[AnyModel, Window]" = WeakKeyDictionary()


def window_of(model: AnyModel) -> Window:
    """What was found out about the window of a model; kept as long as the model, if it can be a key."""
    try:
        return _windows.setdefault(model, Window())
    except TypeError:
        return Window()


_narrowed: "WeakKeyDictionary[Template, Template]" = WeakKeyDictionary()
"""The same template as long as the window is the same: by it a session knows where it cut before."""


def as_found(speaker: Speaker) -> Speaker:
    """A speaker that sees no more than was found out that its model reads at once."""
    window = window_of(speaker.model).tokens
    if window is None or window >= speaker.template.budget.window:
        return speaker
    known = _narrowed.get(speaker.template)
    if known is None or known.budget != _smaller(speaker.template.budget, window):
        _narrowed[speaker.template] = known = _within(speaker.template, window)
    return speaker._replace(template=known)


class Narrowing:
    """One request, sent with less and less until the model takes it."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker
        self.template = as_found(speaker).template
        self.exceeded: WindowExceeded | None = None
        """What the model said of the last that was too much."""
        self._left = _TRIES
        self._sent = self._over = self._limit = 0
        self._is_widened = False

    def narrow(self, sent: int, exceeded: WindowExceeded) -> bool:
        """Take in that so many tokens were too much; whether less is worth a try."""
        self.exceeded, self._left = exceeded, self._left - 1
        self._sent, self._over, self._limit = sent, exceeded.over, exceeded.limit
        self.template = _within(self._speaker.template, self._smaller())
        return self._left >= 0 and self.template.budget.available < sent

    def widen(self) -> bool:
        """Try the window that was thought, where what must be sent does not fit in the one that was found."""
        self._is_widened = self.template is not self._speaker.template
        self.template = self._speaker.template
        return self._is_widened

    def learn(self, sent: int, usage: Usage | None) -> None:
        """Take in that so many tokens went through: then those before were too many for the window.

        A window that the model states is what is learnt, and where it states none, a guess. One that is less
        than the model has read is none: it is some other number that was taken for it.
        """
        window, reported = window_of(self._speaker.model), 0 if usage is None else usage.input
        window.note_read(reported)
        if self.exceeded is None:
            if self._is_widened:
                window.forget()
        elif self._limit and self._limit >= window.most_read:
            self._learn_stated()
        elif not self.exceeded.in_bytes:
            self._guess(sent, reported)

    def _learn_stated(self) -> None:
        """Believe what the model states, unless it is no less than was thought.

        Where it counts far more than was counted here, that is of what was sent, such as a long file by its
        address, and tells nobody else how much to send.
        """
        is_like_here = self._limit + self._over <= self._sent * _MOST_OFF
        if self._limit < self._speaker.template.budget.window and is_like_here:
            self._keep(self._limit, is_stated=True)
        else:
            window_of(self._speaker.model).raise_to(self._limit)

    def _guess(self, sent: int, reported: int) -> None:
        """Take a little less than what was too much for the window.

        Unless that was more than was thought by the count of the provider, or fewer than it says were too
        many, or than the model has read before.
        """
        read = window_of(self._speaker.model).most_read
        rate = reported / sent if sent <= reported * _MOST_OFF and reported <= sent * _MOST_OFF else 1.0
        if max(self._over, read) < self._sent * rate <= self._speaker.template.budget.window:
            self._keep(max(self._window(rate), read), is_stated=False)

    def _keep(self, window: int, *, is_stated: bool) -> None:
        model = self._speaker.model
        if window_of(model).tokens != window:
            how = "as it says" if is_stated else "by what went through"
            logger.warning("%s reads %d tokens at once, %s: less than was thought", model.name, window, how)
        window_of(model).keep(window, is_stated=is_stated)

    def _smaller(self) -> int:
        """The window for the next try, in tokens as they are counted here, whatever the provider counts."""
        asked = self._limit + self._over if self._over else max(self._limit, self._sent)
        part = self._limit / asked if self._limit else 1.0
        return max(min(self._window(1.0), int(self._sent * part * _MARGIN)), int(self._sent * _SMALLEST), 1)

    def _window(self, rate: float) -> int:
        """The window that what was too much tells of, where a token counts so many of the provider's."""
        sent = self._sent * rate
        told = (sent - self._over) * _MARGIN if 0 < self._over < sent else sent * _SMALLER
        return max(int(told), int(sent * _SMALLEST), 1)


def _within(template: Template, window: int) -> Template:
    return Template(*template.sections, budget=_smaller(template.budget, window), model=template.model)


def _smaller(budget: Budget, window: int) -> Budget:
    """A budget of a smaller window, of which as large a part is left for the answer as of any."""
    promised = sum(share.minimum for share in budget.shares.values())
    reserve = min(budget.reserve, window // RESERVED)
    return replace(budget, window=max(window, reserve + max(promised, 1)), reserve=reserve)
