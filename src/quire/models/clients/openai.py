"""OpenAI's two wires over the official SDK, and whoever else speaks them."""

from collections.abc import AsyncGenerator
from typing import Any

from quire.models.clients.client import Json, Place, key_for, no_key
from quire.models.clients.stainless import SdkClient


class _OpenAI(SdkClient):
    """Connects; which of the two wires is spoken is said by the method that is called."""

    def __init__(self, place: Place) -> None:
        super().__init__(place, "openai")

    def _connected(self) -> Any:
        place = self._place
        where: Json = {"base_url": place.base_url} if place.base_url else {}
        try:
            return self._sdk.AsyncOpenAI(api_key=key_for(place), max_retries=0, **where)
        except self._sdk.OpenAIError as fault:
            raise no_key(place.model, "OPENAI_API_KEY") from fault


class ChatClient(_OpenAI):
    """Chat Completions."""

    def events(self, request: Json, *, stream: bool) -> AsyncGenerator[Json, None]:
        """What comes back; a stream is asked to tell what it used."""
        more: Json = {"stream_options": {"include_usage": True}} if stream else {}
        return super().events({**more, **request}, stream=stream)

    def _call(self) -> Any:
        return self._client.chat.completions.create


class ResponsesClient(_OpenAI):
    """Responses."""

    def _call(self) -> Any:
        return self._client.responses.create
