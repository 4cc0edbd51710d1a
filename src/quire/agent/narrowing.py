"""A window that is smaller than it was thought to be: how much less is sent, and what is learnt of it."""

from weakref import WeakKeyDictionary

from msgspec.structs import replace

from quire.agent.speaker import RESERVED, Speaker
from quire.context import Template
from quire.errors import WindowExceeded
from quire.models.failing import is_of_bytes
from quire.models.windows import drop_window, found_window, keep_window
from quire.tokens import Budget, Usage

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

_narrowed: "WeakKeyDictionary[Template, Template]" = WeakKeyDictionary()
"""The same template as long as the window is the same: by it a session knows where it cut before."""


def as_found(speaker: Speaker) -> Speaker:
    """A speaker that sees no more than was found out that its model reads at once."""
    window = found_window(speaker.model)
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
        self._sent = self._over = 0
        self._is_widened = False

    def narrow(self, sent: int, exceeded: WindowExceeded) -> bool:
        """Take in that so many tokens were too much; whether less is worth a try."""
        self.exceeded, self._left = exceeded, self._left - 1
        self._sent, self._over = sent, exceeded.over
        self.template = _within(self._speaker.template, self._window(1.0))
        return self._left >= 0 and self.template.budget.available < sent

    def widen(self) -> bool:
        """Try the window that was thought, where what must be sent does not fit in the one that was found."""
        self._is_widened = self.template is not self._speaker.template
        self.template = self._speaker.template
        return self._is_widened

    def learn(self, sent: int, usage: Usage | None) -> None:
        """Take in that so many tokens went through: then those before were too many for the window.

        Unless they were too many bytes, or more than was thought by the count of the provider, or fewer than
        it says were too many.
        """
        if self.exceeded is None:
            if self._is_widened:
                drop_window(self._speaker.model)
            return
        if is_of_bytes(self.exceeded):
            return
        reported = 0 if usage is None else usage.input
        rate = reported / sent if sent <= reported * _MOST_OFF and reported <= sent * _MOST_OFF else 1.0
        if self._over < self._sent * rate <= self._speaker.template.budget.window:
            keep_window(self._speaker.model, self._window(rate))

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
