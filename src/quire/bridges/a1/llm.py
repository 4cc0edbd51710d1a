"""A1's language models: tools that answer a text."""

import re
from typing import Any

from quire.agent import Agent as EngineAgent, Asking, Limits
from quire.agent.tools import call_tool
from quire.bridges.a1.context import Context, no_context
from quire.bridges.a1.runtime import get_runtime
from quire.bridges.a1.tools import Tool, as_tool
from quire.errors import ModelFailed
from quire.items import ToolResult
from quire.models import AnyModel, model_of
from quire.programs import INTERMEDIATE
from quire.providers import Parsed
from quire.session import Session

__all__ = ["LLM", "no_context"]

_MAX_REQUESTS = 10
_NOT_IN_NAMES = re.compile(r"\W")


class LLM(Tool):
    """A model as a tool. Programs call their models `llm_a`, `llm_b` and so on.

    A call records its question, tool calls and answer in a context, all at its end. The default is a new
    context `intermediate_…` of the current runtime. After an error they are recorded only if the model had
    answered at all.
    """

    def __init__(self, model: AnyModel | str) -> None:
        self.model = self._model = model_of(model, "LLM(...)")
        super().__init__(
            name=f"llm_{_NOT_IN_NAMES.sub('_', self._model.name)}",
            description=f"Ask the language model {self._model.name}. It sees only the question.",
            execute=self._text,
        )

    async def __call__(
        self, /, content: str, *, output_schema: Any = None, tools: Any = (), context: Context | None = None
    ) -> Any:
        """Ask the model, and return its text or, with a schema, a value. The model may call tools first.

        If a call of a terminal tool succeeds, its result is the answer.
        """
        before = [] if context is None else context.copies()
        session = Session.open(store="memory:")
        if before:
            session.append(*before)
        limits = Limits(requests=_MAX_REQUESTS)
        all_tools = [as_tool(tool) for tool in tools]
        terminal = {tool.name: tool for tool in all_tools if isinstance(tool, Tool) and tool.is_terminal}
        others = [tool for tool in all_tools if tool.name not in terminal]
        agent = EngineAgent(session, model=self._model, tools=others, limits=limits)
        asking = Asking(output=output_schema, tools=[tool.definition for tool in terminal.values()])
        try:
            reply = await agent.ask(content, **asking)
            while calls := [call for call in reply.waiting if call.name in terminal]:
                call = calls[0]
                outcome, cancelled = await call_tool(terminal[call.name], call.arguments, session=session)
                result = ToolResult(call.call_id, call.name, outcome.content, is_error=outcome.is_error)
                if not outcome.is_error or cancelled is not None:
                    session.append(result)
                    if cancelled is not None:
                        raise cancelled
                    return outcome.value
                reply = await agent.decide({call.call_id: result}, **asking)
        finally:
            self._record(session, len(before), context)
        if reply.stop != "done":
            raise ModelFailed(f"{self._model.name} came to no answer: {reply.stop}")
        return reply.text if output_schema is None else reply.output

    async def _text(self, content: str) -> str:
        return str(await self(content))

    def _record(self, exchange: Session, skipped: int, context: Context | None) -> None:
        """Record the token usage of an exchange and, if the model answered, its items after `skipped`."""
        session = get_runtime().session if context is None else context.session
        if exchange.spending.requests:
            session.record(Parsed((), exchange.spending.usage, "stop", self._model.name))
        items = list(exchange.view())[skipped:]
        if len(items) > 1:
            context = get_runtime().new_context(INTERMEDIATE) if context is None else context
            session.append(*items, to=context.transcript)
            context.after_change()
