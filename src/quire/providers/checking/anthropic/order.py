"""The order of messages: where instructions may stand, what must not be empty, how the last one may end."""

from quire.providers.checking.anthropic.blocks import THINKING
from quire.providers.checking.anthropic.history import Message, Turn, in_turns
from quire.providers.checking.anthropic.models import Model
from quire.providers.checking.faults import Findings


def check_order(findings: Findings, messages: list[Message], model: Model) -> None:
    """Note messages that are empty, that stand where they must not, or that end as they must not."""
    if messages and messages[0].role == "assistant" and model.wants_user_first():
        findings.add(messages[0].place, "first_message", "the first message is the assistant's")
    for number, message in enumerate(messages):
        if message.role == "system" and not message.directive:
            _check_system(findings, messages, number, model)
    for turn in in_turns(messages):
        _check_end(findings, turn)
    if messages and messages[-1].role == "assistant":
        _check_prefill(findings, messages[-1], model)


def check_emptiness(findings: Findings, messages: list[Message]) -> None:
    """Note messages without content: only the last of the assistant may be without."""
    for message in messages:
        last = message is messages[-1] and message.role == "assistant"
        if not (message.blocks or message.directive or last):
            findings.add(f"{message.place}.content", "empty_content", f"the {message.role} message is empty")


def _check_system(findings: Findings, messages: list[Message], number: int, model: Model) -> None:
    place = messages[number].place
    if model.refuses_system_messages():
        findings.add(place, "system_unsupported", "this model takes instructions at the top only")
    elif number == 0:
        findings.add(place, "system_place", "the first message is a system message: use the system parameter")
    elif not _may_precede_system(messages[number - 1]):
        findings.add(place, "system_place", f"it follows a message of the {messages[number - 1].role}")
    # A system message after this one is noted there.
    elif number + 1 < len(messages) and messages[number + 1].role == "user":
        findings.add(place, "system_place", "it is followed by a message of the user")


def _may_precede_system(message: Message) -> bool:
    if message.role != "assistant":
        return message.role == "user"
    last = message.kinds[-1] if message.kinds else ""
    return last == "server_tool_use" or last.endswith("_tool_result")


def _check_end(findings: Findings, turn: Turn) -> None:
    last = turn.messages[-1]
    if turn.role == "assistant" and last.blocks and last.blocks[-1].kind in THINKING:
        findings.add(last.blocks[-1].place, "thinking_last", "nothing follows this thinking in its turn")


def _check_prefill(findings: Findings, message: Message, model: Model) -> None:
    # An open call is noted as unanswered, and a turn that a server tool paused is continued as it is.
    if not set(message.kinds) <= {"text", *THINKING}:
        return
    if model.refuses_prefill():
        findings.add(message.place, "prefill", "the last message is the assistant's")
        return
    text = message.blocks[-1].fields.get("text") if message.blocks else None
    if isinstance(text, str) and text.strip() and text != text.rstrip():
        findings.add(message.blocks[-1].place, "prefill_whitespace", "the last message ends in whitespace")


def check_thinking_first(findings: Findings, messages: list[Message]) -> None:
    """Note a turn that calls tools and does not start with thinking, for a request that thinks."""
    turns = [turn for turn in in_turns(messages) if turn.role != "system"]
    start = len(turns)
    while start > 0 and (turns[start - 1].role == "assistant" or _has_results(turns[start - 1])):
        start -= 1
    first = next(turns[start].blocks(), None) if start < len(turns) else None
    if first is not None and turns[start].role == "assistant" and first.kind not in THINKING:
        findings.add(first.place, "thinking_first", f"the turn starts with {first.kind}")


def _has_results(turn: Turn) -> bool:
    return any(block.kind == "tool_result" for block in turn.blocks())
