"""The types that every wire shares: arguments and results of rendering, parsing and checking."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, get_args

import msgspec

from quire.errors import Downgraded, InvalidValue
from quire.guesses import hint_attributes
from quire.items import Item, prepared
from quire.tokens import Definition, Usage, whole

Finish = Literal["stop", "calls", "length", "refused", "paused", "other"]
"""Why a model stopped. "paused": the service paused a long turn, so the caller sends the request again."""

HISTORY = {"openai": "messages", "openai-responses": "input", "anthropic": "messages", "gemini": "contents"}
"""The field of a payload that holds the conversation, by wire."""

FOUND_TOOLS = "quire.tools"
"""The key in a result's extras for the names of tools that a search found; a wire may load these tools."""

Renamed = Literal["id_renamed", "name_renamed", "schema_changed", "tools_added", "turn_added"]
Moved = Literal["instructions_moved", "media_moved", "text_moved"]
Empty = Literal["empty_left_out", "fields_left_out", "not_rendered", "thoughts_left_out"]
LeftOut = Literal["reasoning_left_out", "result_left_out", "state_foreign", "state_stale", "tools_left_out"]
NotWritten = Literal["call_left_out", "content_left_out", "instructions_left_out"]
Replaced = Literal["arguments_repaired", "instructions_as_text", "media_as_text", "result_added"]
Change = Renamed | Moved | Empty | LeftOut | NotWritten | Replaced

HARMLESS: frozenset[Change] = frozenset((*get_args(Renamed), *get_args(Moved), *get_args(Empty)))
"""Changes that lose nothing of the conversation; strict rendering allows them.

`thoughts_left_out` is one of them: some services return a model's thoughts but never accept them.
"""


class Downgrade(NamedTuple):
    """One change that a provider requires: the item (None for the payload), the kind of change, and why."""

    item_id: str | None
    change: Change
    reason: str

    def __str__(self) -> str:
        return f"{self.item_id or 'payload'}: {self.reason} ({self.change})"


def refuse_losses(downgrades: Sequence[Downgrade]) -> None:
    """Raise `Downgraded` if a downgrade loses something of the conversation."""
    lost = [downgrade for downgrade in downgrades if downgrade.change not in HARMLESS]
    if lost:
        more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
        raise Downgraded(f"the provider cannot take all of this: {lost[0]}{more}")


class Fault(NamedTuple):
    """One part of a payload that a provider would refuse or misread.

    `place` is a path into the payload, such as `messages[3].tool_calls[0].id`; `rule` is a name from the
    provider's table of rules. A fault never quotes content.
    """

    place: str
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text} ({self.rule})"


@prepared
class CachePlan(msgspec.Struct, frozen=True, kw_only=True):
    """How many leading items are stable, for prompt caching. Normally `quire.context` builds the plan.

    - `static`: how many leading items never change (instructions).
    - `slow`: how many leading items are stable, because the history only grows at its end; later items are
      volatile. With None, all items are stable except the `after` of a `Scroll`.
    - `key`: routes requests that share a prefix to the same machine.
    - `keep`: how long a cache entry should live; with "none", the payload has no fields for caches.

    Every wire uses `slow` for `Rendered.prefix`. Anthropic's wire sets breakpoints by `slow` and `keep`.
    OpenAI's two wires send a digest of `key`, and set breakpoints by `static` and `slow` for models that
    accept them. Gemini's wire has no fields for caches.
    """

    static: int = 0
    slow: int | None = None
    key: str | None = None
    keep: Literal["short", "long", "none"] = "short"

    def __post_init__(self) -> None:
        whole(self.static, "static", least=0)
        if self.slow is not None and whole(self.slow, "slow", least=0) < self.static:
            raise InvalidValue("CachePlan.slow must not be less than CachePlan.static")
        if self.keep not in ("short", "long", "none"):
            raise InvalidValue("CachePlan.keep must be 'short', 'long' or 'none'")

    def boundary(self, length: int) -> int:
        """How many of `length` items come before the volatile ones."""
        return length if self.slow is None else min(self.slow, length)


