"""Anthropic's Messages over the official SDK, and whoever else speaks them."""

from typing import Any

from quire.models.clients.client import Json, Place, key_for, no_key
from quire.models.clients.stainless import SdkClient
from quire.models.failing import Failure

_VARIABLE = "ANTHROPIC_API_KEY"


class AnthropicClient(SdkClient):
    """Messages."""

    def __init__(self, place: Place) -> None:
        super().__init__(place, "anthropic")

    def explain(self, fault: Exception) -> Failure:
        """What an exception of the SDK means; one is raised where it looked for a key and found none."""
        if isinstance(fault, TypeError) and "authentication" in str(fault):
            return Failure(no_key(self._place.model, _VARIABLE))
        return super().explain(fault)

    def _connected(self) -> Any:
        place = self._place
        where: Json = {"base_url": place.base_url} if place.base_url else {}
        try:
            return self._sdk.AsyncAnthropic(api_key=key_for(place), max_retries=0, **where)
        except self._sdk.AnthropicError as fault:  # it looks for files with credentials, too
            raise no_key(place.model, _VARIABLE) from fault

    def _call(self) -> Any:
        return self._client.messages.create
