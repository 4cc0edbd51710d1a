"""The checks of Gemini's generateContent, for the arguments of the client or the JSON of a request."""

from collections import Counter
from typing import Any

from quire.providers import rules
from quire.providers.check.core import (
    Fields,
    Findings,
    Turn,
    check_file_type,
    check_name,
    check_texts,
    short,
    version_in,
)
from quire.providers.check.schema import check_arrays, check_parameters, check_schema
from quire.providers.gemini.read import camel_case
from quire.providers.profiles import cloud_of
from quire.providers.values import Json, entries_in, fields_in
from quire.tokens import facts_for

_CALL, _RESPONSE = "functionCall", "functionResponse"
_CONTENT_FIELDS = (
    *("text", "inlineData", "fileData", _CALL, _RESPONSE, "executableCode"),
    *("codeExecutionResult", "toolCall", "toolResponse"),
)
"""The fields of which a part has exactly one."""
_META_FIELDS = frozenset(("thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution"))
_UNREADABLE = (
    *("shape", "role", "unknown_field", "several_fields", "empty_part", "empty_parts"),
    *("call_role", "response_role"),
)
"""After these faults order is not checked: an unreadable part may be a call or a response."""


class ModelRules:
    """The rules of one model, found by its name; none of them applies if the name is unknown."""

    def __init__(self, name: str) -> None:
        # The row in the facts of models has the version of `gemini-flash-latest`.
        row = facts_for(name).prefix if name else ""
        version = max(version_in(name, "gemini"), version_in(row, "gemini"))
        on_vertex = cloud_of(name) == "vertex"
        self.signs_calls = version >= (3, 0) and "image" not in name
        self.signs_text = version >= (3, 0) and "image" in name and not on_vertex
        self.mixes_tools = not (0, 0) < version < (3, 0) and not on_vertex
        self.must_end_with_user = version > (3, 1)


def check_request(request: Fields, model_name: str) -> None:
    """Find what generateContent refuses or misreads in a request."""
    body, model = request.within("", _as_sent(request.values)), ModelRules(model_name)
    body.check("request")
    contents = [_read_content(content) for content in body.children("contents")]
    if not body.findings.has_any(_UNREADABLE):
        is_cached = body.has("cachedContent")
        _check_pairs(contents, after_cache=is_cached)
        _check_signatures(contents, model)
        _check_end(body.findings, contents, model, after_cache=is_cached)
    for part in _read_content(body.child("systemInstruction")).parts:
        if part.kind != "text":
            part.add("", "system_content", f"{short(part.kind)} in the instructions")
    _check_tools(body, model)
    check_texts(body)


# The request as the client sends it.


def _as_sent(values: Json) -> Json:
    """The body that the client sends: with the fields of `config` at the top, and names in camel case."""
    body = fields_in(camel_case({**values, **fields_in(values.get("config"))}))
    if body.get("contents") is not None:
        body["contents"] = _as_contents(body["contents"])
    if body.get("systemInstruction") is not None:
        contents = _as_contents(body["systemInstruction"])
        parts = [part for content in contents for part in entries_in(fields_in(content).get("parts"))]
        body["systemInstruction"] = {"parts": parts} if len(contents) > 1 else (contents or [None])[0]
    if isinstance(body.get("tools"), list):  # the client declares Python functions itself
        body["tools"] = [tool for tool in body["tools"] if not callable(tool)]
    return body


def _as_contents(value: Any) -> list[Any]:
    """A list of contents. Like the client, this accepts texts and parts in place of contents."""
    contents = list[Any]()
    for content in entries_in(value) or ([] if value == [] else [value]):
        part = {"text": content} if isinstance(content, str) else fields_in(content)
        is_part = "parts" not in part and not part.keys().isdisjoint(_CONTENT_FIELDS)
        contents.append({"parts": [part]} if is_part else content)
    return contents


# Single contents.


def _read_content(content: Fields) -> Turn:
    parts, role = content.children("parts"), content.get("role")
    for part in parts:
        names = [name for name in part.names() if name in _CONTENT_FIELDS]
        part.kind = names[0] if names else ""  # parts of newer models may have other fields
        if len(names) > 1:
            part.add("", "several_fields", f"the part holds {' and '.join(names)}")
        elif not names and _META_FIELDS.issuperset(part.names()):
            part.add("", "empty_part")
        elif part.get("text") == "" and not part.get("thoughtSignature"):
            part.add("", "empty_text")
        if part.kind in ("inlineData", _RESPONSE):
            _check_file_type(part)
    turn = Turn(content.place, "model" if role == "model" else "user", parts)
    _check_roles(turn, role)
    return turn


