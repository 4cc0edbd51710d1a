"""Whoever writes the summaries of a session: how much it reads at once, what it spends, and when it rests."""

from quire.compactors import Request
from quire.errors import InvalidValue, WindowExceeded
from quire.models import AnyModel, summarized
from quire.session.metering import Metered
from quire.session.resting import Course
from quire.session.spending import NO_PRICES, OwnPrices
from quire.session.workspace import Written
from quire.tokens import facts_for


class Scribe:
    """A model that is asked for words, if there is one.

    It is told no more than it can read at once. Where that is not known it is learnt from a model that says
    that it was too much. After any other failure it rests.
    """

    def __init__(self, model: AnyModel | None, course: Course, prices: OwnPrices = NO_PRICES) -> None:
        self.model = model
        self._metered = None if model is None else Metered(model, prices)
        self._window = None if model is None else _window(model)
        self._course = course

    @property
    def reads(self) -> int | None:
        """Tokens that it can read at once, if that is known; none while there is nobody who writes."""
        return 0 if self._metered is None or self._course.rests.is_resting else self._reads

    async def words(self, request: Request) -> str:
        """The words that are asked for, or `ModelFailed`."""
        if self._metered is None:
            raise InvalidValue("words are asked for, and the session has no model that writes them")
        return await summarized(self._metered, request)

    def fail(self, request: Request, fault: Exception) -> float:
        """Take in that words were not written; for how many seconds it rests."""
        is_learnt = isinstance(fault, WindowExceeded) and self._learn(request)
        return 0.0 if is_learnt else self._course.rests.begin()

    def spent(self) -> list[Written]:
        """The entries that say what was used since somebody asked last."""
        return [] if self._metered is None else self._metered.written()

    @property
    def _reads(self) -> int | None:
        return self._window if self._course.reads is None else self._course.reads

    def _learn(self, request: Request) -> bool:
        """Read half as much from now on; not where a request is as short as can be by now."""
        if request.room is None:
            return False
        counter = request.room.counter
        told = counter.total(sum(map(counter.count, request.prompt))) + request.size
        if self._reads is not None and told > self._reads:
            return False
        self._course.reads = told // 2
        return True


def _window(model: AnyModel) -> int | None:
    """What is known of how much a model reads: by itself where it runs here, else by its name."""
    own = getattr(model, "context", None)
    return own if isinstance(own, int) else facts_for(model.name).window
