"""What a wire can do: the protocol, and what parsing gives."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast

from quire.errors import Damaged, WrongType
from quire.items import Item
from quire.providers.caching import CachePlan
from quire.providers.json_values import dumped
from quire.providers.rendering import Rendered
from quire.providers.types import Fault
from quire.tokens import Definition, Usage

Finish = Literal["stop", "calls", "length", "refused", "paused", "other"]
"""Why a model stopped: it was done, it wants tools run, it ran out of room, it was not to say more, or its
provider broke off a long turn and is to be asked again."""

_LONGEST_ERROR = 500

_Came = TypeVar("_Came")


class Parsed(NamedTuple):
    """An answer as items, with what it used, as far as the provider said.

    `error` is what the provider says went wrong: its code and its message, cut in length. The items are what
    came before it, if anything did, and `finish` is `other`.
    """

    items: tuple[Item, ...]
    usage: Usage | None = None
    finish: Finish = "other"
    model: str | None = None
    error: str | None = None


class Answer(NamedTuple):
    """What is known beforehand of an answer that is to be read.

    `model` is the one that was asked, by the name it was asked by; `prefix`, `names` and `parameters` are
    those of the `Rendered` that was sent.
    """

    model: str | None = None
    prefix: str | None = None
    names: Mapping[str, str] = {}
    parameters: Mapping[str, Mapping[str, str]] = {}

    def tool(self, name: str) -> str:
        """The tool's own name for the name that the wire knows it by."""
        return self.names.get(name, name)

    def arguments(self, tool: str, given: Any) -> Any:
        """The arguments of a call by a tool's own names; what is no object is as it is."""
        own = self.parameters.get(tool)
        if own is None or not isinstance(given, dict):
            return given
        return {own.get(name, name): value for name, value in cast("dict[str, Any]", given).items()}


class StreamReader(Protocol):
    """An answer that comes in pieces."""

    def feed(self, event: Any) -> str:
        """Take an event of the stream; the words that it added, if any."""
        ...

    def close(self) -> Parsed:
        """The answer so far; one that had not come to its end is marked as interrupted."""
        ...


class Provider(Protocol):
    """A two-way codec for one wire: pure, and without state of its own."""

    @property
    def name(self) -> str:
        """The name by which the wire is asked for."""
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
        """Items and tools as the keyword arguments of the provider's client."""
        ...

    def parse(self, response: Any, *, sent: Rendered | None = None, model: str | None = None) -> Parsed:
        """A whole response, as the client gives it or as JSON, to items and usage."""
        ...

    def stream(self, *, sent: Rendered | None = None, model: str | None = None) -> StreamReader:
        """A reader for a streamed response."""
        ...

    def read_history(self, payload: Any, *, model: str | None = None) -> list[Item]:
        """An existing list of messages, or a whole payload, as items; `model` is whose the state in it is."""
        ...

    def check(self, payload: Any, model: str | None = None) -> list[Fault]:
        """All that this provider would refuse in a payload."""
        ...


def answer_to(sent: Rendered | None, model: str | None) -> Answer:
    """What a rendering tells of the answer to it."""
    if sent is None:
        return Answer(model)
    if not isinstance(sent, Rendered):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"what was sent is a Rendered, not {type(sent).__name__}")
    return Answer(model or sent.model, sent.prefix, sent.names, sent.parameters)


def failed(model: Any, error: str) -> Parsed:
    """An answer that is nothing but an error."""
    return Parsed((), None, "other", words_in(model) or None, error)


def error_in(value: Any) -> str | None:
    """What a provider says went wrong, by its kind, code and message; none where it says nothing."""
    if isinstance(value, str):
        return _cut(value) or None
    if not isinstance(value, Mapping):
        return None
    told = cast("Mapping[str, Any]", value)
    found = (told.get(name) for name in ("type", "status", "code"))
    kinds = dict.fromkeys(str(kind) for kind in found if isinstance(kind, str | int) and kind != "error")
    said = ": ".join(filter(None, (" ".join(kinds), words_in(told.get("message")))))
    return _cut(said or "an error without words")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}…"


def words_in(value: Any) -> str:
    """A text; an empty one where something else stands in its place."""
    return value if isinstance(value, str) else ""


def place_of(index: Any, path: str) -> int | None:
    """The place that an event of a stream is about; none where it does not say."""
    if not isinstance(index, int | None):
        raise Damaged(f"a place is a number, not {type(index).__name__}", path)
    return index


def in_their_places(came: Sequence[tuple[int | None, _Came]]) -> list[_Came]:
    """What came in a stream by the places that it was given; as it came where two are given the same."""
    places = [place for place, _ in came if place is not None]
    if len(set(places)) < len(came):
        return [one for _, one in came]
    return [came[nth][1] for nth in sorted(range(len(came)), key=places.__getitem__)]


def plain_json(response: Any) -> dict[str, Any]:
    """A response as plain JSON values, whichever client it came from."""
    if isinstance(response, Mapping):
        return dict(response)  # pyright: ignore[reportUnknownArgumentType]
    plain = dumped(response)
    if not isinstance(plain, Mapping):
        raise WrongType(
            f"expected a response, as JSON or as a client gives it, not {type(response).__name__}"
        )
    return dict(plain)  # pyright: ignore[reportUnknownArgumentType]
