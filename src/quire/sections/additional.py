"""More that the model should know: messages as they are, or what a function brings."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Unpack

from quire.items import Item
from quire.sections.instructions import system_message
from quire.sections.reading import items_of
from quire.sections.section import Ask, Content, Options, Settings
from quire.sections.waiting import awaited, function

Provider = Callable[[str, str, dict[str, Any]], Content | Awaitable[Content]]
"""Given the scope, the conversation and the shared parameters, which it may add to."""

Asked = Callable[[Ask], Content | Awaitable[Content]]


class Additional(Settings):
    """A text or messages, the same in every turn; or a function that is asked each turn anew."""

    def __init__(
        self,
        source: str | Sequence[Item | Mapping[str, Any]] | Provider,
        name: str = "additional",
        **options: Unpack[Options],
    ) -> None:
        self._provider = source if callable(source) else None
        usual = Options(stability="volatile" if self._provider else "static")
        super().__init__(name, **(usual | options))
        given = () if callable(source) else system_message(source) if isinstance(source, str) else source
        self._items = items_of(given, name)

    async def items(self, ask: Ask) -> tuple[Item, ...]:
        """The messages, or what the function gives."""
        if self._provider is None:
            return self._items
        given = await awaited(self._provider(ask.scope, ask.conversation, ask.parameters))
        return items_of(given, self.name)


class Custom(Settings):
    """A plain function of the ask."""

    def __init__(self, name: str, asked: Asked, **options: Unpack[Options]) -> None:
        super().__init__(name, **options)
        self._asked = function(asked, "what a section of one's own asks")

    async def items(self, ask: Ask) -> Content:
        """What the function gives, as it gives it."""
        return await awaited(self._asked(ask))
