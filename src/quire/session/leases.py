"""Notes that say that a plan is under way: by whom, and until when that is believed.

Who carries a plan out renews its note for as long as it works. A note that was not renewed in time is left
behind, and so is one whose process is gone, where that can be told: on the same machine.
"""

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from quire.items import Hide, Note, Span, now
from quire.session.workspace import Workspace, Written
from quire.stores.streams import PLANS

LEASE = 60.0
"""Seconds for which a note is believed after it was written or renewed."""

RENEWAL = LEASE / 3


def lease(content: Mapping[str, object]) -> Note:
    """The note that a plan is under way here."""
    here, own = _machine(), os.getpid()
    process = None if here is None else [here, own, _began(own)]
    return Note(content={**content, "until": now() + LEASE, "process": process}, description="plan")


def handed_over(marker: Note) -> Note:
    """The note that a plan was begun and is nobody's now."""
    return Note(content={**marker.content, "until": 0.0, "process": None}, description="plan")


def broken_off(marker: Note) -> Note:
    """The note that a plan was begun, and that the loop it was carried out in has ended."""
    return Note(content={**handed_over(marker).content, "is_broken_off": True}, description="plan")


def is_broken_off(marker: Note) -> bool:
    """Whether a plan was given up though nobody wanted that: its loop ended, or its process did."""
    return bool(marker.content.get("is_broken_off")) or _is_gone(marker.content.get("process"))


def is_held(marker: Note) -> bool:
    """Whether somebody is at work on the plan of a note."""
    return marker.content["until"] > now() and not _is_gone(marker.content.get("process"))


def ended(workspace: Workspace, marker: Note | None) -> list[Written]:
    """What says that a plan is no longer under way."""
    if marker is None or marker.id not in workspace.plans:
        return []
    return [Written(PLANS, Hide((Span(marker.id, marker.id),)))]


def replaced(workspace: Workspace, marker: Note, other: Note) -> list[Written]:
    """What puts another note in the place of one, unless somebody took the plan over."""
    over = ended(workspace, marker)
    return [*over, Written(PLANS, other)] if over else []


def _is_gone(process: tuple[str, int, str | None] | None) -> bool:
    """Whether a process is known to have ended."""
    if process is None:
        return False
    machine, number, began = process
    return machine == _machine() and _began(number) != began


@cache
def _machine() -> str | None:
    """What tells this machine since it was started, and which processes are seen; `None` if nothing."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{started} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def _began(process: int) -> str | None:
    """When a process began; `None` where there is none. A number is given to another one day."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
