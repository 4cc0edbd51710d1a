"""The description of the service in OpenAPI 3.1, made of what the routes say of themselves."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "_operation"

_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {name: {"type": "string"} for name in ("type", "title", "detail")}
    | {"status": {"type": "integer"}},
}

_JOB = {
    "Idempotency-Key": "the same key again is the same job",
    "Prefer": "`wait=30` waits so many seconds for the answer",
    "Accept": "`text/event-stream` is answered by the events of the job",
}


class Operation(NamedTuple):
    """Something that can be asked of the service."""

    method: str
    path: str
    name: str
    summary: str
    body: type | None = None
    answer: type | None = None
    status: int = 200
    query: Mapping[str, str] = {}
    is_job: bool = False
    """Whether a model answers: the client chooses how it waits."""


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
    kinds = list({kind: None for one in operations for kind in (one.body, one.answer) if kind is not None})
    made, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schemas, paths = dict(zip(kinds, made, strict=True)), dict[str, dict[str, Any]]()
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _described(one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Quire", "version": "1"},
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": _PROBLEM},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}, {}],
    }


def _described(one: Operation, schemas: Mapping[type, Any]) -> dict[str, Any]:
    where = {
        "path": dict.fromkeys(re.findall(r"{(\w+)}", one.path), "percent-encoded"),
        "query": one.query,
        "header": _JOB if one.is_job else {},
    }
    parameters = [
        {"name": name, "in": at, "required": at == "path", "description": text, "schema": {"type": "string"}}
        for at, of in where.items()
        for name, text in of.items()
    ]
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    answer = {} if one.answer is None else {"content": {"application/json": {"schema": schemas[one.answer]}}}
    told: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "parameters": parameters,
        "responses": {
            str(one.status): {"description": "Done.", **answer},
            "default": {"description": "It was refused, or failed.", "content": problem},
        },
    }
    if one.is_job:
        told["responses"]["202"] = {"description": "Accepted: `job`, `version`, and where its `events` are."}
    if one.body is not None:
        content = {"application/json": {"schema": schemas[one.body]}}
        told["requestBody"] = {"required": True, "content": content}
    return told
