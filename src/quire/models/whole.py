"""Answers that came to their end: one that is read in one piece, and what is no end at all."""

from collections.abc import Callable
from typing import Any

from quire.errors import CodecError, ModelFailed, Refused, WrongType
from quire.items import Message
from quire.models.failing import Told, failure_of
from quire.models.replies import words_of
from quire.providers import Parsed, Provider, Rendered, StreamReader

_PASSING = frozenset(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"))
"""Ends of an answer that often does not end so when it is asked for again."""


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
    """Reads with another, for which what came may be no answer at all: that is the model's failure."""

    def __init__(self, make: Callable[[], StreamReader], model: str) -> None:
        self._make = make
        self._reader = make()
        self._model = model

    def begin_again(self) -> None:
        """Forget what was read: the answer comes once more."""
        self._reader = self._make()

    def feed(self, event: Any) -> str:
        """Take an event; the words that it added."""
        try:
            return self._reader.feed(event)
        except (CodecError, WrongType) as fault:
            raise ModelFailed(f"the answer of {self._model} could not be read") from fault

    def close(self) -> Parsed:
        """The answer so far; one that cannot be put together is an error and nothing else."""
        try:
            return self._reader.close()
        except (CodecError, WrongType):
            return Parsed((), model=self._model, error="unreadable")


def may_come_next_time(parsed: Parsed) -> bool:
    """Whether nothing came of an answer, for a reason that passes."""
    kinds = (parsed.error or "").partition(": ")[0].split()
    return not parsed.items and not _PASSING.isdisjoint(kinds)


def refuse_unfinished(parsed: Parsed, model: str) -> None:
    """Raise if an answer ended by an error that it tells of, in the middle, or with nothing but a refusal.

    Who refuses in words has answered: that is for the caller to judge, by `finish`.
    """
    if parsed.error is not None:
        kinds, _, words = parsed.error.partition(": ")
        raise failure_of(model, Told(kinds=kinds, words=words or kinds)).error
    if any(isinstance(item, Message) and item.interrupted for item in parsed.items):
        raise ModelFailed(f"the answer of {model} broke off in the middle")
    if parsed.items:
        return
    if parsed.finish == "refused":
        raise Refused(f"{model} refused to answer")
    if parsed.finish == "other":
        raise ModelFailed(f"{model} broke off before it said anything")
