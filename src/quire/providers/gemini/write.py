"""Gemini: writes turns as contents of the user and of the model.

Each message of the user is a content of its own: the wire accepts several in a row, and refuses a content
that mixes results with anything else. Consecutive replies of the model are one content: the wire refuses
calls that do not come directly after a content of the user.
"""

from collections.abc import Sequence
from typing import Any

from quire.items import Item, Message, Reasoning, ToolCall, ToolResult
from quire.providers import rules
from quire.providers.media import Media, as_text, base64_in, bytes_in, sent_type, split_media
from quire.providers.profiles import Profile
from quire.providers.state import GEMINI, is_signature
from quire.providers.tools import Tool, gemini_config
from quire.providers.turns import Pair, Writer
from quire.providers.types import CachePlan
from quire.providers.values import Json
from quire.state import Output

_SYSTEM = "system"  # a role in the draft only: `finish` moves these instructions into the config
_MAX_DEPTH = 64  # levels of arguments that the service accepts


class ContentWriter(Writer):
    """Writes contents."""

    wire = GEMINI
    max_depth = _MAX_DEPTH

    def __init__(self, profile: Profile, tools: Sequence[Tool]) -> None:
        super().__init__(profile, tools)
        self.can_write_fast = not profile.signs_text

    def _write_text_fast(self, role: str, text: str) -> None:
        messages, parts = self.draft.messages, [{"text": text}]
        if role == "user":
            messages.append({"role": role, "parts": parts})
        else:
            self._write_model_parts(parts)

    def finish(self, plan: CachePlan | None) -> dict[str, Any]:
        """The payload. The service caches stable prefixes without being told, so the plan is not used."""
        messages, start = self.draft.messages, 0
        while start < len(messages) and messages[start]["role"] == _SYSTEM:
            start += 1
        contents = messages[start:]
        if not contents or contents[-1]["role"] == "model":
            self.draft.report(None, "turn_added", "there was nothing to answer")
            # Without contents, the turn is the one with which `_write_model_parts` begins a conversation.
            text = rules.CONTINUE if contents else rules.BEGIN
            contents.append({"role": "user", "parts": [{"text": text}]})
        config: Json = {}
        if start:
            parts = [part for message in messages[:start] for part in message["parts"]]
            config["system_instruction"] = {"parts": parts}
        config |= gemini_config(self._tools)
        return {"contents": contents, "config": config} if config else {"contents": contents}

    # --- turns -------------------------------------------------------------------------------------------

    def _write_user(self, parts: list[Json]) -> None:
        self.draft.messages.append({"role": "user", "parts": parts})

    def _write_instructions(self, item: Item, text: str) -> str | None:
        messages = self.draft.messages
        if messages and messages[-1]["role"] != _SYSTEM:
            return "this provider takes instructions at the start only"
        messages.append({"role": _SYSTEM, "parts": [{"text": text}]})
        return None

    def _write_assistant(
        self, outputs: list[Output], calls: list[ToolCall], results: list[ToolResult]
    ) -> None:
        parts = self._model_parts(outputs)
        if parts:
            self._write_model_parts(parts)
        if calls:
            written = [part["functionCall"] for part in parts if "functionCall" in part]
            pairs = zip(results, written, strict=True)
            self._write_user([self._result(result, call) for result, call in pairs])

    def _write_turn_fast(
        self, first: ToolCall, text: str | None, calls: list[Json], results: list[Json]
    ) -> None:
        self._write_model_parts(calls if text is None else [{"text": text}, *calls])
        self._write_user(results)
        if self.profile.signs_calls:
            self._sign_call(first, calls[0])

    def _write_model_parts(self, parts: list[Json]) -> None:
        messages = self.draft.messages
        if messages and messages[-1]["role"] == "model":
            self.draft.open_message()["parts"].extend(parts)
            return
        if not messages or messages[-1]["role"] == _SYSTEM:
            self.draft.report(None, "turn_added", "a conversation begins with the user")
            self._write_user([{"text": rules.BEGIN}])
        messages.append({"role": "model", "parts": parts})

    # --- outputs of the model ----------------------------------------------------------------------------

    def _model_parts(self, outputs: list[Output]) -> list[Json]:
        """The parts of a turn in their order; empty if it has only thoughts."""
        parts: list[Json] = []
        is_first_call = True
        for output in outputs:
            if isinstance(output, ToolCall):
                parts.append(self._call(output, is_first=is_first_call))
                is_first_call = False
            else:
                parts += self._thoughts(output) if isinstance(output, Reasoning) else self._texts(output)
        if not all("thought" in part for part in parts):
            return parts
        for output in outputs if parts else ():
            if isinstance(output, Reasoning):
                self.draft.report(output, "reasoning_left_out", "nothing that was said goes with it")
        return []

    def _texts(self, item: Message) -> list[Json]:
        """The texts and images of a message of the model, with their signatures."""
        raw, media = self.draft.usable_blocks(item), iter(split_media(item.parts)[1])
        # A raw block without text belongs to the next image.
        pairs = [(block, block["text"] if "text" in block else next(media, "")) for block in raw]
        parts: list[Json] = []
        for block, part in pairs or [({}, part) for part in item.parts]:
            text, signature = as_text(part), block.get("thoughtSignature")
            if text or (text is not None and signature):
                written: Json = {"text": text}
            elif not isinstance(part, str) and self._carries_media(item, part):
                written = self._media_part(item, part) or {}
            else:
                continue
            parts.append({**written, "thoughtSignature": signature} if signature else written)
        if self.profile.signs_text:
            self._sign(item, parts)
        if not any(item.parts):
            self.draft.report_empty(item)
        return parts

    def _sign(self, item: Message, parts: list[Json]) -> None:
        """Add the placeholder to the first part and to each image, if they have no signature."""
        signable = [part for index, part in enumerate(parts) if index == 0 or "inlineData" in part]
        unsigned = [part for part in signable if "thoughtSignature" not in part]
        for part in unsigned:
            part["thoughtSignature"] = rules.SIGNATURE_PLACEHOLDER
        if unsigned:
            self.draft.report(item, "state_foreign", "a placeholder stands for this model's signature")

    def _call(self, call: ToolCall, *, is_first: bool) -> Json:
        raw = self.draft.usable_blocks(call)
        name, arguments = self.tool_name(call), self.arguments(call)
        part = self._call_part(self.draft.call_id(call), name, arguments)
        signature = raw[0].get("thoughtSignature") if raw else None
        if is_signature(signature):
            part["thoughtSignature"] = signature
        elif is_first and self.profile.signs_calls:
            self._sign_call(call, part)
        return part

    def _pair(self, call_id: str, name: str, arguments: Any, output: Any, is_error: bool) -> Pair:
        call = {"functionCall": {"id": call_id, "name": name, "args": arguments}}
        response = {"error" if is_error else "output": output}
        return call, {"functionResponse": {"id": call_id, "name": name, "response": response}}

    def _sign_call(self, call: ToolCall, part: Json) -> None:
        """Add the placeholder to a call without a signature.

        The service checks only the calls after the last message of the user. Earlier calls keep the
        placeholder, so that the messages sent before do not change.
        """
        if self.profile.model:
            self.draft.report(call, "state_foreign", "a placeholder stands for this model's signature")
        part["thoughtSignature"] = rules.SIGNATURE_PLACEHOLDER

    def _result(self, result: ToolResult, call: Json) -> Json:
        text, media = split_media(result.parts)
        answer = self._result_part(call["id"], call["name"], text, result.is_error)
        nested = [self._media_part(result, part) for part in media if self._carries_media(result, part)]
        if nested:
            answer["functionResponse"]["parts"] = nested
        return answer

    # --- parts -------------------------------------------------------------------------------------------

    def _text_part(self, text: str) -> Json:
        return {"text": text}

    def _carries_media(self, item: Message | ToolResult, part: Media) -> bool:
        kind = _type_of(part) or ""
        if bytes_in(part) is None:
            return False
        if isinstance(item, ToolResult):
            return "thought_signatures" in self.profile.features and kind in rules.GEMINI_MEDIA_IN_ANSWERS
        return kind in rules.GEMINI_MEDIA_TYPES and kind.startswith("image/")

    def _media_part(self, item: Item, part: Media) -> Json | None:
        url, kind, data = part.url or "", _type_of(part), base64_in(part)
        if kind is not None and kind not in rules.GEMINI_MEDIA_TYPES:
            return None
        if data is not None:
            return {"inlineData": {"mimeType": kind, "data": data}} if kind else None
        if not url.startswith(("gs://", "https://") if self.profile.fetches else "gs://"):
            return None
        # Without a type the service finds it out, as it must for uploaded files and for videos by URL.
        return {"fileData": {"fileUri": url, "mimeType": kind} if kind else {"fileUri": url}}


def _type_of(part: Media) -> str | None:
    kind = sent_type(part)
    if kind is None and part.url is not None and not part.url.startswith("data:"):
        path = part.url.partition("?")[0].partition("#")[0]
        kind = rules.GEMINI_MEDIA_ENDINGS.get(path.rpartition("/")[2].rpartition(".")[2].lower())
    return rules.GEMINI_MEDIA_NAMES.get(kind, kind) if kind else None
