"""A model that says what it was given to say, for tests; it checks and keeps what it was asked."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from inspect import isawaitable
from typing import Any, TypeGuard, Unpack, cast

from quire.errors import InvalidValue, OutOfRange, WrongType
from quire.models.answer_shapes import shape_for
from quire.models.answering import Answering, Delta
from quire.models.model import Asks
from quire.models.replies import RepliesReader, Reply, anew, check_reply, parsed_reply, pieces_of, thoughts_in
from quire.models.terms import Terms, checked
from quire.providers import Parsed, Rendered, provider_for
from quire.tokens import Usage, answer_tokens, counter_for, named, schema_tokens

Answers = Callable[[Rendered], Reply | Awaitable[Reply]]
Script = Reply | Answers
"""A reply, or a function of what was sent that gives one."""

_MOST = 20  # faults that an error lists


class Scripted(Asks):
    """Replies in turn, and an error when they run out, unless `repeat` starts again from the first.

    A reply is a text, an item or several, a `Parsed`, an exception to be raised, or a function of the
    `Rendered` that gives one of these; a function in place of the list answers every request. What it was
    sent is kept: `requests` are the payloads, `terms` what came with each. A payload that the wire's provider
    would refuse is an error.
    """

    def __init__(
        self,
        replies: Iterable[Script] | Answers,
        *,
        wire: str = "openai",
        name: str = "scripted",
        repeat: bool = False,
    ) -> None:
        self._provider = provider_for(wire)
        self._replies = (replies,) if _is_function(replies) else _checked(replies)
        self._repeat = repeat or _is_function(replies)
        self.name = named(name, "the name of a model")
        self.wire = wire
        self.requests: list[Rendered] = []
        self.terms: list[Terms] = []

    def __repr__(self) -> str:
        return f"<Scripted {self.name!r}: asked {len(self.requests)} times, {len(self._replies)} replies>"

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """The next reply, word by word."""
        kept = checked(terms)
        self._refuse_faults(rendered)
        script = self._next()
        self.requests.append(rendered)
        self.terms.append(kept)
        return Answering(self._said(script, rendered, kept), RepliesReader(self.name), thoughts_in)

    def _next(self) -> Script:
        turn, several = len(self.requests), len(self._replies)
        if turn < several:
            return self._replies[turn]
        if not self._repeat or not several:
            raise OutOfRange(f"{self.name} has no reply left: it was given {several}")
        return anew(self._replies[turn % several])

    async def _said(
        self, script: Script, sent: Rendered, terms: Terms
    ) -> AsyncGenerator[str | Delta | Parsed, None]:
        parsed = parsed_reply(await _resolved(script, sent), self.name)
        if parsed.usage is None:
            parsed = parsed._replace(usage=self._usage(sent, terms, parsed))
        for item in parsed.items:
            for piece in pieces_of(item):
                await asyncio.sleep(0)  # as a real one, it lets others work, and can be cancelled
                yield piece
        yield parsed

    def _usage(self, sent: Rendered, terms: Terms, parsed: Parsed) -> Usage:
        """What a model of this name would report, as it is counted here."""
        counter = counter_for(self.name)
        items = self._provider.read_history(sent.payload)
        tools = sent.payload.get("tools") or sent.payload.get("config", {}).get("tools")
        given = counter.total(sum(map(counter.count, items))) + (
            schema_tokens(tools, counter) if tools else 0
        )
        if schema := terms.get("output"):
            given += answer_tokens(shape_for(self.wire, self.name, schema, tools or ()).sent, counter)
        return Usage(given, sum(map(counter.count, parsed.items)))

    def _refuse_faults(self, sent: Rendered) -> None:
        faults = self._provider.check(sent.payload, self.name)
        if faults:
            more = [f"and {len(faults) - _MOST} more"] if len(faults) > _MOST else []
            lines = [*map(str, faults[:_MOST]), *more]
            raise InvalidValue("\n  ".join([f"{self.wire} would refuse what {self.name} is asked:", *lines]))


def _is_function(replies: Any) -> TypeGuard[Answers]:
    return callable(replies)


def _checked(replies: Any) -> tuple[Script, ...]:
    # A text is a sequence of texts, and a Parsed a sequence too: both would be taken for other replies.
    if isinstance(replies, str | bytes | Parsed) or not isinstance(replies, Iterable):
        raise WrongType(
            f"replies come as a list, or as a function that gives each, not as {type(replies).__name__}"
        )
    scripts = tuple(cast("Iterable[Script]", replies))
    for script in scripts:
        if not callable(script):
            check_reply(script)
    return scripts


async def _resolved(script: Script, sent: Rendered) -> Reply:
    if not callable(script):
        return script
    given = script(sent)
    return check_reply(await given if isawaitable(given) else given)
