"""A1's models: each is a tool that answers a text; what A1 has in its module of this name."""

import re
from contextlib import aclosing
from typing import Any

from quire.agent import Agent as Answering
from quire.agent import Done, Ended, Limits
from quire.agent.answer_types import AnswerType, answer_type
from quire.agent.asking import message_of
from quire.bridges.a1.conversation import Context
from quire.bridges.a1.items import in_messages
from quire.bridges.a1.lookup import get_runtime, no_context
from quire.bridges.a1.strategies import is_model
from quire.bridges.a1.tools import Tool, flattened
from quire.errors import ModelFailed, WrongType
from quire.items import Item, Message
from quire.models import AnyModel, Model
from quire.programs.recording import INTERMEDIATE, begin
from quire.providers import Parsed
from quire.session import Session
from quire.stores import MemoryStore

__all__ = ["LLM", "no_context"]

_MOST_REQUESTS = 10
_NOT_A_NAME = re.compile(r"\W")


class LLM(Tool):
    """A model as a tool. In a program it is asked as `llm_a`, `llm_b` and so on.

    Called, it answers in a context: what it is asked, what it calls and what it says are there together, once
    it has answered. Where none is given, the context is another `intermediate_*` of the runtime at work.
    """

    def __init__(self, model: AnyModel | str) -> None:
        if not isinstance(model, str) and not is_model(model):
            raise WrongType(f"LLM takes a model or its name, not {type(model).__name__}")
        self.model = self._model = Model(model) if isinstance(model, str) else model
        super().__init__(
            name=f"llm_{_NOT_A_NAME.sub('_', self._model.name)}",
            description=f"Ask the language model {self._model.name}. It knows nothing but what it is asked.",
            execute=self._said,
        )

    async def __call__(
        self, content: str, *, output_schema: Any = None, tools: Any = (), context: Context | None = None
    ) -> Any:
        """The answer to a text: words, or a value of a schema; it may call tools on the way to it.

        What a terminal tool gives is the answer, and nothing is asked after it.
        """
        question, kind = message_of(content), answer_type(output_schema)
        session, transcript, before = await _place(context, question)
        asked = _Asked(self._model, flattened(tools), before)
        value = await asked.answer(question, output_schema, kind)
        items = asked.items if context is not None else asked.items[1:]
        answer = Parsed(tuple(in_messages(items)), asked.usage, "stop", self._model.name)
        await session.add_response(answer, to=transcript)
        if context is not None:
            context.has_grown()
        return value

    async def _said(self, content: str) -> str:
        return str(await self(content))


class _Asked:
    """One question, in a conversation of its own until it is answered."""

    def __init__(self, model: AnyModel, tools: tuple[Any, ...], before: list[Item]) -> None:
        self._session = Session.open(store=MemoryStore())
        if before:
            self._session.append(*before)
        self._before = len(before)
        self._model = model
        self._terminal = {one.name for one in tools if getattr(one, "is_terminal", False)}
        limits = Limits(requests=_MOST_REQUESTS)
        self._agent = Answering(self._session, model=model, tools=tools, limits=limits)

    @property
    def items(self) -> list[Item]:
        """What was asked, called and said."""
        return list(self._session.view())[self._before :]

    @property
    def usage(self) -> Any:
        """What it used."""
        return self._session.spending.usage

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


def _value(words: str, kind: AnswerType | None) -> Any:
    return words if kind is None else kind.read(words)


async def _place(context: Context | None, question: Message) -> tuple[Session, str, list[Item]]:
    """Where it is recorded, and what was said there before."""
    if context is not None:
        return context.session, context.transcript, context.copies()
    session = get_runtime().session
    name, _ = await begin(session, INTERMEDIATE, question)
    return session, name, []