def _check_file_type(part: Fields) -> None:
    for inner in (part, *part.child(_RESPONSE).children("parts")):
        inline = inner.child("inlineData")
        check_file_type(inline, "media_type", inline.get("mimeType"), inline.get("data"))


def _check_roles(content: Turn, role: Any) -> None:
    calls, responses = content.parts_of(_CALL), content.parts_of(_RESPONSE)
    if role in ("function", "tool") and len(responses) < len(content.parts):
        content.parts[0].add("", "role", f"role {short(role)} is for responses only")
    if calls and (responses or content.role == "user"):
        calls[0].add("", "call_role")
    elif responses and content.role == "model":
        responses[0].add("", "response_role")


# Order: calls and responses, signatures, the end.


def _check_pairs(contents: list[Turn], *, after_cache: bool) -> None:
    """Pair calls with the responses in the next content by name. A cache may hold earlier contents."""
    for before, content, after in zip([None, *contents], contents, [*contents[1:], None], strict=False):
        calls, responses = content.parts_of(_CALL), content.parts_of(_RESPONSE)
        is_first = before is None and not after_cache
        if calls and (is_first or (before and before.role == "model")):
            calls[0].add("", "call_place")
        if calls and not (after and after.parts_of(_RESPONSE)):
            calls[0].add("", "unanswered_call")
        if responses and (is_first or (before and not before.parts_of(_CALL))):
            responses[0].add("", "orphan_result")
        elif responses and before:
            _check_responses(before.parts_of(_CALL), responses)
        others = [part for part in content.parts if part.kind != _RESPONSE]
        if responses and others:
            others[0].add("", "responses_mixed")


def _check_responses(calls: list[Fields], responses: list[Fields]) -> None:
    names = Counter(map(_name, calls))
    if len(responses) != len(calls):
        responses[0].add("", "response_count", f"{len(responses)} responses to {len(calls)} calls")
        return
    for response in responses:
        names[_name(response)] -= 1
        if names[_name(response)] < 0:
            response.add("", "response_name", f"{_name(response)} was not called, or not so often")


def _name(part: Fields) -> str:
    return short(part.child(part.kind).get("name"))


def _check_signatures(contents: list[Turn], model: ModelRules) -> None:
    """Check the signatures of calls since the last user message, and of the model's texts and images."""
    since_user, follows_calls = contents, False
    for index, content in enumerate(contents):
        if content.role == "user" and content.parts != content.parts_of(_RESPONSE):
            since_user = contents[index + 1 :]
    for content in since_user if model.signs_calls else ():
        calls = content.parts_of(_CALL)
        # Calls that were split have a fault of their own.
        if calls and not follows_calls and not calls[0].get("thoughtSignature"):
            calls[0].add("", "thought_signature", f"call of {_name(calls[0])} has none")
        follows_calls = bool(calls)
    for content in contents if model.signs_text else ():
        parts = [part for part in content.parts if part.get("thought") is not True]
        for index, part in enumerate(parts if content.role == "model" else ()):
            must_be_signed = part.kind == "inlineData" or (part.kind == "text" and index == 0)
            if must_be_signed and not part.get("thoughtSignature"):
                part.add("", "words_signature")


def _check_end(findings: Findings, contents: list[Turn], model: ModelRules, *, after_cache: bool) -> None:
    is_refused = model.must_end_with_user or (len(contents) == 1 and not after_cache)
    if contents and contents[-1].role == "model" and not contents[-1].parts_of(_CALL) and is_refused:
        findings.add(contents[-1].place, "ends_with_model")


# Tools.


def _check_tools(body: Fields, model: ModelRules) -> None:
    names, has_others, limit = list[Any](), False, rules.GEMINI_FUNCTION_COUNT
    for tool in body.children("tools"):
        has_others |= any(name != "functionDeclarations" for name in tool.names())
        for declaration in tool.children("functionDeclarations"):
            check_name(declaration, names)
            check_schema(declaration, "parametersJsonSchema")
            if declaration.has("parameters") and declaration.has("parametersJsonSchema"):
                declaration.add("parametersJsonSchema", "tool_schema", "the parameters are given twice")
            elif declaration.get("parameters") and check_parameters(declaration, "parameters"):
                check_arrays(declaration, "parameters")
    if len(names) > limit:
        body.add("tools", "tool_count", f"{len(names)} functions, more than {limit}")
    is_allowed = body.child("toolConfig").get("includeServerSideToolInvocations") is True
    if names and has_others and not (is_allowed and model.mixes_tools):
        body.add("tools", "tools_mixed")
