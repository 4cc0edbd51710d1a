"""A model for tests that gives the replies it was made with, and checks and keeps what it was sent."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from inspect import isawaitable
from typing import Any, TypeGuard, Unpack, cast

import msgspec

from quire.errors import InvalidValue, OutOfRange, WrongType
from quire.items import KINDS, Item, Message, ToolCall, new_id, now
from quire.models.answers import Answering, Delta, deltas_of
from quire.models.model import Asks
from quire.models.requests import Terms, checked, shape_for
from quire.providers import Parsed, Rendered, provider_for
from quire.tokens import Usage, answer_tokens, counter_for, named, schema_tokens

Reply = str | Item | Sequence[Item] | Parsed | Exception
"""A text, an item or several, a whole answer, or an exception to be raised."""

Answers = Callable[[Rendered], Reply | Awaitable[Reply]]
Script = Reply | Answers
"""A reply, or a function of the request that returns one."""

_MOST_FAULTS = 20  # that an error lists
_PIECES = re.compile(r"\s*\S{1,16}|\s+")


class Scripted(Asks):
    """Gives its replies in turn, then raises `OutOfRange`; `repeat` starts again from the first.

    A reply is a text, an item or several, a `Parsed`, an exception to be raised, or a function of the
    `Rendered` that returns one of these; a function in place of the list answers every request. `requests`
    are the payloads that were sent, `terms` the terms of each. A payload that the provider would refuse is an
    error.
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
        self._replies = (replies,) if _is_function(replies) else _checked_scripts(replies)
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
        return scripted_answer(self._parsed(script, rendered, kept), self.name)

    def _next(self) -> Script:
        turn, several = len(self.requests), len(self._replies)
        if turn < several:
            return self._replies[turn]
        if not self._repeat or not several:
            raise OutOfRange(f"{self.name} has no reply left: it was given {several}")
        return _with_new_ids(self._replies[turn % several])

    async def _parsed(
        self, script: Script, sent: Rendered, terms: Terms
    ) -> AsyncGenerator[Delta | Parsed, None]:
        given: Any = script(sent) if callable(script) else script
        reply = await given if isawaitable(given) else given
        parsed = _answer_of(_checked_reply(reply), self.name)
        if parsed.usage is None:
            parsed = parsed._replace(usage=self._usage(sent, terms, parsed))
        for piece in (piece for item in parsed.items for piece in _pieces_of(item)):
            await asyncio.sleep(0)  # lets others run, as a real model does
            yield piece
        yield parsed

    def _usage(self, sent: Rendered, terms: Terms, parsed: Parsed) -> Usage:
        """What a model of this name would report, as it is counted here."""
        counter = counter_for(self.name)
        items = self._provider.read_history(sent.payload)
        tools = sent.payload.get("tools") or sent.payload.get("config", {}).get("tools") or ()
        given = counter.total(sum(map(counter.count, items)))
        given += schema_tokens(tools, counter) if tools else 0
        if schema := terms.get("output"):
            given += answer_tokens(shape_for(self.wire, self.name, schema, tools).sent, counter)
        return Usage(given, sum(map(counter.count, parsed.items)))

    def _refuse_faults(self, sent: Rendered) -> None:
        faults = self._provider.check(sent.payload, self.name)
        if faults:
            more = [f"and {len(faults) - _MOST_FAULTS} more"] if len(faults) > _MOST_FAULTS else []
            lines = [*map(str, faults[:_MOST_FAULTS]), *more]
            raise InvalidValue("\n  ".join([f"{self.wire} would refuse the request to {self.name}:", *lines]))


def scripted_answer(pieces: AsyncGenerator[Delta | Parsed, None], model: str) -> Answering:
    """An answer of pieces, the last of which is the whole; without that, the answer was interrupted."""
    text: list[str] = []
    whole: list[Parsed] = []

    async def deltas() -> AsyncGenerator[Delta, None]:
        try:
            async for piece in pieces:
                if isinstance(piece, Parsed):
                    whole.append(piece)
                    continue
                text.extend([piece.text] if piece.kind == "text" else [])
                yield piece
        finally:
            await pieces.aclose()

    def parsed() -> Parsed:
        said = "".join(text)
        items = (Message("assistant", said, interrupted=True),) if said else ()
        return whole[0] if whole else Parsed(items, model=model)

    return Answering(deltas(), parsed)


def _is_function(replies: Any) -> TypeGuard[Answers]:
    return callable(replies)


def _checked_scripts(replies: Any) -> tuple[Script, ...]:
    # A text is a sequence of texts, and a Parsed is one too: both are mistakes.
    if isinstance(replies, str | bytes | Parsed) or not isinstance(replies, Iterable):
        raise WrongType(f"replies are a list, or a function that returns each, not {type(replies).__name__}")
    scripts = tuple(cast("Iterable[Script]", replies))
    for script in scripts:
        if not callable(script):
            _checked_reply(script)
    return scripts


def _checked_reply(reply: Any) -> Reply:
    if isinstance(reply, str | Exception):
        return reply
    for item in _items_of(reply):
        if type(item) not in KINDS:
            expected = "a text, an item or several, a Parsed, an exception, or a function that returns one"
            raise WrongType(f"a reply is {expected}; not {type(item).__name__}")
        if isinstance(item, Message) and item.role != "assistant":
            raise InvalidValue(f"a model answers as the assistant, not as the {item.role}")
    return cast(Reply, reply)


def _answer_of(reply: Reply, model: str) -> Parsed:
    if isinstance(reply, Exception):
        raise reply
    if isinstance(reply, Parsed):
        return reply if reply.model else reply._replace(model=model)
    given = [Message("assistant", reply)] if isinstance(reply, str) and reply else reply
    items = tuple(_items_of(given or ()))
    calls = any(isinstance(item, ToolCall) for item in items)
    return Parsed(items, None, "calls" if calls else "stop", model)


def _with_new_ids(script: Script) -> Script:
    """The reply once more, with new items, so that a transcript takes them a second time."""
    if isinstance(script, str | Exception) or _is_function(script):
        return script
    items = [msgspec.structs.replace(item, id=new_id(), created_at=now()) for item in _items_of(script)]
    return script._replace(items=tuple(items)) if isinstance(script, Parsed) else items


def _items_of(reply: Any) -> Sequence[Any]:
    if isinstance(reply, Parsed):
        return reply.items
    return cast("Sequence[Any]", reply) if isinstance(reply, list | tuple) else (reply,)


def _pieces_of(item: Item) -> Iterator[Delta]:
    for delta in deltas_of(item):
        if delta.kind == "text":
            yield from (Delta("text", piece) for piece in _PIECES.findall(delta.text))
        else:
            yield delta
