"""A1's language models: each is a tool that answers a text."""

import re
from collections.abc import Sequence
from typing import Any

from quire.agent import Agent as Answering, Limits
from quire.agent.agent import message_of
from quire.agent.answer import AnswerType
from quire.agent.side_effects import mark_called
from quire.agent.turn import shield
from quire.bridges.a1.context import Context, no_context
from quire.bridges.a1.runtime import get_runtime
from quire.bridges.a1.tools import Tool, flattened, is_model
from quire.errors import ModelFailed, WrongType
from quire.items import Item, Message, ToolResult
from quire.models import AnyModel, Model
from quire.programs import INTERMEDIATE
from quire.providers import Parsed
from quire.session import Building, Hook, Hooks, Session
from quire.stores import MemoryStore

__all__ = ["LLM", "no_context"]

_MOST_REQUESTS = 10
_NOT_IN_NAMES = re.compile(r"\W")


class LLM(Tool):
    """A model as a tool. A program asks it as `llm_a`, `llm_b` and so on.

    Called, it answers in a context, by default in a new `intermediate_*` of the current runtime. Question,
    calls and answer are recorded there together at the end; after an error, if it had called or said
    something.
    """

    def __init__(self, model: AnyModel | str) -> None:
        if not isinstance(model, str) and not is_model(model):
            raise WrongType(f"LLM takes a model or its name, not {type(model).__name__}")
        self.model = self._model = Model(model) if isinstance(model, str) else model
        super().__init__(
            name=f"llm_{_NOT_IN_NAMES.sub('_', self._model.name)}",
            description=f"Ask the language model {self._model.name}. It sees only the question.",
            execute=self._text,
        )

    async def __call__(
        self, content: str, *, output_schema: Any = None, tools: Any = (), context: Context | None = None
    ) -> Any:
        """The answer to a text: words, or a value of a schema. The model may call tools first.

        The result of a terminal tool is the answer.
        """
        question = message_of(content, "LLM")
        before = [] if context is None else context.copies()
        payer = get_runtime().session if context is None else context.session
        session = Session.open(store=MemoryStore())
        if before:
            session.append(*before)
        try:
            return await self._answer(session, payer, question, flattened(tools), output_schema)
        except Exception as fault:
            mark_called(fault, list(session.view())[len(before) :])
            raise
        finally:
            items = list(session.view())[len(before) :]
            if len(items) > 1:
                await shield(_record(items, context))

    async def _text(self, content: str) -> str:
        return str(await self(content))

    async def _answer(
        self, session: Session, payer: Session, question: Message, tools: Sequence[Any], schema: Any
    ) -> Any:
        """The answer, in a session of its own; each request is counted in the session that pays."""
        terminal = {one.name for one in tools if getattr(one, "is_terminal", False)}
        kind, paid = None if schema is None else AnswerType(schema), session.spending

        async def pay() -> None:
            nonlocal paid
            spent, paid = session.spending.since(paid), session.spending
            if spent.requests:
                await payer.aio.record(Parsed((), spent.usage, "stop", self._model.name))

        async def before_request(_: Building) -> None:
            await pay()
            if (text := _terminal_text(session, terminal)) is not None:
                raise _Answered(text)

        session.hooks = Hooks([Hook(before_request, (Building,))])
        limits = Limits(requests=_MOST_REQUESTS)
        agent = Answering(session, model=self._model, tools=tools, limits=limits)
        try:
            reply = await agent.ask(question, output=None if terminal else schema)
        except _Answered as answered:
            return answered.args[0] if kind is None else kind.read(answered.args[0])
        finally:
            await pay()
        if reply.stop != "done":
            raise ModelFailed(f"{self._model.name} came to no answer: {reply.stop}")
        return reply.text if kind is None else kind.read(reply.text) if terminal else reply.output


class _Answered(Exception):
    """A terminal tool has answered; there is no further request."""


def _terminal_text(session: Session, terminal: set[str]) -> str | None:
    """The result of a terminal tool among the last results, if there is one."""
    for item in reversed(list(session.view())):
        if not isinstance(item, ToolResult):
            return None
        if item.name in terminal and not item.is_error:
            return item.text
    return None


async def _record(items: list[Item], context: Context | None) -> None:
    """Record the question, the calls and the answer."""
    place = get_runtime().new_context(INTERMEDIATE) if context is None else context
    await place.session.aio.append(*items, to=place.transcript)
    place.has_changed()
