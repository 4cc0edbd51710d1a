"""Streams that do not say of what their events are, through the official SDKs: each tool is run once."""

from typing import Any

import pytest

from tests.clients.refunding import check_refunded_once
from tests.clients.scenes import Stage
from tests.models.answerers import NEEDS_SDK

WIRES = [pytest.param(wire, marks=NEEDS_SDK[wire]) for wire in ("openai-responses", "anthropic")]
PLACES: dict[str, int | None] = {"left out": None, "all the first": 0}


def misplaced(event: dict[str, Any], place: int | None) -> dict[str, Any]:
    """An event with another place, or none."""
    told = {name: value for name, value in event.items() if name not in ("index", "output_index")}
    return told | {name: place for name in ("index", "output_index") if name in event and place is not None}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_tool_is_run_once_and_nothing_is_lost(server: Stage, wire: str, place: int | None) -> None:
    check_refunded_once(server, wire, lambda event: misplaced(event, place))
