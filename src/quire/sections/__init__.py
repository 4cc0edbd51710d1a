"""What goes in: named slices of what the model sees, each asked once a turn.

A section has a name and `async items(ask)`. All else has defaults, by inheriting `Settings` or not.
"""

from quire.sections.additional import Additional, Custom
from quire.sections.choosing import choosing
from quire.sections.history import History
from quire.sections.inbox import Inbox, Input
from quire.sections.instructions import Instructions
from quire.sections.pooled import Catalogue, Pooled
from quire.sections.quote import Heard as Heard, Key as Key, Quote as Quote, Shorter as Shorter
from quire.sections.quotes import Quotes as Quotes, Told as Told
from quire.sections.reading import items_of
from quire.sections.section import Ask, Content, Options, Section, Settings, Stability, settings_of
from quire.sections.sifted import Sifted as Sifted
from quire.sections.sifting import Question as Question
from quire.sections.speech import content_of as content_of
from quire.sections.tool_guide import ToolGuide
from quire.sections.unshown import unshown as unshown
from quire.sections.waiting import awaited as awaited, function as function

__all__ = [
    "Additional",
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
    "choosing",
    "items_of",
    "settings_of",
]
