"""What models that think want back with their calls, on services that are not OpenAI's."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quire.providers.checking.openai_chat.naming import IN_ID
from quire.providers.checking.reading import Fields, as_list, as_object

_HOLDERS = ("extra_content", "provider_specific_fields")
_SIGNATURES = ("thought_signature", "thought_signatures")

Messages = Sequence[Mapping[str, Any]]


def check_thoughts(body: Fields, messages: Messages, *, always: bool, gateway: bool) -> None:
    """Note calls without the thoughts that came before them, unless the request is one without thinking.

    With `always`, plain answers have theirs too, where the request has tools or any were called. A `gateway`
    has other names for them.
    """
    if _is_without_thinking(body) or _is_without_thinking(as_object(body.get("extra_body")) or {}):
        return
    calling = [_first_call(message) is not None for message in messages]
    always = always and (bool(as_list(body.get("tools"))) or any(calling))
    for place, (message, calls) in enumerate(zip(messages, calling, strict=True)):
        wanted = calls or (always and message.get("role") == "assistant")
        if wanted and not _is_thought(message, gateway):
            text = f"is missing beside {'a call' if calls else 'an answer, and there are tools'}"
            body.add(f"messages[{place}].reasoning_content", "thoughts_for_model", text)


def _is_without_thinking(request: Mapping[str, Any] | Fields) -> bool:
    """Whether a request switches thinking off, in the words of one service or of another."""
    thinking, reasoning = (as_object(request.get(name)) or {} for name in ("thinking", "reasoning"))
    efforts = (request.get("reasoning_effort"), reasoning.get("effort"))
    is_off = thinking.get("type") == "disabled" or reasoning.get("enabled") is False
    return is_off or "none" in efforts


def check_signatures(body: Fields, messages: Messages) -> None:
    """Note messages since the user spoke whose first call has no signature."""
    spoken = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    for place in range(spoken[-1] if spoken else 0, len(messages)):
        message = messages[place]
        call = _first_call(message)
        if call is not None and not _is_signed(message, call):
            body.add(f"messages[{place}].tool_calls[0]", "signature_for_model", "has no signature")


def _first_call(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    calls = as_list(message.get("tool_calls")) if message.get("role") == "assistant" else None
    return as_object(calls[0]) if calls else None


def _is_thought(message: Mapping[str, Any], gateway: bool) -> bool:
    """Whether a message has its thoughts, of which there may be none, or has them where a gateway does."""
    if isinstance(message.get("reasoning_content"), str) or as_list(message.get("reasoning_details")):
        return True
    return gateway and isinstance(message.get("reasoning"), str)


def _is_signed(message: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    """Whether a call has its signature, or its message has it where a gateway puts it."""
    call_id = call.get("id")
    if as_list(message.get("reasoning_details")) or (isinstance(call_id, str) and IN_ID in call_id):
        return True
    return any(one.get(name) for holder in (call, message) for one in _held(holder) for name in _SIGNATURES)


def _held(holder: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The objects that may have a signature, which some services have one object deeper."""
    for field in (as_object(holder.get(name)) or {} for name in _HOLDERS):
        yield field
        yield from (inner for value in field.values() if (inner := as_object(value)) is not None)
