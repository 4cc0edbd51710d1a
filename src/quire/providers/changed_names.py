"""Names that one wire has for tools and their parameters, in whichever request, and their own names."""

from typing import Any, cast

import msgspec
from msgspec.structs import replace

from quire.items import ToolCall
from quire.providers.names import may_be_renamed
from quire.providers.rendering import Rendered

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Changed:
    """All that had to be changed on a wire, and what it was before."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._parameters: dict[str, dict[str, str]] = {}  # by the own name of a tool

    def learn(self, rendered: Rendered) -> None:
        """Take in the names of a request."""
        self._names.update(rendered.names)
        for tool, parameters in rendered.parameters.items():
            self._parameters.setdefault(tool, {}).update(parameters)

    def knows(self, call: ToolCall) -> bool:
        """Whether all that can be a name of ours in a call is one that is known."""
        if may_be_renamed(call.name) and call.name not in self._names:
            return False
        known = self._parameters.get(self._own(call), {})
        return all(name in known for name in _fields(call) if may_be_renamed(name))

    def named_back(self, call: ToolCall) -> ToolCall:
        """The call by the own names of its tool and its parameters; the same one where it has them."""
        known = self._parameters.get(self._own(call), {})
        fields = _fields(call) if known else {}
        arguments = call.arguments
        if not known.keys().isdisjoint(fields):
            arguments = _encode({known.get(name, name): value for name, value in fields.items()}).decode()
        if self._own(call) == call.name and arguments is call.arguments:
            return call
        return replace(call, name=self._own(call), arguments=arguments)

    def _own(self, call: ToolCall) -> str:
        return self._names.get(call.name, call.name) if may_be_renamed(call.name) else call.name


def _fields(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call; none where they are no object."""
    try:
        given: Any = _decode(call.arguments)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}
