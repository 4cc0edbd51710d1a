"""Names of tools and parameters that requests of a session changed for a wire, mapped back."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from quire.items import ToolCall
from quire.providers import Rendered, may_be_renamed


class Aliases:
    """All that was renamed in requests of one wire: tools, and parameters by the own name of their tool."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._parameters: dict[str, dict[str, str]] = {}

    def learn(self, rendered: Rendered) -> None:
        """Take in the names of a request."""
        self._names.update(rendered.names)
        for tool, parameters in rendered.parameters.items():
            self._parameters.setdefault(tool, {}).update(parameters)

    def knows(self, call: ToolCall) -> bool:
        """Whether every name in a call that may be an alias is a known one."""
        if may_be_renamed(call.name) and call.name not in self._names:
            return False
        known = self._parameters.get(self._own(call), {})
        return all(name in known for name in _arguments(call) if may_be_renamed(name))

    def own_names(self, call: ToolCall) -> ToolCall:
        """The call under the own names of its tool and parameters; the same one where it has them."""
        name = self._own(call)
        known = self._parameters.get(name, {})
        fields = _arguments(call)
        arguments = call.arguments
        if not known.keys().isdisjoint(fields):
            own = {known.get(field, field): value for field, value in fields.items()}
            arguments = msgspec.json.encode(own).decode()
        if name == call.name and arguments is call.arguments:
            return call
        return replace(call, name=name, arguments=arguments)

    def _own(self, call: ToolCall) -> str:
        return self._names.get(call.name, call.name) if may_be_renamed(call.name) else call.name


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(call.arguments, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return {}
