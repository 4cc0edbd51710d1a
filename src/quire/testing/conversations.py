"""Random conversations for the wires: odd ids, names, arguments and media, edits, forks, merges and answers.

Hypothesis draws numbers; this module turns them into steps, depending on the transcript.
"""

from copy import deepcopy
from random import Random
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from quire.errors import QuireError
from quire.items import (
    JSON,
    Address,
    Audio,
    ConfigChange,
    Content,
    Distrust,
    File,
    Handoff,
    Hide,
    Image,
    Item,
    Mask,
    Message,
    Note,
    Opaque,
    Pin,
    Reasoning,
    Span,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
)
from quire.providers import PROVIDERS, pack
from quire.state import Transcript, View, brief, fork_scoped, merge_all, merge_result, truncate
from quire.testing.answers import CHAT_MODELS, answer
from quire.tokens import counter_for

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 24
MODELS = {
    "openai": (*CHAT_MODELS, None),
    "openai-responses": ("gpt-4o", "gpt-5.6", "azure/gpt-5.6", "azure/team-a/gpt-5.6", None),
    "anthropic": (
        "claude-sonnet-4-5",
        "claude-opus-4-8",
        "claude-fable-5-1",
        "us.anthropic.claude-opus-4-8-v1:0",
        None,
    ),
    "gemini": ("gemini-2.5-pro", "gemini-3-pro", "vertex_ai/gemini-3-pro", "gemini-3-pro-image", None),
}
TOOLS: list[dict[str, Any]] = [
    {"name": "look_up", "description": "Find it.", "parameters": {"type": "object", "properties": {}}},
    {"type": "function", "function": {"name": "weather.today", "parameters": {"type": "object"}}},
]

