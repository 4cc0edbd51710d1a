"""Answers on their way: over which wire they come, and to which request they are."""

from typing import Any

from quire.providers import Parsed, Rendered, StreamReader, chunk_of, provider_for
from quire.session.payloads import rendering_of
from quire.session.requests import Read, Requests, likeliest
from quire.session.responses import wire_of


class Reading:
    """One answer, whole or in pieces. Its wire is told by its shape, unless `provider` names it.

    `sent` is what it answers; without it, the answer is read as one to each request that it may be to, and
    at its end the likeliest of them is taken.
    """

    def __init__(self, requests: Requests, provider: str | None, sent: Any) -> None:
        self._requests = requests
        self._provider = provider
        self._sent = rendering_of(sent)
        self._readers: list[tuple[Rendered | None, StreamReader]] = []
        self._read: list[Read] = []

    def take(self, event: Any) -> None:
        """Take an event of a stream."""
        event = chunk_of(event)
        if event is None:
            return
        if not self._readers:
            wire = provider_for(self._wire(event))
            self._readers = [(asked, wire.stream(sent=asked)) for asked in self._possible()]
        for _, reader in self._readers:
            reader.feed(event)

    def take_whole(self, response: Any) -> None:
        """Take a response that came in one piece."""
        wire = provider_for(self._wire(response))
        self._read = [(asked, wire.parse(response, sent=asked)) for asked in self._possible()]

    def take_parsed(self, parsed: Parsed) -> None:
        """Take an answer that somebody else has read already."""
        self._read = [(asked, parsed) for asked in self._possible()]

    @property
    def is_strange(self) -> bool:
        """Whether names of tools or parameters in it have to be looked up, where the conversation is kept."""
        return self._provider is not None and self._requests.is_strange(self._provider, self._likeliest())

    def look_up(self) -> None:
        """Look them up."""
        if self._provider is not None:
            self._requests.look_up(self._provider)

    def finished(self) -> Read:
        """The answer, and what it is to; one of a stream that had not come to its end is interrupted."""
        read = self._likeliest()
        return read if self._provider is None else self._requests.named_back(self._provider, read)

    def _likeliest(self) -> Read:
        self._read = self._read or [(asked, reader.close()) for asked, reader in self._readers]
        return likeliest(self._read) if self._read else (None, Parsed(()))

    def _wire(self, told: Any) -> str:
        self._provider = self._provider or wire_of(told)
        return self._provider

    def _possible(self) -> "list[Rendered | None]":
        possible = [self._sent] if self._sent is not None else self._requests.possible(self._provider)
        return [*possible] or [None]
