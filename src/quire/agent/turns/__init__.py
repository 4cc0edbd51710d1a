"""Turns: calls of tools that code decides on, one after the other, and what they give kept."""

from quire.agent.turns.events import (
    Beginning,
    Cancelled,
    Completed,
    Failed,
    Gave,
    Paused,
    Queued,
    Queueing,
    Resumed,
    TimedOut,
    TurnEvent,
    TurnHooks,
)
from quire.agent.turns.playing import Player
from quire.agent.turns.running import Running
from quire.agent.turns.shelf import Keeps, Shelf
from quire.agent.turns.turn import Turn
from quire.agent.turns.turns import Turns

__all__ = [
    "Beginning",
    "Cancelled",
    "Completed",
    "Failed",
    "Gave",
    "Keeps",
    "Paused",
    "Player",
    "Queued",
    "Queueing",
    "Resumed",
    "Running",
    "Shelf",
    "TimedOut",
    "Turn",
    "TurnEvent",
    "TurnHooks",
    "Turns",
]
