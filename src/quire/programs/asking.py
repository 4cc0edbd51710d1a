"""Asking a model in a transcript: within the window, the caps and the record of the session."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from quire.agent.answer import with_schema
from quire.agent.run import shield
from quire.agent.window import budget_for
from quire.context import Template
from quire.errors import ModelFailed, QuireError
from quire.items import Item, ToolCall, ToolResult
from quire.models import Answering, AnswerShape, AnyModel, shape_of
from quire.providers import Finish, Parsed, Rendered
from quire.sections import History
from quire.session import Session

_UNFINISHED: Mapping[Finish, str] = {
    "length": "it was cut off at the most tokens that an answer may have",
    "refused": "the model was not to say more",
    "paused": "it was broken off",
}


def unfinished(parsed: Parsed) -> str | None:
    """Why an answer is not all that was to be said, if it is not."""
    return _UNFINISHED.get(parsed.finish)


class Asking:
    """One transcript and the model that is asked in it."""

    def __init__(self, session: Session, model: AnyModel, transcript: str) -> None:
        self._session = session
        self._model = model
        self._transcript = transcript
        # Calls that a program made are no calls of this model, which is offered no tools.
        history = History(transcript, where=_is_said)
        self._template = Template(history, budget=budget_for(model), model=model.name)

    async def answer(self, output: Mapping[str, Any] | None = None, time: float | None = None) -> Parsed:
        """The answer to what the transcript shows, on the record with what it used.

        With a `time` it is recorded as of then. An answer with the time of its question stands right after
        that in any transcript, whatever else was asked meanwhile.
        """
        model, template, shape = self._model, self._template, AnswerShape()
        if output:
            shape = shape_of(model, output)
            template = template if shape.is_enforced else with_schema(template, output)
        context = await self._session.aio.build(template, model=model.name, output=shape.sent)
        sent = context.render(model.wire, model=model.name)
        answering = model.send(sent, stream=False, output=output, max_tokens=self._longest())
        try:
            parsed = await answering.whole()
        except BaseException as fault:
            await shield(self._keep_what_came(answering, sent))
            if isinstance(fault, QuireError) or not isinstance(fault, Exception):
                raise
            # Clients have errors of their own, and their words may quote what was sent.
            raise ModelFailed(f"{model.name} failed: {type(fault).__name__}") from fault
        return await self._session.aio.record(_as_of(time, parsed), to=self._transcript, sent=sent)

    async def _keep_what_came(self, answering: Answering, sent: Rendered) -> None:
        came = await answering.close()
        if came.items or came.usage is not None:
            came = came._replace(error=None)  # what it says is what is raised
            await self._session.aio.record(came, to=self._transcript, sent=sent)

    def _longest(self) -> int | None:
        """How long an answer may be: a local model goes on to the end of its context, unless it is told."""
        is_local = getattr(self._model, "context", None) is not None
        return self._template.budget.reserve or None if is_local else None


def _as_of(time: float | None, parsed: Parsed) -> Parsed:
    if time is None:
        return parsed
    return parsed._replace(items=tuple(replace(item, created_at=time) for item in parsed.items))


def _is_said(item: Item) -> bool:
    return not isinstance(item, ToolCall | ToolResult)
