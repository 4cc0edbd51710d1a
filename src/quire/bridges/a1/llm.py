"""A1's models: each is a tool that answers a text; what A1 has in its module of this name."""

import re
from typing import Any

from quire.agent.agent import message_of
from quire.agent.answer import answer_type
from quire.agent.calls import having_called
from quire.agent.run import shield
from quire.bridges.a1.asked import Asked
from quire.bridges.a1.context import Context, no_context
from quire.bridges.a1.runtime import get_runtime
from quire.bridges.a1.strategies import is_model
from quire.bridges.a1.tools import Tool, flattened
from quire.errors import WrongType
from quire.items import Message
from quire.models import AnyModel, Model
from quire.programs.calls import INTERMEDIATE, begin

__all__ = ["LLM", "no_context"]

_NOT_A_NAME = re.compile(r"\W")


class LLM(Tool):
    """A model as a tool. In a program it is asked as `llm_a`, `llm_b` and so on.

    Called, it answers in a context: what it is asked, what it calls and what it says are there together, once
    it has answered, or has failed after it had called or said something. Where none is given, the context is
    another `intermediate_*` of the runtime at work.
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
        question, kind = message_of(content, "LLM"), answer_type(output_schema)
        place = await _placed(context, question)
        before = [] if context is None else context.copies()
        asked = Asked(self._model, flattened(tools), before, place.session)
        try:
            return await asked.answer(question, output_schema, kind)
        except Exception as fault:
            having_called(fault, asked.items)
            raise
        finally:
            await shield(_keep(asked, place, has_question=context is None))

    async def _said(self, content: str) -> str:
        return str(await self(content))


async def _placed(context: Context | None, question: Message) -> Context:
    """Where it is recorded. A context of its own begins with the question, whatever becomes of it."""
    if context is not None:
        return context
    session = get_runtime().session
    name, _ = await begin(session, INTERMEDIATE, question)
    return Context.over(session, name)


async def _keep(asked: Asked, context: Context, *, has_question: bool) -> None:
    """Record what was asked, called and said, at once; of a question that nothing came of, what it cost."""
    await asked.pay()
    items = asked.items
    if len(items) > 1:
        await context.session.aio.append(*items[has_question:], to=context.transcript)
        context.has_changed()
