"""Requests of a session that answers are expected to, and the names that were changed in them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from quire.errors import QuireError
from quire.items import Item, Note, ToolCall
from quire.providers import Parsed, Rendered, may_be_renamed, provider_for
from quire.session.building import Sent
from quire.session.ledger import Ledger
from quire.session.receipts import is_receipt
from quire.session.responses import is_same_model
from quire.stores.streams import RECEIPTS

_MOST = 4  # requests that may be on their way side by side
_LOOKED_AT = 32  # of what was kept for receipts last

Read = tuple[Rendered | None, Parsed]
"""An answer as it reads as one to a request; none is a request that is not known."""


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


class Requests:
    """What was rendered and may be answered: of each kind the last, and of each wire the last with an answer.

    Nobody can tell what is sent from what is only looked at, nor in which order answers come. So several are
    held, and an answer is taken for one to the request that offered what it calls.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._open: list[Sent] = []
        self._answered: dict[str, Sent] = {}
        self._changed: dict[str, Aliases] = {}  # by wire

    @property
    def last(self) -> Sent | None:
        """The one that was rendered last."""
        return self._open[-1] if self._open else None

    def take(self, sent: Sent) -> None:
        """Expect an answer; to an earlier request of the same kind none is expected any more."""
        sent = sent._replace(rendered=sent.rendered.bare())  # a payload grows with whoever reads it
        self._open = [*(one for one in self._open if not _is_alike(one, sent)), sent][-_MOST:]
        self._changed_on(sent.provider).learn(sent.rendered)

    def possible(self, wire: str | None) -> list[Rendered]:
        """What an answer over a wire may be to, the latest last; without a wire, over any."""
        expecting = [one.rendered for one in self._open if wire in (None, one.provider)]
        if not expecting and wire in self._answered:
            return [self._answered[wire].rendered]
        return expecting

    def settle(self, asked: Rendered | None, parsed: Parsed) -> None:
        """Expect no other answer to a request, and teach the counter what it really took."""
        sent = next((one for one in self._open if asked is not None and one.rendered.is_of(asked)), None)
        if sent is None or not is_same_model(sent.model, parsed.model):
            return
        self._open = [one for one in self._open if one is not sent]
        self._answered[sent.provider] = sent
        if parsed.usage is not None and parsed.usage.input:
            sent.learn(parsed.usage.input)

    def is_strange(self, wire: str, read: Read) -> bool:
        """Whether an answer has what looks like a name of ours, and no request that is known has it."""
        changed = self._changed_on(wire)
        return any(not changed.knows(call) for call in _unoffered(*read))

    def look_up(self, wire: str) -> None:
        """Learn the names in the last requests of the conversation, whoever made them."""
        for rendered in _rendered_lately(self._ledger, wire):
            self._changed_on(wire).learn(rendered)

    def named_back(self, wire: str, read: Read) -> Read:
        """The answer with the own names of what another request than the one at hand has offered."""
        asked, parsed = read
        changed = self._changed_on(wire)
        own = {call.id: changed.own_names(call) for call in _unoffered(asked, parsed)}
        if all(own[call.id] is call for call in parsed.items if call.id in own):
            return read
        items = tuple(_unbound(own.get(item.id, item)) for item in parsed.items)
        return asked, parsed._replace(items=items)

    def _changed_on(self, wire: str) -> Aliases:
        return self._changed.setdefault(wire, Aliases())


def likeliest(readings: Sequence[Read]) -> Read:
    """The reading as an answer to the request that offered most of what it calls, or to the latest."""
    if len(readings) == 1:
        return readings[0]
    return max(enumerate(readings), key=lambda placed: (*_likeness(*placed[1]), placed[0]))[1]


def _likeness(asked: Rendered | None, parsed: Parsed) -> tuple[int, bool]:
    if asked is None:
        return 0, False
    return sum(name in asked.tools for name in _called(parsed)), is_same_model(asked.model, parsed.model)


def _called(parsed: Parsed) -> list[str]:
    return [item.name for item in parsed.items if isinstance(item, ToolCall)]


def _unoffered(asked: Rendered | None, parsed: Parsed) -> list[ToolCall]:
    """Calls in an answer of what its request does not offer: another's, by the names that it had there."""
    offered = () if asked is None else asked.tools
    return [item for item in parsed.items if isinstance(item, ToolCall) and item.name not in offered]


def _is_alike(one: Sent, other: Sent) -> bool:
    """Whether two requests are of one kind: the same is always told, and the same tools are offered."""
    if (one.provider, one.model, one.context.tools) != (other.provider, other.model, other.context.tools):
        return False
    told, told_later = (sent.context.items.before[: sent.context.plan.static] for sent in (one, other))
    return told == told_later


def _unbound(item: Item) -> Item:
    """An item of an answer to a request that is not known: what its state was made after is not, either."""
    state = getattr(item, "state", None)
    return item if state is None else replace(item, state=replace(state, prefix=None))


def _rendered_lately(ledger: Ledger, wire: str) -> Iterator[Rendered]:
    """The tools in the last requests of a conversation over a wire, whoever made them."""
    with ledger.lock:
        ledger.catch_up()
        lately = ledger.read_at(ledger.workspace.versions(RECEIPTS)[-_LOOKED_AT:])
        receipts = [item.content for item in lately if isinstance(item, Note) and is_receipt(item)]
        offers = {
            told["tools"]: told["model"]
            for told in receipts
            if told["provider"] == wire and told.get("tools")
        }
        kept = dict(zip(sorted(offers), ledger.read_at(sorted(offers)), strict=True))
    for version, tools in kept.items():
        with suppress(QuireError):  # what was offered once need not be what may be offered now
            offered = tools.content if isinstance(tools, Note) else ()
            yield provider_for(wire).render((), model=offers[version], tools=offered)
