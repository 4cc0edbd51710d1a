"""What a section is: a named slice of what the model sees."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict, cast

import msgspec

from quire.errors import InvalidValue, UnknownKey, WrongType, cut
from quire.items import KINDS, Item, Message
from quire.state import Pool, View
from quire.tokens import Definition, Share, named

Stability = Literal["static", "slow", "volatile"]
"""How a section changes from one turn to the next: never, only by growing at its end, or anyhow."""

Content = View | Sequence[Item | Mapping[str, Any]]
"""What a section gives: a view as it is, or items; a mapping with a role and content is a message."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What a section is given for one turn.

    `parameters` are shared: what one section sets, a later one may read. `input` is the message to be
    answered, where it is known which one that is. `memory` gives what the scope remembers, where there is
    something that does.
    """

    views: Mapping[str, View] = {}
    pool: Pool = msgspec.field(default_factory=Pool)
    tools: Sequence[Definition] = ()
    scope: str = ""
    conversation: str = ""
    input: Item | None = None
    inbox: Sequence[Message] = ()
    now: float = 0.0
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    memory: Callable[[], object] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.views, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"views are given by transcript, not as {type(self.views).__name__}")
        for name, view in self.views.items():
            if not isinstance(view, View):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise WrongType(f"the view of {cut(str(name))!r} is a View, not {type(view).__name__}")
        _check_ask(self)

    def view(self, name: str = "main") -> View:
        """The view of a transcript by its name."""
        if named(name, "the name of a transcript") not in self.views:
            known = ", ".join(map(repr, self.views)) or "none at all"
            raise UnknownKey(f"no transcript {cut(name)!r} here; there is {known}")
        return self.views[name]


def _check_ask(ask: Ask) -> None:
    """Refuse what sections would stumble over."""
    given: tuple[tuple[str, object, type], ...] = (
        ("the pool", ask.pool, Pool),
        ("parameters", ask.parameters, dict),
        ("the inbox", ask.inbox, Sequence),
        ("the tools", ask.tools, Sequence),
        ("the scope", ask.scope, str),
        ("the conversation", ask.conversation, str),
    )
    for what, value, kind in given:
        if not isinstance(value, kind):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"{what} of an Ask is a {kind.__name__}, not {type(value).__name__}")
    if ask.input is not None and type(ask.input) not in KINDS:
        raise WrongType(f"the input of an Ask is an item, not {type(ask.input).__name__}")
    for message in ask.inbox:
        if not isinstance(message, Message):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"an inbox has messages, not {type(message).__name__}")


class Options(TypedDict, total=False):
    """What every section lets one choose; see `Settings`."""

    enabled: bool
    required: bool
    stability: Stability
    share: Share | None
    keeps: Literal["first", "newest"]
    closely: bool
    independent: bool


class Section(Protocol):
    """What a template needs of a section; all but the name and the items may be left to `Settings`."""

    @property
    def name(self) -> str:
        """Unique in its template."""
        ...

    async def items(self, ask: Ask) -> Content:
        """What it has to show this turn."""
        ...


class Settings:
    """What a section says of itself. Sections of one's own may inherit it, or bring the same attributes.

    A required section is in the context whole, or there is none; its failure is an error. An optional one is
    given its share, and left out where it fails. `keeps` says which end of it stays where it is too large.
    What keeps its newest is cut in steps, where a turn begins, so that it begins with the same for a while;
    `closely`, no more of it goes than has to, between any two groups, and it may begin elsewhere each time.
    An independent one neither sets parameters nor reads them, so a session may ask it beside others.
    """

    def __init__(
        self,
        name: str,
        *,
        enabled: bool = True,
        required: bool = True,
        stability: Stability = "volatile",
        share: Share | None = None,
        keeps: Literal["first", "newest"] = "first",
        closely: bool = False,
        independent: bool = False,
    ) -> None:
        self.name = named(name, "the name of a section")
        self.enabled = _switch(enabled, "enabled")
        self.required = _switch(required, "required")
        if stability not in ("static", "slow", "volatile"):
            raise InvalidValue("a section is static, slow or volatile: its stability is none of these")
        if keeps not in ("first", "newest"):
            raise InvalidValue("a section keeps the first or the newest of what it has")
        if not isinstance(share, Share | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the share of a section is a Share, not {type(share).__name__}")
        self.stability: Stability = stability
        self.share = share
        self.keeps: Literal["first", "newest"] = keeps
        self.closely = _switch(closely, "closely")
        self.independent = _switch(independent, "independent")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


def settings_of(section: object) -> Settings:
    """What a section says of itself; one that does not inherit `Settings` says it by its attributes."""
    if isinstance(section, Settings):
        return section
    if not hasattr(section, "name") or not callable(getattr(section, "items", None)):
        raise WrongType(f"a section has a name and items(ask); {type(section).__name__} has not")
    given = {key: getattr(section, key) for key in Options.__annotations__ if hasattr(section, key)}
    return Settings(getattr(section, "name"), **cast(Options, given))  # noqa: B009  # its type is not known


def _switch(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise WrongType(f"{what} is true or false, not {type(value).__name__}")
    return value
