"""A model that says what it was given to say, for tests; it checks and keeps what it was asked."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from inspect import isawaitable
from typing import Any, cast

from quire.errors import InvalidValue, OutOfRange, WrongType
from quire.items import Item
from quire.models.answering import Answering
from quire.models.replies import RepliesReader, Reply, anew, check_reply, parsed_reply, words_of
from quire.providers import CachePlan, Parsed, Rendered, provider_for
from quire.state import View
from quire.state.scroll import Scroll
from quire.tokens import Definition, Usage, counter_for, schema_tokens
from quire.tokens.numbers import named, whole

Script = Reply | Callable[[Rendered], Reply | Awaitable[Reply]]
"""A reply, or a function of what was sent that gives one."""

_MOST = 20  # faults that an error lists
_PIECES = re.compile(r"\s*\S{1,16}|\s+")


class Scripted:
    """Replies in turn; with `repeat` from the start again after the last, else running out is an error.

    A reply is a text, an item or several, a `Parsed`, an exception to be raised, or a function of the
    `Rendered` that gives one of these. What was asked is kept: `asked` as sent, `items` and `limits` (the
    longest answer, in tokens) as given. A payload that the wire's provider would refuse is an error.
    """

    def __init__(
        self, replies: Iterable[Script], *, wire: str = "openai", name: str = "scripted", repeat: bool = False
    ) -> None:
        self._provider = provider_for(wire)
        self._replies = _checked(replies)
        self._repeat = repeat
        self.name = named(name, "the name of a model")
        self.wire = wire
        self.asked: list[Rendered] = []
        self.items: list[Sequence[Item]] = []
        self.limits: list[int | None] = []

    def __repr__(self) -> str:
        return f"<Scripted {self.name!r}: asked {len(self.asked)} times, {len(self._replies)} replies>"

    async def ask(
        self,
        items: Sequence[Item],
        *,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        max_tokens: int | None = None,
    ) -> Parsed:
        """The next reply."""
        return await self.stream(items, tools=tools, plan=plan, max_tokens=max_tokens).whole()

    def stream(
        self,
        items: Sequence[Item],
        *,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        max_tokens: int | None = None,
    ) -> Answering:
        """The next reply, word by word."""
        if max_tokens is not None:
            whole(max_tokens, "max_tokens", least=1)
        sent = self._provider.render(items, model=self.name, tools=tools, plan=plan)
        self._refuse_faults(sent)
        script = self._next()
        self.asked.append(sent)
        self.items.append(items if isinstance(items, View | Scroll) else tuple(items))
        self.limits.append(max_tokens)
        return Answering(self._said(script, sent, self._input(items, tools)), RepliesReader(self.name))

    def _next(self) -> Script:
        turn, several = len(self.asked), len(self._replies)
        if turn < several:
            return self._replies[turn]
        if not self._repeat or not several:
            raise OutOfRange(f"{self.name} has no reply left: it was given {several}")
        return anew(self._replies[turn % several])

    async def _said(self, script: Script, sent: Rendered, tokens: int) -> AsyncGenerator[str | Parsed, None]:
        parsed = parsed_reply(await _resolved(script, sent), self.name)
        if parsed.usage is None:
            counter = counter_for(self.name)
            parsed = parsed._replace(usage=Usage(tokens, sum(map(counter.count, parsed.items))))
        for piece in _PIECES.findall(words_of(parsed)):
            await asyncio.sleep(0)  # as a real one, it lets others work, and can be cancelled
            yield piece
        yield parsed

    def _input(self, items: Sequence[Item], tools: Sequence[Definition]) -> int:
        counter = counter_for(self.name)
        if isinstance(items, View):
            tokens = items.tokens(counter)
        else:
            tokens = counter.total(sum(map(counter.count, items)))
        return tokens + (schema_tokens(tools, counter) if tools else 0)

    def _refuse_faults(self, sent: Rendered) -> None:
        faults = self._provider.check(sent.payload, self.name)
        if faults:
            more = [f"and {len(faults) - _MOST} more"] if len(faults) > _MOST else []
            lines = [*map(str, faults[:_MOST]), *more]
            raise InvalidValue("\n  ".join([f"{self.wire} would refuse what {self.name} is asked:", *lines]))


def _checked(replies: Any) -> tuple[Script, ...]:
    # A text is a sequence of texts, and a Parsed a sequence too: both would be taken for other replies.
    if isinstance(replies, str | bytes | Parsed) or not isinstance(replies, Iterable):
        raise WrongType(f"replies come as a list, not as {type(replies).__name__}")
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