OTHER_TOOLS: list[dict[str, Any]] = [
    {"name": "look_up", "parameters": {"type": "object", "properties": {"q": {"default": 0}}}},
    {"type": "web_search_20250305", "name": "web_search"},
    {"google_search": {}},
]
ODD_TOOLS: list[dict[str, Any]] = [
    {"name": "look_up", "parameters": {"type": "object", "properties": {"$top": {"type": "integer"}}}},
    {
        "name": "either",
        "input_schema": {"type": "object", "properties": {}, "oneOf": [{"required": ["a"]}]},
        "strict": True,
    },
    {"name": "pointed", "parameters": {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object"}}}},
    {"name": "later", "input_schema": {}, "defer_loading": True, "cache_control": {"type": "ephemeral"}},
    {"name": "heard", "parameters": None, "behavior": "NON_BLOCKING"},
    {"type": "custom", "name": "shell"},
]
TOOLSETS: tuple[list[dict[str, Any]], ...] = ([], TOOLS, OTHER_TOOLS, ODD_TOOLS)

TEXTS = ("hello", "", "   ", "\n", "naïve ✓", "<|endoftext|>", "x" * 300, "{}", "a\x00b")
ARGUMENTS = ('{"a": 1}', "", "{}", "not json", "[1]", '"x"', "null", '{"a": {"b": [1, 2.50]}}')
CALL_IDS = ("c1", "c2", "c3", "call_abc", "toolu_01AB", "fc:1|x y", "é", "x" * 80, "-", "a.b", "c1#2", "1")
NAMES = ("look_up", "weather.today", "mcp__a__b", "1st tool", "ünïcode", "n" * 90, "functions.look_up:0", "-")


def wide_png(side: int) -> bytes:
    """The header of a PNG of this width."""
    return PNG[:8] + b"\0\0\0\rIHDR" + side.to_bytes(4, "big") + (9).to_bytes(4, "big") + b"\x08\2\0\0\0"


IMAGES = (
    Image(data=wide_png(2500)),
    Image(data=wide_png(2500), media_type="image/jpeg"),
    Image(data=wide_png(8500)),
    Image(url="https://example.com/a.png"),
    Image(data=PNG, detail="low"),
    Image(data=b"BM not a picture we know"),
    Image(data=b"\xff\xd8\xff\xe0", media_type="image/jpg", width=9000, height=10),
    Image(url="data:image/png;base64,iVBORw0KGgo="),
    Image(url="file:///home/a.png"),
    Image(url="gs://bucket/a.webp", media_type="image/webp"),
    Image(url="data:image/png;base64,@@@"),
    Image(url="data:image/png;base64,iVBO\nRw0K"),
    Image(url="file-id:anthropic/file_1"),
)
AUDIOS = (
    Audio(data=b"RIFF\0\0\0\0WAVE", seconds=2.0),
    Audio(data=b"ID3\0", transcript="they said"),
    Audio(url="https://example.com/a.mp3", media_type="audio/mpeg"),
    Audio(data=b"????"),
    Audio(url="data:audio/wav;base64,@@@"),
    Audio(url="file-id:openai/audio_1"),
)
FILES = (
    File(data=b"%PDF-1.7", name="a.pdf"),
    File(url="https://example.com/a.pdf", media_type="application/pdf"),
    File(data=b"words", media_type="text/plain", name="a.txt"),
    File(data=b"PK\x03\x04", name="a.zip"),
    File(data=b" ", media_type="text/plain"),
    File(url="data:application/pdf;base64,@@@"),
    File(url="file-id:openai/file-1"),
)
MEDIA = (*IMAGES, *AUDIOS, *FILES)

CUSTOM = (
    pack("openai", "*", [{"type": "custom"}]),
    pack("openai-responses", "*", [{"type": "custom_tool_call", "namespace": "crm"}]),
)
STATES = (
    '[{"type": "thinking", "thinking": "", "signature": "s"}]',
    '[{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}]',
    '[{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}]',
    '[{"type": "web_search_call", "id": "ws_1", "status": "completed"}]',
    '[{"reasoning_content": ""}]',
    '[{"text": "", "thoughtSignature": "QUJD"}]',
    '[{"executableCode": {"language": "PYTHON", "code": "1"}}]',
    '[{"hologram": {}}]',
    '{"signature": "s"}',
    "[1]",
    "not json",
)
"""States of all wires, and invalid ones; any wire may name any of them."""

KINDS = 24
Step = tuple[int, int, int, int]
"""The code of what is done, and three numbers that choose how."""
_MAX_STEPS = 60


def _many_steps(seed: int) -> list[Step]:
    draw = Random(seed).randrange
    return [(draw(KINDS), draw(64), draw(64), draw(10)) for _ in range(draw(_MAX_STEPS))]


# Few steps, which hypothesis can shrink; or many, which it cannot.
STEPS = st.one_of(
    st.lists(
        st.tuples(st.integers(0, KINDS - 1), st.integers(0, 63), st.integers(0, 63), st.integers(0, 9)),
        max_size=30,
    ),
    st.integers(0, 2**32).map(_many_steps),
)


def content_of(a: int, b: int) -> Content:
    """A text or parts, some of them odd."""
    text = TEXTS[a % len(TEXTS)]
    if b % 3:
        return text
    if a == 63:
        return text, *[MEDIA[b % 3]] * 21  # with more than 20 images, none of them may be large
    parts = (text, MEDIA[b % len(MEDIA)], MEDIA[(a + b) % len(MEDIA)], TEXTS[b % len(TEXTS)])
    return parts[: 1 + a % 4]


def note_of(a: int, b: int) -> Note:
    """A text or a value."""
    content = {"n": a, "b": b"x"} if b % 2 else TEXTS[a % len(TEXTS)]
    return Note(content, description="d" * (b % 3))


class Talk:
    """A transcript that plays random steps."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.payloads: list[Any] = []  # of the requests to models
        self._children: list[Transcript] = []

    def play(self, steps: list[Step]) -> None:
        """Play steps; those that the transcript refuses are skipped."""
        for step in steps:
            try:
                self._do(*step)
            except QuireError:
                continue

    def _do(self, code: int, a: int, b: int, c: int) -> None:
        transcript = self.transcript
        if code < 12:
            transcript.append(self._item(code, a, b, c))
        elif code < 17:
            self._edit(code - 12, a, b)
        elif code == 17:
            hide = truncate(transcript.view, tokens=20 + 10 * a, counter=counter_for("gpt-4o"))
            if hide is not None:
                transcript.append(hide)
        elif code == 18:
            self.transcript = Transcript(JSON.decode(JSON.encode(transcript.recorded())))
        elif code in (19, 20):
            self._fork_or_merge(a, b)
        else:
            self._ask_model(a, b, c)

    def _item(self, code: int, a: int, b: int, c: int) -> Item:
        agent, reply = (None, None, "second")[c % 3], (None, "r1", "r2")[(a + b) % 3]
        pending = self.transcript.view.pending()
        call = pending[a % len(pending)] if pending else None
        call_id = CALL_IDS[a % len(CALL_IDS)]
        match code:
            case 0 | 1:
                return Message("user", content_of(a, b), address=Address("b") if c == 9 else None)
            case 2:
                return Message("assistant", content_of(a, b), c == 0, agent_id=agent, reply_id=reply)
            case 3 | 4:
                name, arguments = NAMES[b % len(NAMES)], ARGUMENTS[(a + b) % len(ARGUMENTS)]
                new = ToolCall(call_id, name, arguments, agent_id=agent, reply_id=reply)
                return replace(new, arguments='{"input": "ls"}', state=CUSTOM[b % 2]) if c == 8 else new
            case 5 | 6 if call is not None:
                return ToolResult(call.call_id, call.name, content_of(a, b), c % 4 == 0)
            case 5:
                return ToolResult(call_id, "look_up", content_of(a, b))
            case 6 | 7:
                return Message("system" if c % 2 else "developer", content_of(a, b))
            case 8:
                provider = tuple(MODELS)[a % 4]
                data = STATES[b % len(STATES)]
                state = Opaque(provider, MODELS[provider][0] or "m", data, None if c % 2 else "stale")
                return Reasoning(TEXTS[b % len(TEXTS)], state if c % 3 else None, reply, agent_id=agent)
            case 9:
                return ConfigChange(TEXTS[a % len(TEXTS)] or None, ("look_up",) if b % 2 else None)
            case 10:
                return note_of(a, b)
            case _:
                return Handoff("b", reason=TEXTS[a % len(TEXTS)])

    def _edit(self, code: int, a: int, b: int) -> None:
        recorded = self.transcript.recorded()
        if not recorded:
            return
        first, last = sorted((a % len(recorded), b % len(recorded)))
        span = (Span(recorded[first].id, recorded[last].id),)
        edits = [item for item in recorded if isinstance(item, Hide | Summary | Mask | Pin | Distrust | Undo)]
        target = recorded[a % len(recorded)].id
        choices: tuple[Item, ...] = (
            Hide(span),
            Summary("gist of it", span if b % 5 else ()),
            Mask(target, "[cleared]"),
            Pin(target) if b % 2 else Distrust(target),
            Undo(edits[b % len(edits)].id if edits else target),
        )
        self.transcript.append(choices[code])

    def _fork_or_merge(self, a: int, b: int) -> None:
        transcript = self.transcript
        if b % 3 == 0 or not self._children:
            scopes = (
                transcript.fork,
                lambda: fork_scoped(transcript, turns=1 + a % 3),
                lambda: brief("be brief", TEXTS[a % len(TEXTS)] or None),
            )
            self._children.append(transcript)
            self.transcript = scopes[a % 3]()
        else:
            parent, child = self._children.pop(), transcript
            (merge_all if a % 2 else merge_result)(parent, child)
            self.transcript = parent

    def _ask_model(self, a: int, b: int, c: int) -> None:
        """Ask a model on one of the wires, and record its answer."""
        wire = tuple(MODELS)[a % len(MODELS)]
        provider, models = PROVIDERS[wire], [model for model in MODELS[wire] if model]
        model = models[b % len(models)]
        sent = provider.render(self.transcript.view, model=model, tools=TOOLSETS[c % len(TOOLSETS)])
        self.payloads.append(deepcopy(sent.payload))
        parsed = provider.parse(answer(wire, model, a, b, c, len(self.payloads)), sent=sent, model=model)
        self.transcript.extend(parsed.items)


def view_after(steps: list[Step]) -> View:
    """The view of a random conversation."""
    talk = Talk()
    talk.play(steps)
    return talk.transcript.view
