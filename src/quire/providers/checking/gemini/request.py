"""A whole request, or only its contents."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quire.providers.checking.faults import Fault, Findings
from quire.providers.checking.gemini.calls import Pairing, check_alone, check_signatures, check_words_signed
from quire.providers.checking.gemini.history import (
    Content,
    Part,
    read_contents,
    read_part,
    read_parts,
    spelled,
)
from quire.providers.checking.gemini.models import Model
from quire.providers.checking.gemini.parts import check_parts, check_text
from quire.providers.checking.gemini.rules import RULES
from quire.providers.checking.gemini.tools import check_tools
from quire.providers.checking.reading import Fields, as_list, as_object, in_order, opened, short, type_of
from quire.providers.checking.texts import check_texts

# Where a content could not be read, what it would have answered is not known: one cause, one fault.
_UNREADABLE = {
    *("shape", "role", "unknown_field", "several_fields", "empty_part", "empty_parts"),
    *("call_role", "response_role"),
}


def check(payload: Mapping[str, Any] | Sequence[Any], model: str | None = None) -> list[Fault]:
    """Everything in a request to generateContent that would be refused or misread, by place.

    Takes the keyword arguments of `models.generate_content`, the JSON body, or the list of contents alone, in
    either spelling; without `model`, the name in the payload is used.
    """
    findings = Findings(RULES)
    values = {"contents": payload} if as_list(payload) is not None else as_object(payload)
    if values is None:
        findings.add("", "shape", f"must be an object or a list of contents, is {type_of(payload)}")
        return findings.faults
    body = Fields(findings, "", values)
    name = body.get("model") if model is None else model
    known = Model(name if isinstance(name, str) else None)
    _check_contents(body, known)
    for settings in _settings(body):
        _check_system(settings)
        check_tools(settings, known)
    check_texts(findings, values)
    return in_order(findings.faults)


def _settings(body: Fields) -> Iterator[Fields]:
    # On the wire, instructions and tools stand beside the contents; the client has them in `config`.
    yield body
    if body.get("config") is not None:
        config = opened(body.findings, "config", body.get("config"))
        if config is not None:
            yield config


def _continues_cache(body: Fields) -> bool:
    config = Fields(body.findings, "config", as_object(body.get("config")) or {})
    return any(fields.get(spelled(fields, "cachedContent")) is not None for fields in (body, config))


def _check_contents(body: Fields, model: Model) -> None:
    findings = body.findings
    contents = read_contents(findings, body.get("contents"))
    for content in contents:
        check_parts(content)
    if any(fault.rule in _UNREADABLE for fault in findings.faults):
        return
    cached = _continues_cache(body)
    Pairing(findings, after_cache=cached).check(contents)
    if model.wants_signatures():
        check_signatures(findings, contents)
    if model.wants_words_signed():
        check_words_signed(findings, contents)
    check_alone(findings, contents, ends_with_user=model.ends_with_user())
    _check_end(findings, contents, model, after_cache=cached)


def _check_end(findings: Findings, contents: list[Content], model: Model, *, after_cache: bool) -> None:
    if not contents or contents[-1].role != "model" or contents[-1].calls:
        return
    if (len(contents) == 1 and not after_cache) or model.ends_with_user():
        findings.add(contents[-1].place, "ends_with_model", "the last content is the model's")


def _check_system(settings: Fields) -> None:
    key = spelled(settings, "systemInstruction")
    value, place = settings.get(key), settings.at(key)
    for part in () if value is None else _instructions(settings.findings, place, value):
        if part.kind == "text":
            check_text(part)
        else:
            part.fields.add("", "system_content", f"{short(part.kind)} among the instructions")


def _instructions(findings: Findings, place: str, value: Any) -> Iterator[Part]:
    if isinstance(value, str):
        yield Part(place, "text", value, Fields(findings, place, {"text": value}))
    elif as_list(value) is not None:
        for index, item in enumerate(as_list(value) or ()):
            yield from _instructions_in_list(findings, f"{place}[{index}]", item)
    elif (as_object(value) or {}).get("text") is not None:
        yield from read_part(findings, place, value)
    else:
        fields = opened(findings, place, value)
        if fields is not None:
            yield from read_parts(fields)


def _instructions_in_list(findings: Findings, place: str, value: Any) -> Iterator[Part]:
    if isinstance(value, str):
        yield Part(place, "text", value, Fields(findings, place, {"text": value}))
    else:
        yield from read_part(findings, place, value)
