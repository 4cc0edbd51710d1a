"""What the benchmark asks of a library: the same few verbs, spoken with the library's own objects."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, ClassVar

from transcript import ONE_MORE, Entry

# The names in `ours` and `peers` that make the adapter of each library.
OURS = {"floor": "Floor", "before": "Quire", "quire": "Quire"}
PEERS = {
    "loom": "loom",
    "pydantic-ai": "pydantic_ai",
    "langchain": "langchain",
    "livekit": "livekit",
    "videosdk": "videosdk",
    "llama-index": "llama_index",
    "openai-agents": "openai_agents",
}
LEFT_OUT = {
    "google-adk 2.13.0": "wants opentelemetry-api up to 1.44, where livekit-agents 1.8.9 wants 1.45",
    "a1-compiler 0.1.6": "needs Python 3.12",
    "pygents 0.7.0": "needs Python 3.12",
}


class Adapter:
    """One library. A history is whatever it keeps its messages in."""

    name: ClassVar[str]
    package: ClassVar[str]
    """The distribution whose version is reported."""

    how: ClassVar[dict[str, str]] = {}
    """For a workload, the calls that are measured."""

    absent: ClassVar[dict[str, str]] = {}
    """For a workload, or for one way of it such as `render gemini`, why there is nothing to measure."""

    validates: ClassVar[bool] = False
    """Whether it checks the fields of what is appended."""

    parsed: ClassVar[bool] = False
    """Whether it wants a call's arguments parsed; that is then done for it, off the clock."""

    by_tokens: ClassVar[bool] = False
    """Whether it truncates to a number of tokens, rather than of messages."""

    keeps_history: ClassVar[bool] = False
    """Whether a turn leaves all of the history where it is, so that the next can go on from it."""

    def new(self) -> Any:
        """An empty history."""
        raise NotImplementedError

    def add(self, history: Any, chat: Sequence[Entry]) -> None:
        """Build the library's own objects and append them one by one."""
        raise NotImplementedError

    def length(self, history: Any) -> int:
        """How many records the history shows."""
        raise NotImplementedError

    def use(self, history: Any) -> None:
        """Make the history keep what it keeps once it is in use, such as counts."""

    def forks(self) -> dict[str, Callable[[Any], Any]]:
        """Ways to get an independent history with the same content."""
        raise NotImplementedError

    def spare(self, history: Any) -> Any:
        """A copy to truncate, made off the clock."""
        return next(iter(self.forks().values()))(history)

    def truncate(self, history: Any, limit: int) -> Any:
        """A history with the newest that fit in the limit; it may be the same one."""
        raise NotImplementedError

    def total(self, history: Any) -> int:
        """Its tokens, as the library counts them."""
        raise NotImplementedError

    def dumpable(self, history: Any) -> Any:
        """The history in the form that `dump` takes, made off the clock."""
        return history

    def dump(self, history: Any) -> bytes:
        """All of it as JSON."""
        raise NotImplementedError

    def load(self, data: bytes) -> Any:
        """What `dump` wrote."""
        raise NotImplementedError

    def renders(self) -> dict[str, Callable[[Any], Any]]:
        """By the wire, openai, anthropic or gemini: from a history to what the provider's client is given."""
        raise NotImplementedError

    def again(self, history: Any, write: Callable[[Any], Any]) -> Any:
        """The OpenAI payload of a history that `write` rendered before it grew by one message."""
        return write(history)

    def turns_of(self, history: Any, limit: int) -> Callable[[Any], Any]:
        """A function that takes one turn: one more message, cut to the limit, and what OpenAI is sent."""
        write = self.renders()["openai"]

        def turn(history: Any) -> Any:
            self.add(history, (ONE_MORE,))
            return write(self.truncate(history, limit))

        return turn

    def turns(self, payload: Any) -> list[Any]:
        """The messages of a payload."""
        return payload[0] if isinstance(payload, tuple) else payload

    def unrendered(self, chat: Sequence[Entry]) -> Any:
        """A history that nothing was rendered of, in the form that `renders` takes; made off the clock."""
        return self.filled(chat)

    def forgetful(self, history: Any) -> Any:
        """The same history without what rendering it has kept; most keep nothing."""
        return history

    def filled(self, chat: Sequence[Entry]) -> Any:
        """A new history with these messages."""
        history = self.new()
        self.add(history, chat)
        return history


def adapter(name: str) -> Adapter:
    """The adapter of a library, which is imported for it, so this fails where it is not installed."""
    module = import_module("libraries.ours" if name in OURS else "libraries.peers")
    return getattr(module, (OURS | PEERS)[name])()
