"""A whole request, or only its messages."""

from collections.abc import Mapping, Sequence
from typing import Any

from quire.providers.checking.anthropic.blocks import check_block, check_blocks
from quire.providers.checking.anthropic.caching import check_caching
from quire.providers.checking.anthropic.calls import Pairing
from quire.providers.checking.anthropic.clouds import check_clouds
from quire.providers.checking.anthropic.foreign import check_request_fields
from quire.providers.checking.anthropic.history import Message, in_turns, read_blocks, read_messages
from quire.providers.checking.anthropic.models import Model
from quire.providers.checking.anthropic.order import check_emptiness, check_order, check_thinking_first
from quire.providers.checking.anthropic.pictures import check_pictures, check_sight
from quire.providers.checking.anthropic.programs import Programs, names_container
from quire.providers.checking.anthropic.questions import Questions
from quire.providers.checking.anthropic.rules import RULES
from quire.providers.checking.anthropic.settings import check_citations, check_edits
from quire.providers.checking.anthropic.tools import check_tools
from quire.providers.checking.faults import Fault, Findings
from quire.providers.checking.reading import Fields, as_list, as_object, in_order, short, type_of
from quire.providers.checking.texts import check_texts

# Where a message could not be read, what it would have answered is not known: one cause, one fault.
_UNREADABLE = {"shape", "role", "unknown_block", "block_role"}

_INTERLEAVED = "interleaved-thinking"


def check(payload: Mapping[str, Any] | Sequence[Any], model: str | None = None) -> list[Fault]:
    """Everything in a request to the Messages API that would be refused or misread, by place.

    Takes the keyword arguments of `messages.create`, the JSON body, or the list of messages alone; without
    `model`, the name in the payload is used.
    """
    findings = Findings(RULES)
    values = {"messages": payload} if as_list(payload) is not None else as_object(payload)
    if values is None:
        findings.add("", "shape", f"must be an object or a list of messages, is {type_of(payload)}")
        return findings.faults
    body = Fields(findings, "", values)
    name = body.get("model") if model is None else model
    known = Model(name if isinstance(name, str) else None)
    # Of messages alone nobody can tell what else is sent.
    contained = as_list(payload) is not None or names_container(body.get("container"))
    messages = _check_messages(body, known, contained=contained)
    _check_system(body)
    check_tools(body)
    check_request_fields(body)
    _check_budget(body)
    check_edits(body)
    check_caching(findings, values, messages)
    check_clouds(body, messages, known)
    if "model" in values:
        _check_max_tokens(body)
    size = check_texts(findings, values)
    most = known.largest_request()
    if size > most:
        findings.add("messages", "request_size", f"{size} characters in all, more than {most}")
    return in_order(findings.faults)


def _check_messages(body: Fields, model: Model, *, contained: bool) -> list[Message]:
    findings = body.findings
    messages = read_messages(findings, body.get("messages"))
    images = sum(check_blocks(message, signed=model.signs_thinking()) for message in messages)
    check_citations(findings, messages)
    check_sight(findings, messages, model)
    check_pictures(findings, messages, model, images)
    if images > model.most_images():
        findings.add("messages", "image_count", f"{images} images, more than {model.most_images()}")
    if any(fault.rule in _UNREADABLE for fault in findings.faults):
        return messages
    check_emptiness(findings, messages)
    check_order(findings, messages, model)
    turns = in_turns(messages)
    Pairing(findings).check(turns)
    Questions(findings).check(turns)
    Programs(findings).check(turns, contained=contained)
    thinking = as_object(body.get("thinking")) or {}
    refused = messages and messages[-1].role == "assistant" and model.refuses_prefill()
    if thinking.get("type") == "enabled" and not refused:
        # Adaptive thinking does not ask for it.
        check_thinking_first(findings, messages)
    return messages


def _check_system(body: Fields) -> None:
    system = body.get("system")
    if system is None or isinstance(system, str):
        return
    if as_list(system) is None:
        body.add(
            "system", "system_content", f"must be a string or a list of text blocks, is {type_of(system)}"
        )
        return
    for block in read_blocks(body.findings, "system", system, 0):
        if block.kind != "text":
            block.fields.add("type", "system_content", f"{short(block.kind)} among the instructions")
        elif block.fields.get("text") == "":
            check_block(block)


def _check_budget(body: Fields) -> None:
    budget, most = (as_object(body.get("thinking")) or {}).get("budget_tokens"), body.get("max_tokens")
    betas = as_list(body.get("betas")) or ()
    headers = (as_object(body.get("extra_headers")) or {}).values()
    between = any(isinstance(name, str) and _INTERLEAVED in name for name in (*betas, *headers))
    if isinstance(budget, int) and isinstance(most, int) and budget >= most and not between:
        text = f"{budget} tokens to think, of {most} in all"
        body.add("thinking.budget_tokens", "thinking_budget", text)


def _check_max_tokens(body: Fields) -> None:
    most = body.get("max_tokens")
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        body.add("max_tokens", "max_tokens", "must be a number of at least 1")
