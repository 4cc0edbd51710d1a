"""How to use the tools at hand, in words; their schemas go another way."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Unpack

from quire.items import Item
from quire.sections.instructions import system_message
from quire.sections.reading import items_of
from quire.sections.section import Ask, Content, Options, Settings
from quire.sections.waiting import awaited, function
from quire.tokens import Definition, read_definition, single_definitions

Told = str | Content
Telling = Callable[[Sequence[Definition]], Told | Awaitable[Told]]

_HEADING = "You may use these tools:"


class ToolGuide(Settings):
    """A line for each tool, or a text or function of one's own; nothing while there are no tools.

    As long as the tools are called and described as before, the items are the same ones as before, and a
    function is not asked again.
    """

    def __init__(
        self, told: str | Telling | None = None, name: str = "tools", **options: Unpack[Options]
    ) -> None:
        super().__init__(name, **(Options(stability="static") | options))
        if told is not None and not isinstance(told, str):
            function(told, "what tells of tools")
        self._told = told
        self._last: tuple[list[tuple[str, str]], tuple[Item, ...]] = ([], ())

    async def items(self, ask: Ask) -> tuple[Item, ...]:
        """What there is to say of the tools."""
        tools = sorted(_name_and_use(tool) for tool in single_definitions(ask.tools))
        known, items = self._last
        if tools != known:
            told = await self._said(tools, ask.tools)
            items = items_of(system_message(told) if isinstance(told, str) else told, self.name)
            self._last = (tools, items)
        return items

    async def _said(self, tools: list[tuple[str, str]], definitions: Sequence[Definition]) -> Told:
        if not tools:
            return ()
        if isinstance(self._told, str):
            return self._told
        if self._told is not None:
            return await awaited(self._told(definitions))
        return "\n".join((_HEADING, *(_line(name, use) for name, use in tools)))


def _name_and_use(tool: Definition) -> tuple[str, str]:
    if "name" not in tool and "function" not in tool:
        # One that a provider brings, such as a search: its type is all there is.
        return str(tool.get("type") or next(iter(tool), "")), ""
    name, description, _ = read_definition(tool)
    return name, description


def _line(name: str, use: str) -> str:
    first = use.strip().partition("\n")[0].strip()
    return f"- {name}: {first}" if first else f"- {name}"
