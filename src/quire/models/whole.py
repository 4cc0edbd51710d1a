"""Answers that came to their end: one that is read in one piece, and what is no end at all."""

from collections.abc import Callable, Iterable
from typing import Any

from quire.errors import CodecError, ModelFailed, Refused, WrongType
from quire.items import Item, Message, Reasoning
from quire.models.answering import Delta
from quire.models.failing import Failure, Told, failure_of
from quire.models.replies import words_of
from quire.providers import Parsed, Provider, Rendered, StreamReader

_PASSING = frozenset(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"))
"""Ends of an answer that often does not end so when it is asked for again."""


class Whole(dict[str, Any]):
    """A whole response that came where a stream was asked for."""


class WholeReader:
    """Reads a response that comes in one piece, as if it were the only event of a stream."""

    def __init__(self, provider: Provider, sent: Rendered, model: str) -> None:
        self._provider = provider
        self._sent = sent
        self._model = model
        self._parsed: Parsed | None = None

    def feed(self, event: Any) -> str:
        """Take the response; its words."""
        self._parsed = self._provider.parse(event, sent=self._sent, model=self._model)
        return words_of(self._parsed)

    def close(self) -> Parsed:
        """The answer; nothing if it did not come."""
        return self._parsed or Parsed((), model=self._model)


class CarefulReader:
    """Reads with another, for which what came may be no answer at all: that is the model's failure.

    What comes in one piece all the same is read by one that `whole` makes.
    `beside` finds thoughts and calls in an event: with them a listener is told of an answer as with words.
    """

    def __init__(
        self,
        make: Callable[[], StreamReader],
        whole: Callable[[], StreamReader],
        model: str,
        beside: Callable[[Any], Iterable[Delta]],
    ) -> None:
        self._make = make
        self._make_whole = whole
        self._reader = make()
        self.model = model
        self._beside = beside
        self._is_told = False

    def begin_again(self) -> None:
        """Forget what was read: the answer comes once more."""
        self._reader = self._make()

    def feed(self, event: Any) -> str:
        """Take an event; the words that it added."""
        if isinstance(event, Whole):
            self._reader = self._make_whole()
        try:
            words = self._reader.feed(event)
        except (CodecError, WrongType) as fault:
            raise ModelFailed(f"the answer of {self.model} could not be read") from fault
        self._is_told = self._is_told or bool(words or list(self._beside(event)))
        return words

    def failure(self) -> Failure | None:
        """What is wrong with the answer, where nothing more comes."""
        return unfinished(self.close(), self.model)

    def has_come(self) -> bool:
        """Whether a piece of the answer was told, or is worth keeping; to be asked where it broke off."""
        return self._is_told or not all(map(_is_empty, self.close().items))

    def close(self) -> Parsed:
        """The answer so far; one that cannot be put together is an error and nothing else."""
        try:
            return self._reader.close()
        except (CodecError, WrongType):
            return Parsed((), model=self.model, error="unreadable")


def unfinished(parsed: Parsed, model: str) -> Failure | None:
    """The failure of an answer that ended by an error, in the middle, or with nothing but a refusal.

    Who refuses in words has answered: that is for the caller to judge, by `finish`.
    """
    if parsed.error is not None:
        kinds, _, words = parsed.error.partition(": ")
        failure = failure_of(model, Told(kinds=kinds, words=words or kinds))
        passes = not _PASSING.isdisjoint(kinds.split())
        return failure._replace(again=True, after=0.0, once=True) if passes else failure
    if any(isinstance(item, Message) and item.interrupted for item in parsed.items):
        return Failure(ModelFailed(f"the answer of {model} broke off in the middle"))
    if parsed.finish == "other" and all(isinstance(item, Reasoning) for item in parsed.items):
        return Failure(ModelFailed(f"{model} broke off before it said anything"), again=True)
    if parsed.finish == "refused" and not parsed.items:
        return Failure(Refused(f"{model} refused to answer"))
    return None


def _is_empty(item: Item) -> bool:
    """Whether it is a thought that has begun and has no words yet."""
    return isinstance(item, Reasoning) and not item.text and item.state is None
