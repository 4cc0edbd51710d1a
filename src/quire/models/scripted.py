"""A model for tests: it gives prepared replies, and checks and keeps its requests."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from inspect import isawaitable
from typing import Any, Unpack, cast

import msgspec

from quire.errors import InvalidValue, OutOfRange, WrongType
from quire.items import KINDS, Item, Message, ToolCall, new_id, now
from quire.models.answers import Answering, Delta, deltas_of
from quire.models.model import Asks
from quire.models.requests import Terms, checked, shape_for, tools_in
from quire.providers import Parsed, Rendered, provider_for
from quire.state import in_one_reply, is_output
from quire.tokens import Usage, answer_tokens, counter_for, named, schema_tokens

Reply = str | Item | Sequence[Item] | Parsed | Exception
"""A text, an item or several, a whole answer, or an exception to be raised."""

Answers = Callable[[Rendered], Reply | Awaitable[Reply]]
Script = Reply | Answers
"""A reply, or a function of the request that returns one."""

_REPLIES = "a text, an item or several, a Parsed, an exception, or a function that returns one"
_MAX_FAULTS = 20  # listed in an error
_PIECES = re.compile(r"\s*\S{1,16}|\s+")


class Scripted(Asks):
    """Gives its replies in turn, then raises `OutOfRange`; `repeat` starts again from the first.

    A reply is a text, an item or several, a `Parsed`, an exception to raise, or a function of the `Rendered`
    that returns one of these; a function in place of the list answers every request. `requests` has the
    payloads that were sent, `terms` the terms of each. A payload that the provider would refuse is an error.
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
        self.name = named(name, "the name of a model")
        self.wire = wire
        self._replies = [self._read(script) for script in _scripts_in(replies)]
        self._repeat = repeat or callable(replies)
        self.requests: list[Rendered] = []
        self.terms: list[Terms] = []

    def __repr__(self) -> str:
        return f"<Scripted {self.name!r}: asked {len(self.requests)} times, {len(self._replies)} replies>"

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """The next reply, word by word."""
        checked_terms = checked(terms)
        if faults := self._provider.check(rendered.shared, self.name):
            lines = [f"{self.wire} would refuse the request to {self.name}:", *faults[:_MAX_FAULTS]]
            raise InvalidValue("\n  ".join(map(str, lines)))
        return scripted_answer(self._deltas(rendered, checked_terms), self.name)

    def _next(self) -> Parsed | Exception | Answers:
        turn, count = len(self.requests), len(self._replies)
        if turn >= count and not (self._repeat and count):
            raise OutOfRange(f"{self.name} has no reply left: all {count} are used")
        script = self._replies[turn % count]
        if isinstance(script, Parsed) and turn >= count:
            script = script._replace(items=tuple(map(_renew, script.items)))
        return script

    def _read(self, reply: Any) -> Parsed | Exception | Answers:
        """A reply as a whole answer; an exception or a function stays as it is."""
        if callable(reply) or isinstance(reply, Exception):
            return cast("Exception | Answers", reply)
        if isinstance(reply, str):
            reply = [Message("assistant", reply)] if reply else []
        parsed = reply if isinstance(reply, Parsed) else Parsed(tuple(_as_sequence(reply)), finish="stop")
        for item in parsed.items:
            if type(item) not in KINDS:
                raise WrongType(f"a reply must be {_REPLIES}; not {type(item).__name__}")
            if isinstance(item, Message) and item.role != "assistant":
                raise InvalidValue(f"a reply must be of the assistant, not of the {item.role}")
        if parsed is not reply and any(isinstance(item, ToolCall) for item in parsed.items):
            parsed = parsed._replace(finish="calls")
        items = tuple(in_one_reply(parsed.items))
        return parsed._replace(items=items, model=parsed.model or self.name)

    async def _deltas(self, sent: Rendered, terms: Terms) -> AsyncGenerator[Delta | Parsed, None]:
        script = self._next()  # only now, because an unread request uses no reply
        self.requests.append(sent)
        self.terms.append(terms)
        reply: Any = script(sent) if callable(script) else script
        parsed: Any = self._read(await reply if isawaitable(reply) else reply)
        if isinstance(parsed, Exception):
            raise parsed
        if parsed.usage is None:
            parsed = parsed._replace(usage=self._usage(sent, terms, parsed))
        for piece in (piece for item in parsed.items for piece in _deltas_of(item)):
            await asyncio.sleep(0)  # lets others run, as a real model does
            yield piece
        yield parsed

    def _usage(self, sent: Rendered, terms: Terms, parsed: Parsed) -> Usage:
        """The usage that a model of this name would report, by our count."""
        counter, tools = counter_for(self.name), tools_in(sent)
        items = self._provider.read_history(sent.shared)
        tokens = counter.total(sum(map(counter.count, items)))
        tokens += schema_tokens(tools, counter) if tools else 0
        if schema := terms.get("output"):
            tokens += answer_tokens(shape_for(self.wire, self.name, schema, tools).sent, counter)
        return Usage(tokens, sum(map(counter.count, parsed.items)))


def scripted_answer(pieces: AsyncGenerator[Delta | Parsed, None], model: str) -> Answering:
    """An answer of deltas, with the whole answer last; without that, the answer was interrupted."""
    received: list[Delta | Parsed] = []

    async def deltas() -> AsyncGenerator[Delta, None]:
        try:
            async for piece in pieces:
                received.append(piece)
                if isinstance(piece, Delta):
                    yield piece
        finally:
            await pieces.aclose()

    def parsed() -> Parsed:
        if received and isinstance(received[-1], Parsed):
            return received[-1]
        text = "".join(piece.text for piece in received if isinstance(piece, Delta) and piece.kind == "text")
        return Parsed((Message("assistant", text, interrupted=True),) if text else (), model=model)

    return Answering(deltas(), parsed)


def _scripts_in(replies: Any) -> Iterable[Any]:
    if callable(replies):
        return (replies,)
    if not isinstance(replies, str | bytes | Parsed):  # sequences too, and mistakes
        with suppress(TypeError):
            return list(replies)
    raise WrongType(f"replies must be a list, or a function that returns each, not {type(replies).__name__}")


def _as_sequence(reply: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", reply) if isinstance(reply, list | tuple) else (reply,)


def _renew(item: Item) -> Item:
    """A copy of an item with a new id, which a transcript accepts again."""
    fields = {"id": new_id(), "created_at": now(), **({"reply_id": None} if is_output(item) else {})}
    return msgspec.structs.replace(item, **fields)


def _deltas_of(item: Item) -> Iterator[Delta]:
    for delta in deltas_of(item):
        words = _PIECES.findall(delta.text) if delta.kind == "text" else [delta.text]
        yield from (Delta(delta.kind, word) for word in words)
