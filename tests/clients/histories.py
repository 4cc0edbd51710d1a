"""Histories that the clients send: each shows one thing that a wire has to get right."""

from quire.items import Audio, File, Image, Item, Message, Note, Summary, ToolCall, ToolResult
from quire.testing.conversations import PNG

_CALL = ToolCall("call-1", "look_up", '{"q": "a"}')
_OTHER = ToolCall("call:2|é", "look_up", '{"q": "b"}')

HISTORIES: dict[str, list[Item]] = {
    "a question": [Message("system", "Be brief."), Message("user", "Say hi.")],
    "parallel calls": [
        Message("user", "Look both up."),
        Message("assistant", "I will."),
        *(_CALL, _OTHER),
        ToolResult("call:2|é", "look_up", "two"),
        ToolResult("call-1", "look_up", "one"),
    ],
    "an interrupted call": [Message("user", "Look."), _CALL, Message("user", "Never mind. Say hi.")],
    "an orphan": [ToolResult("gone", "look_up", "late"), Message("user", "Say hi.")],
    "instructions in the middle": [
        Message("user", "Hello."),
        Message("assistant", "Hello."),
        Message("developer", "Speak like a pirate."),
        Message("user", "Say hi."),
    ],
    "media": [
        Message("user", ("What is it?", Image(data=PNG), File(data=b"%PDF-1.7", name="a.pdf"))),
        _CALL,
        ToolResult("call-1", "look_up", ("a picture", Image(data=PNG))),
        Message("user", ("And this?", Audio(data=b"RIFF....WAVE", transcript="a bell"))),
    ],
    "a summary and a note": [
        Summary("They talked of ships."),
        Note({"ship": "Ada"}, description="a ship"),
        Message("assistant", "Shall I go on?"),
    ],
}
