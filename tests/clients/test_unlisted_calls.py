"""Streams of Responses whose end does not list all that was done, by the official client: calls are made."""

from typing import Any

import pytest

from tests.clients.refunding import check_refunded_once
from tests.clients.scenes import Stage
from tests.models.answerers import NEEDS_SDK

pytestmark = NEEDS_SDK["openai-responses"]

WIRE = "openai-responses"


def shortened(event: dict[str, Any], kept: str) -> dict[str, Any]:
    """The last event with items of one kind alone."""
    if event["type"] != "response.completed":
        return event
    listed = [item for item in event["response"]["output"] if item["type"] == kept]
    return {**event, "response": {**event["response"], "output": listed}}


@pytest.mark.parametrize("kept", ["message", "reasoning", "function_call", "none"])
def test_a_call_is_made_once_whatever_the_end_lists(server: Stage, kept: str) -> None:
    check_refunded_once(server, WIRE, lambda event: shortened(event, kept))
