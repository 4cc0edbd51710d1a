"""The description of the service in OpenAPI 3.1, made from the table of what can be asked."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "_operation"

_PROBLEM = {
    "type": "object",
    "description": "What is wrong, as RFC 9457 has it.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}

_EVENTS = (
    "Events: `accepted`, `begun`, `item`, `words`, `thoughts`, `call`, `ended`, `reset`. "
    "Each has an id; Last-Event-ID goes on after it."
)

_JOB_HEADERS = {
    "Idempotency-Key": "The same key again is the same job.",
    "Prefer": "`wait=30` waits so many seconds for the answer.",
}


class Operation(NamedTuple):
    """Something that can be asked of the service."""

    method: str
    path: str
    name: str
    summary: str
    body: type | None = None
    answers: Mapping[int, type | None] = {200: None}
    query: Mapping[str, str] = {}
    is_job: bool = False
    """Whether a model answers: the client chooses how it waits."""
    is_stream: bool = False
    """Whether it is answered by events."""


def operation(method: str, path: str, **rest: Any) -> Callable[[F], F]:
    """Say how a route is asked; its summary is the docstring."""

    def named(route: F) -> F:
        summary = (route.__doc__ or "").partition("\n")[0]
        setattr(route, _MARK, Operation(method, path, route.__name__, summary, **rest))
        return route

    return named


def operations_of(routes: type) -> list[Operation]:
    """What the routes of a class can be asked, in their order."""
    return [getattr(route, _MARK) for route in vars(routes).values() if hasattr(route, _MARK)]


def description(operations: Sequence[Operation]) -> dict[str, Any]:
    """The OpenAPI document."""
    kinds = [one.body for one in operations if one.body is not None]
    kinds += [kind for one in operations for kind in one.answers.values() if kind is not None]
    schemas, components = msgspec.json.schema_components(
        list(dict.fromkeys(kinds)), ref_template="#/components/schemas/{name}"
    )
    by_kind = dict(zip(dict.fromkeys(kinds), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, by_kind)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Quire", "version": "1", "license": {"name": "MIT"}},
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": _PROBLEM},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}, {}],
    }


def _operation(one: Operation, schemas: Mapping[type, Mapping[str, Any]]) -> dict[str, Any]:
    parameters = [_parameter(name, "path", "") for name in re.findall(r"{(\w+)}", one.path)]
    parameters += [_parameter(name, "query", text) for name, text in one.query.items()]
    if one.is_job:
        parameters += [_parameter(name, "header", text) for name, text in _JOB_HEADERS.items()]
    responses: dict[str, Any] = {}
    for status, kind in one.answers.items():
        content = {} if kind is None else {"content": {"application/json": {"schema": schemas[kind]}}}
        responses[str(status)] = {"description": _described(kind), **content}
    if one.is_stream or one.is_job:
        answer = responses.setdefault("200", {"description": _EVENTS})
        answer.setdefault("content", {})["text/event-stream"] = {"schema": {"type": "string"}}
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    responses["default"] = {"description": "It was refused, or failed.", "content": problem}
    made: dict[str, Any] = {"operationId": one.name, "summary": one.summary, "responses": responses}
    if parameters:
        made["parameters"] = parameters
    if one.body is not None:
        made["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schemas[one.body]}},
        }
    return made


def _described(kind: type | None) -> str:
    return "Done." if kind is None else (kind.__doc__ or "").partition("\n")[0]


def _parameter(name: str, where: str, text: str) -> dict[str, Any]:
    found = {"name": name, "in": where, "required": where == "path", "schema": {"type": "string"}}
    return {**found, "description": text} if text else found
