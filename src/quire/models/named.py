"""Models by name: those of the providers, of any service that speaks their wires, and the local one."""

import asyncio
import os
import re
import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self, Unpack
from urllib.parse import urlsplit

from quire.errors import InvalidValue, WrongType, cut
from quire.models.answers import Answering, AnswerReader
from quire.models.clients import CLIENTS, Client, PerLoop, Place
from quire.models.local import Local
from quire.models.model import Asks
from quire.models.requests import CACHE_KEY, Terms, checked, plain_request, request_for
from quire.models.retry import Patience, Retries, answer_deltas
from quire.providers import Rendered, provider_for
from quire.tokens import facts_for, named

_Json = dict[str, Any]

LOCAL = "local"
WIRES = {
    "openai": "openai",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "google": "gemini",
    "gemini": "gemini",
    LOCAL: "openai",
}
"""The wire of each client, by the word before the colon of a name."""

_CLIENT_OF = {"openai": "openai", "anthropic": "anthropic", "gemini": "google"}
_ADDRESS = re.compile(r"@(https?://\S+)$")
_FORMS = (
    'use "openai:gpt-5.6", "openai-responses:…", "anthropic:…", "google:…", "local", '
    '"local:/path/to/weights.gguf", or "openai:name@http://127.0.0.1:8000/v1" for any service that speaks '
    "the wire"
)


class Named(NamedTuple):
    """The meaning of a name: the client, the model's name there, its address and the variable of its key."""

    client: str
    model: str
    base_url: str | None = None
    key: str | None = None

    @property
    def wire(self) -> str:
        """The wire that is spoken."""
        return WIRES[self.client]


ALIASES: dict[str, Named] = {
    name: Named(**row)
    for name, row in tomllib.loads(Path(__file__).with_name("aliases.toml").read_text("utf-8")).items()
}
"""Names under which models are known elsewhere."""


def read_name(name: str) -> Named | None:
    """The meaning of a name; None if it is not known."""
    found = _ADDRESS.search(named(name, "the name of a model"))
    rest, address = (name[: found.start()], found[1]) if found else (name, None)
    client, colon, model = rest.partition(":")
    if client in WIRES and (model or client == LOCAL):
        return Named("google" if client == "gemini" else client, model, address)
    if colon and not model:
        return None
    if alias := ALIASES.get(rest):
        return alias._replace(base_url=address, key=None) if address else alias
    provider = None if ":" in rest or "/" in rest else facts_for(rest).provider
    return None if provider is None else Named(_CLIENT_OF[provider], rest, address)


class Model(Asks):
    """A model by name: `openai:…`, `anthropic:…`, `google:…`, `local`, or one of the known names.

    Making one needs no key, no network and no SDK: they are looked up at the first request, which fails if
    one is missing. `base_url` is the address of any service that speaks the wire. One object may be used in
    several event loops; `close`, or the end of `async with`, closes the connections of the running one.
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
        """Name a model; `options` go with every request, `client` is a client of the SDK, used as it is.

        `answer_schema` says whether the service enforces the schema of an answer; None leaves that to the
        facts of the model. A model without such facts that refused a schema is sent no more of them.
        """
        if not isinstance(base_url, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"base_url is a text, not {type(base_url).__name__}")
        self._given = name
        self._found = read_name(name)
        self._base_url = base_url
        self._api_key = api_key
        self._patience = Patience.of(timeout)
        self._retries = Retries.of(retries)
        self._options = checked({"options": options}).get("options") or {}
        self._client = client
        self._answer_schema = answer_schema
        self._clients: PerLoop[Client] = PerLoop(self._connected)
        self._local: Local | None = None

    def __repr__(self) -> str:
        return f"<Model {self._given!r}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def name(self) -> str:
        """The name that is sent to the service; for a local model, that of its file."""
        if self._found is None:
            return self._given
        return self._found.model if self._found.client != LOCAL else self._weights().name

    @property
    def context(self) -> int | None:
        """The window of a local model, in tokens; that of others is a fact of the model."""
        is_local = self._found is not None and self._found.client == LOCAL
        return self._weights().context if is_local else None

    @property
    def answer_schema(self) -> bool | None:
        """Whether the service enforces the schema of an answer, as far as that is said or was found out."""
        return self._answer_schema if self.context is None else True

    @property
    def wire(self) -> str:
        """The name of the provider whose wire it speaks."""
        return self._known().wire

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """The answer to exactly this payload. Nothing is sent before it is read."""
        if not isinstance(rendered, Rendered):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"expected a Rendered, not {type(rendered).__name__}")
        given = checked(terms).get("options") or {}
        terms["options"] = {**self._unknown_elsewhere(), **self._options, **given}
        if self._known().client == LOCAL:
            return self._weights().send(rendered, stream=stream, **terms)
        asked = (self.wire, rendered, self.name, terms, self._answer_schema)
        request, plain = request_for(*asked), partial(self._plain_request, *asked)
        reader = AnswerReader(provider_for(self.wire), rendered, self.name, stream=stream)
        total = self._patience.total
        deltas = answer_deltas(self._clients.get, request, plain, reader, self._retries, total)
        return Answering(deltas, reader.close)

    async def close(self) -> None:
        """Close the connections of the running event loop, and unload weights."""
        await self._clients.close()
        local, self._local = self._local, None
        if local is not None:
            await asyncio.to_thread(local.close)

    def _plain_request(self, *asked: Any) -> _Json | None:
        """The request without the schema that was refused; from now on none is sent."""
        request = plain_request(*asked)
        self._answer_schema = self._answer_schema if request is None else False
        return request

    def _known(self) -> Named:
        if self._found is None:
            raise InvalidValue(f"no model {cut(self._given)!r} is known; {_FORMS}")
        return self._found

    def _unknown_elsewhere(self) -> Mapping[str, Any]:
        """Options that leave out OpenAI's key of the cache at other addresses: many services refuse it."""
        found = self._known()
        if not found.wire.startswith("openai"):
            return {}
        if self._client is None:
            address = self._base_url or found.base_url or os.environ.get("OPENAI_BASE_URL")
        else:
            address = str(getattr(self._client, "base_url", "") or "") or None
        return {} if address is None or _is_openai(address) else {CACHE_KEY: None}

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


def _is_openai(address: str) -> bool:
    """Whether an address is OpenAI's own, or that of one of its regions."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:  # refused when the client connects
        return False
    return host == "api.openai.com" or host.endswith(".api.openai.com")
