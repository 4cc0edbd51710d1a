"""The protocol of models, its methods for classes with `send`, and texts written by a model."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Unpack, cast

from msgspec.structs import replace

from quire.compactors import Request
from quire.errors import ModelFailed, OverBudget, QuireError, Refused, WrongType
from quire.items import Item, Message
from quire.models.answers import Answering, answer_text
from quire.models.requests import (
    AnswerShape,
    Terms,
    checked,
    schema_message,
    shape_for,
    tools_in,
    with_message,
)
from quire.providers import CachePlan, Parsed, Rendered, provider_for
from quire.tokens import Definition


class Asked(Terms, total=False):
    """The options of a question: the terms of the answer, tools, and where to cache."""

    tools: Sequence[Definition]
    plan: CachePlan | None


_QUESTION_OPTIONS = ("tools", "plan", *Terms.__annotations__)


class AnyModel(Protocol):
    """A model: takes items, and answers with items. It records nothing, and has no state between requests.

    `items` may be a list, a view or a scroll; views and scrolls are rendered incrementally. A request that
    fails raises `ModelFailed`, or `WindowExceeded` if it is larger than the context window. If an answer is
    cancelled or closed, its computation or connection stops.
    """

    @property
    def name(self) -> str:
        """The model's name, which selects its counter and its facts."""
        ...

    @property
    def wire(self) -> str:
        """The name of its provider, such as `openai`."""
        ...

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """The answer to exactly this payload, which was rendered for this model.

        Nothing is sent before the answer is read. Without `stream`, the answer arrives in one piece.
        """
        ...

    async def ask(self, items: Sequence[Item], **asked: Unpack[Asked]) -> Parsed:
        """The whole answer."""
        ...

    def stream(self, items: Sequence[Item], **asked: Unpack[Asked]) -> Answering:
        """The answer as a stream. Nothing is sent before it is read."""
        ...


class Asks:
    """`ask`, `stream` and `complete_chat` for a class that has `send`."""

    async def ask(self: AnyModel, items: Sequence[Item], **asked: Unpack[Asked]) -> Parsed:
        """The whole answer, in one piece."""
        rendered, terms = _rendered(self, items, asked)
        async with self.send(rendered, stream=False, **terms) as answer:
            return await answer.whole()

    def stream(self: AnyModel, items: Sequence[Item], **asked: Unpack[Asked]) -> Answering:
        """The answer as a stream. Nothing is sent before it is read."""
        rendered, terms = _rendered(self, items, asked)
        return self.send(rendered, **terms)

    async def complete_chat(
        self: AnyModel, messages: Sequence[Mapping[str, Any]], **options: Any
    ) -> "ChatReply":
        """The answer to messages with a role and a content; `str` of it is its text.

        Tools and terms are taken as such; any other option goes to the service as it is.
        """
        asked: Any = {name: options.pop(name) for name in _QUESTION_OPTIONS if name in options}
        asked["options"] = {**(asked.get("options") or {}), **options}
        if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"messages must be a list, not {type(messages).__name__}")
        items = provider_for("openai").read_history([_read_message(message) for message in messages])
        return ChatReply(await self.ask(items, **asked))


def shape_of(model: AnyModel, schema: Mapping[str, Any], tools: Sequence[Definition] = ()) -> AnswerShape:
    """The form of a schema for a model with these tools. Without tools, a local model follows any schema."""
    is_local = getattr(model, "context", None) is not None
    takes_schema = True if is_local and not tools else getattr(model, "answer_schema", None)
    shape = shape_for(model.wire, model.name, schema, tools, takes_schema)
    return shape._replace(is_enforced=True) if is_local and shape.sent is not None else shape


def sent_shape(model: AnyModel, rendered: Rendered, terms: Terms) -> AnswerShape:
    """The form of an answer's schema, next to the tools of a payload."""
    schema = checked(terms).get("output")
    return shape_of(model, schema, tools_in(rendered)) if schema else AnswerShape()


def _rendered(model: AnyModel, items: Sequence[Item], asked: Asked) -> tuple[Rendered, Terms]:
    """The payload and the terms; a schema that nothing enforces is added in words after the items."""
    if isinstance(items, str | bytes) or not isinstance(items, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a model takes a list of items, not {type(items).__name__}")
    options: Any = {**asked}
    tools, plan = options.pop("tools", ()), options.pop("plan", None)
    if plan is not None and not getattr(model, "caches", True):
        plan = replace(plan, keep="none")
    terms = checked(options)
    if (schema := terms.get("output")) and not shape_of(model, schema, tools).is_enforced:
        items = with_message(items, schema_message(schema))
    return provider_for(model.wire).render(items, model=model.name, tools=tools, plan=plan), terms


# --- chat ------------------------------------------------------------------------------------------------


class ChatReply(NamedTuple):
    """An answer whose `str` is its text; `parsed` has its items and usage."""

    parsed: Parsed

    def __str__(self) -> str:
        return answer_text(self.parsed)


def _read_message(message: Any) -> Mapping[str, Any]:
    """A message whose content is a text, a block such as `{"type": "text", "text": …}`, or several."""
    if not isinstance(message, Mapping):
        raise WrongType(f"a message must be a mapping with role and content, not {type(message).__name__}")
    fields = cast("Mapping[str, Any]", message)
    content = fields.get("content")
    return {**fields, "content": [content]} if isinstance(content, Mapping) else fields


# --- summaries -------------------------------------------------------------------------------------------


class _TextModel(Protocol):
    """A model, or a wrapper that counts its requests."""

    @property
    def name(self) -> str: ...

    async def ask(self, items: Sequence[Item], **asked: Unpack[Asked]) -> Parsed: ...


async def summarized(model: _TextModel, request: Request) -> str:
    """The text that a request asks for, or `ModelFailed`; nothing is recorded.

    An empty text, a refusal and a text that was cut off are failures: a summary cut off has lost the rest.
    """
    parsed = await _answer(model, request.prompt, request.size)
    if parsed.finish == "length":
        raise ModelFailed(f"the text of {model.name} was cut off at {request.size} tokens")
    return _text(model, parsed)


def asking(model: _TextModel, *, max_tokens: int | None = None) -> Callable[[str], Coroutine[Any, Any, str]]:
    """A function that sends a text to a model and returns the text of its answer, or raises `ModelFailed`."""

    async def ask(text: str) -> str:
        return _text(model, await _answer(model, (Message("user", text),), max_tokens))

    return ask


async def _answer(model: _TextModel, items: Sequence[Item], max_tokens: int | None) -> Parsed:
    try:
        return await model.ask(items, max_tokens=max_tokens)
    except OverBudget as fault:
        raise fault if isinstance(fault, ModelFailed) else ModelFailed(str(fault)) from fault
    except QuireError:
        raise  # a failure of the model, or an error of the caller
    except Exception as fault:
        # The message of another client may quote what was sent.
        raise ModelFailed(f"{model.name} failed: {type(fault).__name__}") from fault


def _text(model: _TextModel, parsed: Parsed) -> str:
    if parsed.finish == "refused":
        raise Refused(f"{model.name} refused to answer")
    text = answer_text(parsed).strip()
    if not text:
        raise ModelFailed(f"{model.name} gave no text ({parsed.finish})")
    if any(isinstance(item, Message) and item.interrupted for item in parsed.items):
        raise ModelFailed(f"the answer of {model.name} was interrupted")
    return text
