"""Who answers: the protocol of a model. Nothing here answers."""

from collections.abc import Sequence
from typing import Protocol

from quire.items import Item
from quire.models.answering import Answering
from quire.providers import CachePlan, Parsed
from quire.tokens import Definition


class Model(Protocol):
    """Answers items with items; it records nothing, and remembers nothing that an answer depends on.

    `items` may be a list, a view or a scroll; of the latter two only what is new is rendered. `max_tokens` is
    how long the answer may be. One that cannot be given is an error: `ModelFailed`, or `OverBudget` where the
    model does not read so much at once. An `ask` that is cancelled stops whatever was computing the answer.
    """

    @property
    def name(self) -> str:
        """The model's name, by which it is counted and its facts are found."""
        ...

    @property
    def wire(self) -> str:
        """The name of the provider whose wire it speaks."""
        ...

    async def ask(
        self,
        items: Sequence[Item],
        *,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        max_tokens: int | None = None,
    ) -> Parsed:
        """The whole answer."""
        ...

    def stream(
        self,
        items: Sequence[Item],
        *,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        max_tokens: int | None = None,
    ) -> Answering:
        """The answer as it comes; nothing is asked before it is read."""
        ...