@hint_attributes
@dataclass(eq=False, repr=False)
class Rendered(Mapping[str, Any]):
    """A payload for a provider's client, as a mapping (`**rendered`), and the downgrades made for it.

    `names` has the own names of tools by wire name, if the two differ. `tools` has the own names of the
    offered tools. `parameters` has, by the own name of a tool, the own names of parameters by wire name.
    `digest` computes `prefix`. `wire` is the name of the provider.
    """

    shared: dict[str, Any]
    """The payload, read only: later renderings share its lists. Callers may change `payload`, a copy."""
    downgrades: tuple[Downgrade, ...]
    names: Mapping[str, str]
    digest: Callable[[], str]
    model: str | None = None
    tools: tuple[str, ...] = ()
    parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    wire: str = ""

    def __repr__(self) -> str:
        return f"<Rendered {', '.join(self.shared)}; {len(self.downgrades)} downgrades>"

    @cached_property
    def payload(self) -> dict[str, Any]:
        """A deep copy of the payload, which the caller may change."""
        try:
            copied: dict[str, Any] = msgspec.to_builtins(self.shared, builtin_types=(bytes,))
        except TypeError:  # a custom provider may put objects of its client into the payload
            copied = deepcopy(self.shared)
        return copied

    def __getitem__(self, field: str) -> Any:
        return self.payload[field]

    def __iter__(self) -> Iterator[str]:
        return iter(self.shared)

    def __len__(self) -> int:
        return len(self.shared)

    @cached_property
    def prefix(self) -> str:
        """A digest of the instructions and of the messages before the volatile items.

        For models whose thinking is bound to the full prefix, it covers all messages and the tools. `parse`
        stores it in the opaque state of the answer.
        """
        return self.digest()


class Parsed(NamedTuple):
    """An answer as items, with the usage that the provider reported.

    `error` is the provider's error, code and message, shortened. With an error, the items are those that came
    before it, and `finish` is `other`.
    """

    items: tuple[Item, ...]
    usage: Usage | None = None
    finish: Finish = "other"
    model: str | None = None
    error: str | None = None


class StreamReader(Protocol):
    """Reads a streamed answer."""

    def feed(self, event: Any) -> str:
        """Read one event of the stream; return the text that it adds, or an empty text."""
        ...

    def close(self) -> Parsed:
        """The answer so far. If the stream broke off, its last message is marked as interrupted."""
        ...


class Provider(Protocol):
    """A two-way codec for one wire, without I/O. `quire.testing.ProviderLaws` tests a provider.

    `PROVIDERS[provider.name] = provider` registers your own provider.
    """

    @property
    def name(self) -> str:
        """The name of the wire, which receipts keep."""
        ...

    def render(
        self,
        items: Sequence[Item],
        *,
        model: str | None = None,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        strict: bool = False,
    ) -> Rendered:
        """Return the request fields for the provider's client: for Anthropic `system`, `messages`, `tools`.

        The caller passes `model` and `max_tokens` to the client. `model` selects model-specific rules here;
        None applies the rules of the wire alone, and sends back no state of a model. `plan` places cache
        breakpoints. `strict=True` raises `Downgraded` instead of losing content. A `View` is rendered
        incrementally, a list from scratch.
        """
        ...

    def parse(self, response: Any, *, sent: Rendered | None = None, model: str | None = None) -> Parsed:
        """Return the items and the usage of a whole response, given as JSON or as an object of the client.

        `sent` is the `Rendered` that this response answers. Without it renamed tools keep their wire names,
        and opaque state has no prefix: it is sent back until the transcript is edited, then never.
        """
        ...

    def stream(self, *, sent: Rendered | None = None, model: str | None = None) -> StreamReader:
        """Return a reader for a streamed response. `sent` is as in `parse`."""
        ...

    def read_history(self, payload: Any, *, model: str | None = None) -> list[Item]:
        """Return a list of messages, or a whole payload, as items. `model` made the opaque state in it."""
        ...

    def check(self, payload: Any, model: str | None = None) -> list[Fault]:
        """Return everything in a payload that this provider would refuse."""
        ...
