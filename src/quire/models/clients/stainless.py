"""What the SDKs of OpenAI and Anthropic have in common: they come from the same generator."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, cast

from quire.models.clients.bodies import without_keys, words_in
from quire.models.clients.client import (
    Json,
    NoResponse,
    Place,
    fitted,
    is_named,
    object_in,
    plain,
    sdk,
    seconds_for,
)
from quire.models.clients.unstreamed import answer_in, body_of, response_in
from quire.models.failing import (
    Failure,
    Told,
    codes_in,
    connection_lost,
    failure_of,
    no_answer,
    seconds_until,
    timed_out,
)
from quire.models.whole import Whole

_LATE = ("APITimeoutError", "TimeoutException", "TimeoutError")
_LOST = ("APIConnectionError", "TransportError", "OSError", "EndOfStream", "ClosedResourceError")
_DAMAGED = ("JSONDecodeError", "UnicodeDecodeError", "APIResponseValidationError", "DecodingError")


class SdkClient:
    """Sends requests through a method of an SDK's async client; its own retries are switched off."""

    def __init__(self, place: Place, name: str) -> None:
        self._place = place
        self._sdk = sdk(name, name)
        given = place.given
        self._client = self._connected() if given is None else given.with_options(max_retries=0)

    async def events(self, request: Json, *, stream: bool) -> AsyncGenerator[Json, None]:
        """The events of a stream, or the whole response."""
        call = self._call()
        more: Json = {"stream": True} if stream else {}
        arguments = fitted(call, {"model": self._place.model, **request, **more})
        arguments.setdefault("timeout", self._sdk.Timeout(**seconds_for(self._place.patience, stream=stream)))
        response = await call(**arguments)
        if not stream:
            yield answer_in(plain(response))
            return
        try:
            http: Any = getattr(response, "response", None)  # who made the client may give something else
            body = None if http is None else await body_of(http)
            if body is not None:
                yield Whole(response_in(body))
                return
            async for event in response:
                yield plain(event)
        finally:
            await response.close()

    def explain(self, fault: Exception) -> Failure:
        """What an exception of the SDK means."""
        model = self._place.model
        if is_named(fault, *_LATE):
            return timed_out(model)
        if is_named(fault, *_LOST, *_DAMAGED):
            return connection_lost(model, fault)
        keys = [getattr(self._client, name, None) for name in ("api_key", "auth_token")]
        if isinstance(fault, NoResponse):
            return no_answer(model, without_keys(words_in(str(fault)), keys))
        told = _told(fault)
        return failure_of(model, told._replace(words=without_keys(told.words, keys)))

    async def close(self) -> None:
        """Let go of the connections, unless somebody else made them."""
        if self._place.given is None:
            await self._client.close()

    def _connected(self) -> Any:
        """The SDK's client."""
        raise NotImplementedError

    def _call(self) -> Any:
        """The method of the client that sends."""
        raise NotImplementedError


def _told(fault: Exception) -> Told:
    body: Any = getattr(fault, "body", None)
    inner = object_in(object_in(body).get("error")) or object_in(body)
    response: Any = getattr(fault, "response", None)
    status = getattr(fault, "status_code", None)
    # An error inside of a stream comes with the status of a stream that began well.
    failed = status if isinstance(status, int) and status >= 400 else None
    headers = cast("Mapping[str, str]", getattr(response, "headers", {}))
    return Told(
        failed,
        codes_in(inner.get("type"), inner.get("code")) or type(fault).__name__,
        words_in(body) or (words_in(_whole(response)) if failed else "") or str(fault),
        seconds_until(headers),
    )


def _whole(response: Any) -> Any:
    """All that came: of some bodies an SDK keeps only a part, in which nothing is said."""
    try:
        return response.json()
    except Exception:  # it is no JSON, or was not read to its end
        return None
