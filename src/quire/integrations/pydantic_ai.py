"""Quire inside Pydantic AI: a capability that records a conversation and sends the messages that fit.

`QuireConversationStore` stores the framework's own conversations.
"""

import asyncio
from pathlib import Path
from typing import Any, Unpack

from quire.compactors import READ_BACK
from quire.context import Template
from quire.errors import MissingExtra
from quire.integrations.mirror import Mirror, MirrorOptions, Mirrors
from quire.integrations.pydantic_messages import PydanticCodec, recorded_messages
from quire.integrations.pydantic_store import QuireConversationStore
from quire.session import Session
from quire.stores import Store
from quire.tokens import Usage

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
    from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as missing:
    raise MissingExtra("pydantic-ai", "pydantic-ai") from missing

__all__ = ["QuireCapability", "QuireConversationStore"]

_codec = PydanticCodec()


class QuireCapability(AbstractCapability[Any]):
    """Records a conversation in a session, and sends the messages that fit into the model's window.

    `template` may be the size of the window in tokens. The history of the agent is not changed: a message
    that is left out of one request can be in the next. A `scope` may be a function of the `RunContext`.
    """

    def __init__(
        self,
        template: Template | int,
        store: str | Path | Store = "quire.db",
        **options: Unpack[MirrorOptions],
    ) -> None:
        self._mirrors = Mirrors(_codec, template, store, **options)

    def session(self, conversation_id: str, *, scope: str | None = None) -> Session:
        """The session of a conversation: its log, its receipts and its spending."""
        return self._mirrors.of(conversation_id, scope=scope).session

    def messages(self, conversation_id: str, *, scope: str | None = None) -> list[ModelMessage]:
        """The recorded messages of a conversation, as the `message_history` of a run that continues it.

        After a crash they end with the last answer of the model. A run without a prompt then runs the tool
        calls of that answer that had not begun.
        """
        return recorded_messages(self.session(conversation_id, scope=scope).view().recorded())

    def get_ordering(self) -> CapabilityOrdering:
        """Innermost: no other capability changes the history after this one."""
        return CapabilityOrdering(position="innermost")

    def get_toolset(self) -> FunctionToolset[Any]:
        """The tool with which a model reads a result that was sent as a stub."""

        def read_back(ctx: RunContext[Any], handle: str, start: int = 0) -> str:
            return self._mirror(ctx).read_back(handle, start)

        tools = FunctionToolset[Any](id="quire")
        tools.add_function(read_back, name=READ_BACK["name"], description=READ_BACK["description"])
        return tools

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Record new messages, and replace the messages of this one request by those that fit."""
        parameters, messages = request_context.model_request_parameters, list(request_context.messages)
        mirror = await asyncio.to_thread(self._mirror, ctx)
        tools = (*parameters.function_tools, *parameters.output_tools)
        shown = await mirror.afit(
            messages,
            instructions="\n\n".join(part.content for part in parameters.instruction_parts or ()),
            tools=[
                {"name": t.name, "description": t.description, "parameters": t.parameters_json_schema}
                for t in tools
            ],
            model=request_context.model.model_name,
        )
        request_context.messages = shown.messages
        if not _codec.identity(messages[-1])[1]:  # a run without a prompt ends with an empty request
            request_context.messages.append(messages[-1])
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Record the answer and its token usage, before any tool runs."""
        await self._mirror(ctx).arecord([response], _usage_of(response), model=response.model_name)
        return response

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: Any, args: Any, handler: Any
    ) -> Any:
        """Run a call, unless it began before and may have had its effect."""
        mirror = self._mirror(ctx)
        if refusal := await asyncio.to_thread(mirror.begin, call.tool_call_id):
            return refusal
        try:
            return await handler(args)
        except (ApprovalRequired, CallDeferred):
            await asyncio.to_thread(mirror.pause, call.tool_call_id)
            raise

    def _mirror(self, ctx: RunContext[Any]) -> Mirror[ModelMessage]:
        return self._mirrors.of(str(ctx.conversation_id), run=ctx)


def _usage_of(response: ModelResponse) -> Usage | None:
    usage = response.usage
    cache_read, cache_write = usage.cache_read_tokens, usage.cache_write_tokens
    total = max(usage.input_tokens, cache_read + cache_write)
    return Usage(total, usage.output_tokens, cache_read, cache_write) if total + usage.output_tokens else None
