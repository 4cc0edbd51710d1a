"""Sections: the named parts of a template. Each is asked for its items once per turn.

A section has a name and `async items(ask)`. `Settings` has defaults for the rest.
"""

from quire.sections.section import (
    TURN as TURN,
    Ask,
    Candidate as Candidate,
    Candidates as Candidates,
    Content,
    Count as Count,
    IsShown as IsShown,
    Options,
    Section,
    Selection as Selection,
    Settings,
    Stability,
    checked_function as checked_function,
    items_of,
    maybe_await as maybe_await,
    parse_content as parse_content,
    settings_of,
    stable_id as stable_id,
)
from quire.sections.standard import (
    Catalogue,
    Custom,
    History,
    Inbox,
    Input,
    Instructions,
    Pooled,
    Predicate as Predicate,
    ToolGuide,
)

__all__ = [
    "Ask",
    "Catalogue",
    "Content",
    "Custom",
    "History",
    "Inbox",
    "Input",
    "Instructions",
    "Options",
    "Pooled",
    "Section",
    "Settings",
    "Stability",
    "ToolGuide",
    "items_of",
    "settings_of",
]
