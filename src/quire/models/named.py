"""Models by name: those of providers, of any service that speaks their wires, and the local one."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
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
from quire.models.requests import request_for, spare_request
from quire.models.retrying import persisting, yielding
from quire.models.services import options_for
from quire.models.terms import Terms, checked
from quire.models.whole import CarefulReader, WholeReader
from quire.providers import Rendered, StreamReader, provider_for

_Json = dict[str, Any]


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
        answer_schema: bool | None = None,
    ) -> None:
        """Name a model; `options` go with every request, `client` is an SDK's own that is used as it is.

        `answer_schema` says whether it is held to the schema of an answer; None leaves it to its facts, and
        one of which they say nothing is sent none any more once it refused one.
        """
        self._given = name
        self._found = read_name(name)
        self._base_url = base_url
        self._api_key = api_key
        self._patience = patience_of(timeout)
        self._retries = retries_of(retries)
        self._options = checked({"options": options}).get("options") or {}
        self._client = client
        self._answer_schema = answer_schema
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
    def answer_schema(self) -> bool | None:
        """Whether it is held to the schema of an answer, as far as that is said or was found out."""
        return self._answer_schema if self.context is None else True

    @property
    def wire(self) -> str:
        """The name of the provider whose wire it speaks."""
        return self._known().wire

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """The answer to exactly this payload; nothing is asked before it is read."""
        if not isinstance(rendered, Rendered):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"what is sent is a Rendered, not {type(rendered).__name__}")
        given = checked(terms).get("options") or {}
        terms["options"] = {**self._service_options(), **self._options, **given}
        if self._known().client == LOCAL:
            return self._weights().send(rendered, stream=stream, **terms)
        asked = (self.wire, rendered, self.name, terms, self._answer_schema)
        request, spare = request_for(*asked), partial(self._unshaped, *asked)
        found = beside(self.wire, rendered.names)
        whole = partial(WholeReader, provider_for(self.wire), rendered, self.name)
        make = partial(self._streamed, rendered) if stream else whole
        reader = CarefulReader(make, whole, self.name, found)
        return Answering(self._events(request, spare, reader, stream=stream), reader, found)

    async def close(self) -> None:
        """Let go of connections, and of weights."""
        await self._clients.close()
        local, self._local = self._local, None
        if local is not None:
            await asyncio.to_thread(local.close)

    def _streamed(self, rendered: Rendered) -> StreamReader:
        return provider_for(self.wire).stream(sent=rendered, model=self.name)

    def _unshaped(self, *asked: Any) -> _Json | None:
        """What is asked without the schema that was refused; from now on none is sent."""
        plain = spare_request(*asked)
        if plain is not None:
            self._answer_schema = False
        return plain

    async def _events(
        self, request: _Json, spare: Callable[[], _Json | None], reader: CarefulReader, *, stream: bool
    ) -> AsyncGenerator[Any, None]:
        client, total = await self._clients.get(), self._patience.total
        until = None if total is None else asyncio.get_running_loop().time() + total
        send = partial(client.events, stream=stream)
        begin = partial(yielding, send, request, spare, client.explain, reader)
        async with aclosing(persisting(begin, client.explain, self._retries, until, reader)) as events:
            async for event in events:
                # Many may be there at once, and others want to work, or to cancel this.
                await asyncio.sleep(0)
                yield event

    def _known(self) -> Named:
        if self._found is None:
            raise unknown_name(self._given)
        return self._found

    def _service_options(self) -> Mapping[str, Any]:
        found = self._known()
        return options_for(found.wire, self._base_url or found.base_url, self._client)

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
