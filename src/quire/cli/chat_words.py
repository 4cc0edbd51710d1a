"""What is said in a conversation about calls, and about answers that end before they are done."""

import msgspec

from quire.cli.escaping import beginning
from quire.cli.files import fields_of
from quire.cli.words import named
from quire.items import ToolCall

STOPS = {
    "interrupted": "interrupted",
    "length": "the model ran out of room",
    "refused": "the model was not to say more",
    "requests": "this took as many requests as one question may",
    "seconds": "this took as long as one question may",
    "calls": "this took as many calls as one question may",
    "cost": "this cost as much as one question may",
}
"""Why an answer ended, where it was not done."""


def call_in_words(call: ToolCall) -> str:
    """A call on a line."""
    return f"{named(call.name)} {beginning(call.arguments)}"


def question_of(call: ToolCall) -> str:
    """What a call asks a person."""
    try:
        asked = fields_of(msgspec.json.decode(call.arguments)).get("question")
    except msgspec.DecodeError:
        asked = None
    return asked if isinstance(asked, str) else call.arguments
