"""Models by name: those of providers, of any service that speaks their wires, and the local one."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self, Unpack

from quire.errors import WrongType
from quire.models.answering import Answering
from quire.models.clients import CLIENTS, Client, Place
from quire.models.deltas import beside
from quire.models.local import Local
from quire.models.model import Asks
from quire.models.naming import LOCAL, Named, read_name, unknown_name
from quire.models.patience import Patience, Retries, patience_of, retries_of
from quire.models.per_loop import PerLoop
from quire.models.requests import request_for
from quire.models.retrying import persisting
from quire.models.terms import Terms, checked
from quire.models.whole import CarefulReader, WholeReader, refuse_unfinished
from quire.providers import Rendered, StreamReader, provider_for


class Model(Asks):
    """Whoever answers to a name: `openai:…`, `anthropic:…`, `google:…`, `local`, or one of the known names.

    Making one needs no key, no network and no SDK: they are looked for when it is first asked, and what is
    missing is an error then. `base_url` is any service that speaks the wire. One may be used in several event
    loops; `close`, or the end of `async with`, lets go of the connections of the running one.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | Patience = Patience(),  # noqa: B008
        retries: int | Retries = Retries(),  # noqa: B008
        options: Mapping[str, Any] | None = None,
        client: Any = None,
    ) -> None:
        """Name a model; `options` go with every request, `client` is an SDK's own that is used as it is."""
        self._given = name
        self._found = read_name(name)
        self._base_url = base_url
        self._api_key = api_key
        self._patience = patience_of(timeout)
        self._retries = retries_of(retries)
        self._options = checked({"options": options}).get("options") or {}
        self._client = client
        self._clients: PerLoop[Client] = PerLoop(self._connected)
        self._local: Local | None = None

    def __repr__(self) -> str:
        return f"<Model {self._given!r}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def name(self) -> str:
        """The name that it is asked for by; that of the file for a local one."""
        if self._found is None:
            return self._given
        return self._found.model if self._found.client != LOCAL else self._weights().name

    @property
    def context(self) -> int | None:
        """What a local one reads and writes at most, in tokens; of others the facts of the model tell."""
        if self._found is None or self._found.client != LOCAL:
            return None
        return self._weights().context

    @property
    def wire(self) -> str:
        """The name of the provider whose wire it speaks."""
        return self._known().wire

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """The answer to exactly this payload; nothing is asked before it is read."""
        if not isinstance(rendered, Rendered):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"what is sent is a Rendered, not {type(rendered).__name__}")
        terms["options"] = {**self._options, **(checked(terms).get("options") or {})}
        if self._known().client == LOCAL:
            return self._weights().send(rendered, stream=stream, **terms)
        request = request_for(self.wire, rendered, self.name, terms)
        provider = provider_for(self.wire)
        reader: StreamReader = (
            provider.stream(sent=rendered, model=self.name)
            if stream
            else WholeReader(provider, rendered, self.name)
        )
        careful = CarefulReader(reader, self.name)
        events = self._events(request, careful, stream=stream)
        return Answering(events, careful, beside(self.wire, rendered.names))

    async def close(self) -> None:
        """Let go of connections, and of weights."""
        await self._clients.close()
        local, self._local = self._local, None
        if local is not None:
            await asyncio.to_thread(local.close)

    async def _events(
        self, request: dict[str, Any], reader: StreamReader, *, stream: bool
    ) -> AsyncGenerator[Any, None]:
        client, total = await self._clients.get(), self._patience.total
        until = None if total is None else asyncio.get_running_loop().time() + total
        begin = partial(client.events, request, stream=stream)
        events = persisting(begin, client.explain, self._retries, until, self.name)
        try:
            async for event in events:
                # Many may be there at once, and others want to work, or to cancel this.
                await asyncio.sleep(0)
                yield event
        finally:
            await events.aclose()
        refuse_unfinished(reader.close(), self.name)

    def _known(self) -> Named:
        if self._found is None:
            raise unknown_name(self._given)
        return self._found

    def _weights(self) -> Local:
        if self._local is None:
            self._local = Local(self._known().model or None)
        return self._local

    def _connected(self) -> Client:
        found = self._known()
        base_url = self._base_url or found.base_url
        variable = None if self._base_url else found.key
        place = Place(found.model, base_url, self._api_key, self._patience, variable, self._client)
        return CLIENTS[found.client](place)
