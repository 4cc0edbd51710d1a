"""Who answers: the protocol of a model, and what every model can do that can send. Nothing here answers."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Unpack

from quire.items import Item
from quire.models.answer_shapes import AnswerShape, shape_for, told, with_words
from quire.models.answering import Answering
from quire.models.chat import ChatReply, read_messages
from quire.models.terms import Terms
from quire.providers import CachePlan, Parsed, Rendered, provider_for
from quire.tokens import Definition


class AnyModel(Protocol):
    """Answers items with items; it records nothing, and remembers nothing that an answer depends on.

    `items` may be a list, a view or a scroll; of the latter two only what is new is rendered. One that cannot
    be answered is a `ModelFailed`, and `WindowExceeded` where it is more than the model reads at once. An
    answer that is cancelled or left stops whatever was computing or bringing it.
    """

    @property
    def name(self) -> str:
        """The model's name, by which it is counted and its facts are found."""
        ...

    @property
    def wire(self) -> str:
        """The name of the provider whose wire it speaks."""
        ...

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """The answer to exactly this payload of the wire, rendered for this model, as it comes.

        Nothing is asked before it is read. Without `stream` it is asked for in one piece.
        """
        ...

    async def ask(
        self,
        items: Sequence[Item],
        *,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        **terms: Unpack[Terms],
    ) -> Parsed:
        """The whole answer."""
        ...

    def stream(
        self,
        items: Sequence[Item],
        *,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        **terms: Unpack[Terms],
    ) -> Answering:
        """The answer as it comes; nothing is asked before it is read."""
        ...


class Asks:
    """`ask`, `stream` and `complete_chat` for whoever can `send`."""

    async def ask(
        self: AnyModel,
        items: Sequence[Item],
        *,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        **terms: Unpack[Terms],
    ) -> Parsed:
        """The whole answer, asked for in one piece."""
        items = _with_shape(self, items, tools, terms.get("output"))
        sent = provider_for(self.wire).render(items, model=self.name, tools=tools, plan=plan)
        async with self.send(sent, stream=False, **terms) as answer:
            return await answer.whole()

    def stream(
        self: AnyModel,
        items: Sequence[Item],
        *,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        **terms: Unpack[Terms],
    ) -> Answering:
        """The answer as it comes; nothing is asked before it is read."""
        items = _with_shape(self, items, tools, terms.get("output"))
        sent = provider_for(self.wire).render(items, model=self.name, tools=tools, plan=plan)
        return self.send(sent, **terms)

    async def complete_chat(
        self: AnyModel,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Definition] = (),
        **options: Any,
    ) -> ChatReply:
        """The answer to messages of roles and contents; `str` of it is its text.

        Terms of a request are taken as such, and everything else goes to the provider as it is.
        """
        terms: Any = {name: options.pop(name) for name in Terms.__annotations__ if name in options}
        terms["options"] = {**(terms.get("options") or {}), **options}
        return ChatReply(await self.ask(read_messages(messages), tools=tools, **terms), self.name)


def shape_of(model: AnyModel, schema: Mapping[str, Any], tools: Sequence[Definition] = ()) -> AnswerShape:
    """What is sent of a schema to a model with these tools; one that computes here is held to any."""
    shape = shape_for(model.wire, model.name, schema, tools, getattr(model, "answer_schema", None))
    return shape._replace(is_held=True) if getattr(model, "context", None) is not None else shape


def _with_shape(
    model: AnyModel, items: Sequence[Item], tools: Sequence[Definition], schema: Mapping[str, Any] | None
) -> Sequence[Item]:
    """Items, and the schema in words after them where nothing else holds the model to it."""
    if not isinstance(schema, Mapping) or not schema:  # what is no schema is refused with the other terms
        return items
    if shape_of(model, schema, tools).is_held:
        return items
    return with_words(items, told(schema))
