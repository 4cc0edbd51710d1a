"""A model that plays a part: what it says is written beforehand, or is said live by a small real model."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple, Unpack

import msgspec

from quire.errors import ModelFailed
from quire.items import Message, ToolCall, new_id
from quire.models import Answering, Asks, Delta, Local, Scripted, Terms, scripted_answer
from quire.providers import HISTORY, Parsed, Rendered
from quire.tokens import Definition, Usage, read_definition

_SENTENCE_ENDS = ".!?"


class Cue(NamedTuple):
    """What is said next. Where that is live, the words are those of the real model, `most` tokens of them.

    A call that is live is forced by the schema of its tool; `among` narrows what its arguments may be.
    """

    reply: str | ToolCall
    is_live: bool = False
    among: Mapping[str, Sequence[str]] = {}
    most: int = 32


class Embedded:
    """The real model, and what it may still take: so many calls, and seconds from now."""

    def __init__(self, model: Local, seconds: float, calls: int) -> None:
        self.model = model
        self.calls_left = calls
        self._until = monotonic() + seconds

    @property
    def is_ready(self) -> bool:
        """Whether it may be asked once more."""
        return self.calls_left > 0 and monotonic() < self._until

    async def pieces(
        self, rendered: Rendered, **terms: Unpack[Terms]
    ) -> AsyncGenerator[Delta | Parsed, None]:
        """Its words as they come, then the whole; when the time is over, what came until then."""
        self.calls_left -= 1
        answering = self.model.send(rendered, **terms)
        deltas = answering.deltas()
        try:
            while True:
                async with asyncio.timeout(self._until - monotonic()):
                    piece = await anext(deltas, None)
                if piece is None:
                    break
                yield piece
        except (TimeoutError, ModelFailed):
            pass  # the part is played to its end all the same
        yield await answering.close()


class Stage(Asks):
    """Says what it was cued to say.

    `was_live` tells whether the last answer was the real model's, and `usage` what that took.
    """

    wire = Local.wire

    def __init__(self, embedded: Embedded | None, *cues: Cue) -> None:
        self._embedded = embedded
        self._cues = deque(cues)
        self.name = "scripted" if embedded is None else embedded.model.name
        self.was_live = False
        self.usage: Usage | None = None
        self.tools_told = ""
        """How the real model was told of its tools."""

    def cue(self, *cues: Cue) -> None:
        """Say what comes next."""
        self._cues.extend(cues)

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """The answer that was cued."""
        cue = self._cues.popleft() if self._cues else Cue("…")
        self.was_live = cue.is_live and self._embedded is not None and self._embedded.is_ready
        if not self.was_live or self._embedded is None:
            return self._scripted(cue, rendered)
        return scripted_answer(self._played(cue, rendered, self._embedded), self.name)

    def _scripted(self, cue: Cue, rendered: Rendered) -> Answering:
        return Scripted([cue.reply], name=self.name).send(rendered)

    async def _played(
        self, cue: Cue, rendered: Rendered, embedded: Embedded
    ) -> AsyncGenerator[Delta | Parsed, None]:
        """What the real model says; what is written, where nothing comes of it."""
        call = cue.reply if isinstance(cue.reply, ToolCall) else None
        terms: Terms = {"max_tokens": cue.most}
        if call is not None:
            terms["output"] = _forced(rendered, call.name, cue.among)
        said = Parsed(())
        self.tools_told = _told(rendered.payload.get("tools", ()))
        async for piece in embedded.pieces(_in_words(rendered, self.tools_told), **terms):
            if isinstance(piece, Parsed):
                said = piece
            elif call is None:
                yield piece
        self.usage = said.usage
        played = _called(said, call) if call is not None else _ended(said)
        if played is None:
            self.was_live = False
            played = await self._scripted(cue, rendered).whole()
        yield played


def _called(said: Parsed, call: ToolCall) -> Parsed | None:
    """The words as the arguments of a call; none where they are not whole."""
    try:
        arguments: Any = msgspec.json.decode(_text(said))
    except msgspec.DecodeError:
        return None
    made = ToolCall(f"call_{new_id()}", call.name, msgspec.json.encode(arguments).decode())
    return said._replace(items=(made,), finish="calls")


def _ended(said: Parsed) -> Parsed | None:
    """The words up to the end of a sentence: a small model may not find one by itself."""
    text = _text(said).strip()
    end = max(text.rfind(sign) for sign in _SENTENCE_ENDS) + 1
    words = text if said.finish == "stop" else text[:end] or text
    return said._replace(items=(Message("assistant", words),), finish="stop") if words else None


def _text(said: Parsed) -> str:
    return "".join(item.text for item in said.items if isinstance(item, Message))


def _forced(rendered: Rendered, name: str, among: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
    """The schema of a tool's arguments, with nothing in it that may be left out."""
    parameters = next(
        schema for found, _, schema in map(read_definition, rendered.payload["tools"]) if found == name
    )
    needed = parameters.get("required", ())
    properties = {field: dict(parameters["properties"][field]) for field in needed}
    for field, values in among.items():
        properties[field]["enum"] = list(values)
    return {
        "type": "object",
        "properties": properties,
        "required": list(needed),
        "additionalProperties": False,
    }


def _told(tools: Sequence[Definition]) -> str:
    """Tools in words, a line for each."""
    found = map(read_definition, tools)
    lines = [f"- {name}({', '.join(schema.get('properties', ()))}): {use}" for name, use, schema in found]
    return "\n".join(("Tools:", *lines)) if lines else ""


def _in_words(rendered: Rendered, tools: str) -> Rendered:
    """The payload with its tools told in the first message: the model's template has no place for them."""
    payload, history = dict(rendered.payload), HISTORY[Stage.wire]
    payload.pop("tools", None)
    if tools:
        first, *rest = payload[history]
        payload[history] = [{**first, "content": f"{first['content']}\n{tools}"}, *rest]
    return Rendered(payload, rendered.downgrades, rendered.names, lambda: "", rendered.model)
