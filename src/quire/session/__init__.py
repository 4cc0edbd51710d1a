"""The only writer: sessions, the events they tell of, and the hooks that hear them."""

from quire.session.current import current_session
from quire.session.events import (
    Added,
    Adding,
    Building,
    Built,
    Called,
    Calling,
    Cleared,
    Clearing,
    Compacted,
    Compacting,
    Event,
    Evicted,
    Evicting,
    Removed,
    Removing,
)
from quire.session.hooks import Hook, Hooks, hook, hook_named
from quire.session.receipts import Kept
from quire.session.session import Session
from quire.session.spending import Caps, Spending
from quire.session.workspace import Written

__all__ = [
    "Added",
    "Adding",
    "Building",
    "Built",
    "Called",
    "Calling",
    "Caps",
    "Cleared",
    "Clearing",
    "Compacted",
    "Compacting",
    "Event",
    "Evicted",
    "Evicting",
    "Hook",
    "Hooks",
    "Kept",
    "Removed",
    "Removing",
    "Session",
    "Spending",
    "Written",
    "current_session",
    "hook",
    "hook_named",
]
