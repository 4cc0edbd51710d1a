"""Gemini: answers, whole or in pieces, to items."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from quire.errors import Damaged
from quire.items import Item, Message, Opaque, Part, Reasoning, ToolCall
from quire.providers.endings import failure_in, settled
from quire.providers.gemini.arguments import arguments_in
from quire.providers.gemini.blocks import (
    field,
    is_bare,
    is_thought,
    listed,
    mapped,
    media_in,
    signature_in,
    text_in,
)
from quire.providers.gemini.called import Called, Calls
from quire.providers.gemini.partial import PartialCall
from quire.providers.gemini.signing import sealed, spoken, whole
from quire.providers.gemini.speech import Speech
from quire.providers.gemini.thoughts import thoughts
from quire.providers.hearing import Hearing, fault_in
from quire.providers.pieces import made_id
from quire.providers.provider import Answer, Finish, Parsed, error_in, plain_json, words_in
from quire.tokens import Usage

_REFUSALS = frozenset(
    (
        *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR"),
        *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
    )
)
_FAILURES = frozenset(
    (
        *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"),
        *("MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE"),
    )
)
"""Ends that are an error of the model: what it meant to call or to say did not come."""

_ANSWERED = ("candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId")
_FINISHES: dict[str, Finish] = {"STOP": "stop", "MAX_TOKENS": "length", "CONTINUATION": "length"}


class _Left(NamedTuple):
    """A part that no item stands for, such as code that the provider ran."""

    part: Mapping[str, Any]
    path: str


class AnswerReader:
    """Reads an answer; `whole` says that nothing more comes than the first event."""

    def __init__(self, answer: Answer, *, whole: bool = False) -> None:
        self._answer = answer
        self._whole = whole
        self._outputs: list[Speech | Called | _Left] = []
        self._calls = Calls(self._outputs)
        self._partial: PartialCall | None = None
        self._chunks = 0
        self._usage: dict[str, Any] = {}
        self._finish: str | None = None
        self._blocked = False
        self._error: str | None = None
        self._hearing = Hearing("a chunk of Gemini")
        self._model: str | None = None
        self._parsed: Parsed | None = None

    def feed(self, event: Any) -> str:
        """Take a response, or a piece of one; the words that it added."""
        told = plain_json(event)
        self._chunks += 1
        self._model = text_in(told, "modelVersion", "$") or self._model
        self._error = self._hearing.fault(event, told, is_known=_is_answer(told)) or self._error
        self._usage |= mapped(field(told, "usageMetadata") or {}, "$.usageMetadata")
        feedback = mapped(field(told, "promptFeedback") or {}, "$.promptFeedback")
        self._blocked = self._blocked or field(feedback, "blockReason") is not None
        candidates = listed(field(told, "candidates") or [], "$.candidates")
        return self._candidate(mapped(candidates[0], "$.candidates[0]")) if candidates else ""

    def close(self) -> Parsed:
        """The answer so far."""
        if self._parsed is None:
            self._drop_calls()
            finish, model = self._finished(), self._model or self._answer.model
            read = [] if self._blocked else self._items()
            # A response in one piece came to its end, also where it does not say why.
            reason = self._finish or ("" if self._whole else None)
            items, error = settled(read, reason, finish, self._error, lost=self._partial is not None)
            error = error or self._hearing.unheard()
            self._parsed = Parsed(tuple(items), _usage(self._usage), finish, model, error)
        return self._parsed

    def _drop_calls(self) -> None:
        """Leave out calls of an answer that the service could not read, and one that may have been longer.

        That is a call which is the last thing of an answer without room, or of one that failed.
        """
        if self._finish in _FAILURES:
            self._outputs[:] = [output for output in self._outputs if not isinstance(output, Called)]
        last = self._outputs[-1] if self._outputs else None
        cut = self._finished() == "length" or failure_in(self._finish)
        if cut and isinstance(last, Called) and not last.in_pieces:
            self._outputs.pop()

    def _candidate(self, candidate: Mapping[str, Any]) -> str:
        reason = field(candidate, "finishReason")
        if reason is not None:
            self._finish = words_in(getattr(reason, "value", reason)) or "OTHER"
            if self._finish in _FAILURES:
                message = words_in(field(candidate, "finishMessage"))
                self._error = error_in({"code": self._finish, "message": message})
        content = mapped(field(candidate, "content") or {}, "$.candidates[0].content")
        path = "$.candidates[0].content.parts"
        parts = listed(field(content, "parts") or [], path)
        return "".join(self._part(mapped(part, path), f"{path}[{at}]") for at, part in enumerate(parts))

    def _part(self, part: Mapping[str, Any], path: str) -> str:
        signature, call = signature_in(part), field(part, "functionCall")
        if call is not None:
            self._call(mapped(call, f"{path}.functionCall"), signature, f"{path}.functionCall")
            return ""
        text, media = text_in(part, "text", path), media_in(part, path)
        if media is not None and signature and is_thought(part):
            self._outputs.append(_Left(part, path))  # no item stands for it: it goes back whole
        elif media is not None:
            self._say(media, signature, is_thought(part))
        elif text is not None:
            self._say(text, signature, is_thought(part))
            return "" if is_thought(part) else text
        elif not is_bare(part):
            self._outputs.append(_Left(part, path))
        elif signature is not None:
            self._say("", signature, is_thought(part))
        return ""

    def _say(self, part: Part, signature: str | None, thought: bool) -> None:
        """Words go on where words stopped."""
        last = self._outputs[-1] if self._outputs else None
        if not isinstance(last, Speech) or last.thought != thought:
            if part == "" and signature is None:
                return
            last = Speech(thought)
            self._outputs.append(last)
        last.add(part, signature, joins=True, exact=self._whole)

    def _call(self, call: Mapping[str, Any], signature: str | None, path: str) -> None:
        more, pieces = field(call, "willContinue"), field(call, "partialArgs")
        if self._partial is None and not more and pieces is None:
            self._calls.add(Called(call, signature, self._chunks))
            return
        if self._partial is None or field(call, "name"):
            self._partial = PartialCall(call, signature)
        self._partial.add(call, path)
        if not more:
            signature = self._partial.signature or signature
            whole_call = self._partial.whole()
            self._calls.add(Called(whole_call, signature, self._chunks, in_pieces=True))
            self._partial = None

    def _items(self) -> list[Item]:
        items: list[Item] = []
        for output in self._outputs:
            if isinstance(output, Called):
                items.append(self._tool_call(output))
            elif isinstance(output, _Left):
                items.append(Reasoning("", self._whole_part(output)))
            elif output.thought or output.is_silent():
                items += self._thoughts(output)
            else:
                items.append(self._message(output))
        return items

    def _whole_part(self, left: _Left) -> Opaque:
        return whole(left.part, self._owner, self._answer.prefix, left.path)

    def _message(self, said: Speech) -> Message:
        return Message("assistant", said.content(), state=spoken(said, self._owner, self._answer.prefix))

    def _thoughts(self, said: Speech) -> list[Item]:
        return thoughts(said, self._owner, self._answer.prefix)

    def _tool_call(self, called: Called) -> ToolCall:
        call = called.call
        name = self._answer.tool(text_in(call, "name", "functionCall") or "unnamed")
        call_id = text_in(call, "id", "functionCall") or made_id()
        arguments = arguments_in(call, "functionCall.args")
        state = sealed([called.signature], self._owner, self._answer.prefix)
        return ToolCall(call_id, name, arguments, state=state)

    @property
    def _owner(self) -> str | None:
        return self._answer.model or self._model

    def _finished(self) -> Finish:
        if self._blocked or self._finish in _REFUSALS:
            return "refused"
        finish = _FINISHES.get(self._finish or "", "other")
        called = any(isinstance(output, Called) for output in self._outputs)
        return "calls" if finish == "stop" and called else finish


def _is_answer(event: Mapping[str, Any]) -> bool:
    return any(field(event, name) is not None for name in _ANSWERED)


def parse(response: Any, answer: Answer) -> Parsed:
    """A whole response as items."""
    body = plain_json(response)
    if body and not _is_answer(body) and fault_in(body) is None:
        raise Damaged("not a response: it has no candidates, nor says why there are none", "$.candidates")
    reader = AnswerReader(answer, whole=True)
    reader.feed(body)
    return reader.close()


def _usage(reported: Mapping[str, Any]) -> Usage | None:
    """Tokens as reported: output with thoughts, input with what the provider's own tools gave."""
    if not reported:
        return None

    def tokens(name: str) -> int:
        count = field(reported, name)
        return count if isinstance(count, int) and count > 0 else 0

    given = tokens("promptTokenCount") + tokens("toolUsePromptTokenCount")
    thought = tokens("thoughtsTokenCount")
    return Usage(
        input=given,
        output=tokens("candidatesTokenCount") + thought,
        cache_read=min(tokens("cachedContentTokenCount"), given),
        reasoning=thought,
    )
