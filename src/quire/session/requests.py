"""Requests of a session that answers are expected to, and the names that its tools had in them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from quire.errors import QuireError
from quire.items import Item, Note, ToolCall
from quire.providers import Parsed, Rendered, provider_for
from quire.providers.names import may_be_mended
from quire.session.building import Sent
from quire.session.ledger import Ledger
from quire.session.receipts import is_receipt
from quire.session.responses import is_same_model
from quire.stores.streams import RECEIPTS

_MOST = 4  # requests that may be on their way side by side
_LOOKED_AT = 32  # of what was kept for receipts last

Read = tuple[Rendered | None, Parsed]
"""An answer as it reads as one to a request; none is a request that is not known."""


class Requests:
    """What was rendered and may be answered: of each kind the last, and of each wire the last with an answer.

    Nobody can tell what is sent from what is only looked at, nor in which order answers come. So several are
    held, and an answer is taken for one to the request that offered what it calls.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._open: list[Sent] = []
        self._answered: dict[str, Sent] = {}
        self._names: dict[
            str, dict[str, str]
        ] = {}  # by wire: all that had to be changed, and their originals

    @property
    def last(self) -> Sent | None:
        """The one that was rendered last."""
        return self._open[-1] if self._open else None

    def take(self, sent: Sent) -> None:
        """Expect an answer; to an earlier request of the same kind none is expected any more."""
        sent = sent._replace(rendered=sent.rendered.bare())  # a payload grows with whoever reads it
        self._open = [*(one for one in self._open if not _is_alike(one, sent)), sent][-_MOST:]
        self._names.setdefault(sent.provider, {}).update(sent.rendered.names)

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
        """Whether an answer calls what looks like a name of ours, and no request that is known has it."""
        return not _mended(*read) <= self._names.get(wire, {}).keys()

    def look_up(self, wire: str) -> None:
        """Learn the names in the last requests of the conversation, whoever made them."""
        self._names.setdefault(wire, {}).update(_names_kept(self._ledger, wire))

    def named_back(self, wire: str, read: Read) -> Read:
        """The answer with the own names of tools that another request than the one at hand has offered."""
        asked, parsed = read
        names = self._names.get(wire, {})
        if _mended(asked, parsed).isdisjoint(names):
            return read
        return asked, parsed._replace(items=tuple(_renamed(item, names) for item in parsed.items))


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


def _mended(asked: Rendered | None, parsed: Parsed) -> set[str]:
    """Names in an answer that can be a wire's own, and that its request does not know."""
    offered = () if asked is None else asked.tools
    return {name for name in _called(parsed) if may_be_mended(name) and name not in offered}


def _is_alike(one: Sent, other: Sent) -> bool:
    """Whether two requests are of one kind: the same is always told, and the same tools are offered."""
    if (one.provider, one.model, one.context.tools) != (other.provider, other.model, other.context.tools):
        return False
    told, told_later = (sent.context.items.before[: sent.context.plan.static] for sent in (one, other))
    return told == told_later


def _renamed(item: Item, names: Mapping[str, str]) -> Item:
    """An item of an answer to a request that is not known: what its state was made after is not, either."""
    if isinstance(item, ToolCall) and item.name in names:
        item = replace(item, name=names[item.name])
    state = getattr(item, "state", None)
    return item if state is None else replace(item, state=replace(state, prefix=None))


def _names_kept(ledger: Ledger, wire: str) -> dict[str, str]:
    """Names that a wire has for tools in the last requests of a conversation, whoever made them."""
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
    names: dict[str, str] = {}
    for version, tools in kept.items():
        with suppress(QuireError):  # what was offered once need not be what may be offered now
            offered = tools.content if isinstance(tools, Note) else ()
            names |= provider_for(wire).render((), model=offers[version], tools=offered).names
    return names
