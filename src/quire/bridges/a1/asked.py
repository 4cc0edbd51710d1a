"""One question to a model of A1's: asked in a conversation of its own, and paid in the one that it is for."""

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from quire.agent import Agent as Answering, Done, Ended, Limits
from quire.agent.answer import AnswerType
from quire.context import Template
from quire.errors import ModelFailed
from quire.items import Item, Message
from quire.models import AnyModel
from quire.providers import Parsed
from quire.session import Building, Hook, Session
from quire.stores import MemoryStore
from quire.tokens import Budget

_MOST_REQUESTS = 10

_NOTHING = Template(budget=Budget(window=1_000))
"""What is built where a request is sent by another: hooks hear of it, and caps hold."""


class Asked:
    """A question on its way. What it says and calls is apart until its end: others may be asked meanwhile.

    Each request is counted by the session that pays before the next one is sent, and its caps hold.
    """

    def __init__(
        self, model: AnyModel, tools: tuple[Any, ...], before: Sequence[Item], payer: Session
    ) -> None:
        self._session = Session.open(store=MemoryStore(), hooks=[Hook(self._request, (Building,))])
        if before:
            self._session.append(*before)
        self._before = len(before)
        self._model = model
        self._payer = payer
        self._paid = self._session.spending
        self._terminal = {one.name for one in tools if getattr(one, "is_terminal", False)}
        limits = Limits(requests=_MOST_REQUESTS)
        self._agent = Answering(self._session, model=model, tools=tools, limits=limits)

    @property
    def items(self) -> list[Item]:
        """What was asked, called and said."""
        return list(self._session.view())[self._before :]

    async def answer(self, question: Message, schema: Any, kind: AnswerType | None) -> Any:
        """The words or the value that it comes to."""
        output = None if self._terminal else schema
        async with aclosing(self._agent.stream(question, output=output)) as told:
            async for delta in told:
                if isinstance(delta, Done):
                    if delta.reply.stop != "done":
                        raise ModelFailed(f"{self._model.name} came to no answer ({delta.reply.stop})")
                    return delta.reply.output if output is not None else _value(delta.reply.text, kind)
                if (
                    isinstance(delta, Ended)
                    and delta.result.name in self._terminal
                    and not delta.result.is_error
                ):
                    return _value(delta.result.text, kind)
        raise ModelFailed(f"{self._model.name} came to no answer")

    async def pay(self) -> None:
        """Have what was used since the last time counted."""
        spent = self._session.spending.since(self._paid)
        if spent.requests:
            self._paid = self._session.spending
            await self._payer.aio.record(Parsed((), spent.usage, "stop", self._model.name))

    async def _request(self, _: Building) -> None:
        await self.pay()
        await self._payer.aio.build(_NOTHING, model=self._model.name)


def _value(words: str, kind: AnswerType | None) -> Any:
    return words if kind is None else kind.read(words)
