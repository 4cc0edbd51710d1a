"""The description of the service in OpenAPI 3.1, generated from the types of the routes."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from quire.items import Item
from quire.service.events import ITEM, EventResponse
from quire.service.problems import ProblemDocument
from quire.service.service import json_response

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "_operation"


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """An accepted job: the version of the conversation before it, and the address of its events."""

    job: str
    version: int
    events: str


_JOB_HEADERS = {
    "Idempotency-Key": "a request with the key of an earlier one returns the job of that request",
    "Prefer": "`wait=30` waits up to 30 seconds for the answer",
    "Accept": "`text/event-stream` returns the events of the job",
}


class Operation(NamedTuple):
    """An operation of the service."""

    method: str
    path: str
    name: str
    summary: str
    responses: Sequence[type]
    body: type | None = None
    status: int = 200
    query: type | None = None
    is_job: bool = False
    """Whether it submits a job: the client chooses how to wait for the answer."""


def operation(method: str, path: str, **rest: Any) -> Callable[[F], F]:
    """Declare the operation of a route. Its docstring is the summary, its return type the response."""

    def decorate(route: F) -> F:
        summary, kind = (route.__doc__ or "").partition("\n")[0], get_type_hints(route)["return"]
        kinds = get_args(kind) if get_origin(kind) is UnionType else (kind,)
        declared = Operation(method, path, route.__name__, summary, kinds, **rest)

        @wraps(route)
        async def answer(self: Any, request: Request) -> Response:
            result = await route(self, request)
            if isinstance(result, Response):
                return result
            if result is None:
                return Response(status_code=204)
            return json_response(result, 202 if isinstance(result, Accepted) else declared.status)

        setattr(answer, _MARK, declared)
        return answer  # type: ignore[return-value]

    return decorate


def routes_of(routes: object) -> list[Route]:
    """The routes of an object whose methods are operations, in their order."""
    declared = [(name, getattr(method, _MARK, None)) for name, method in vars(type(routes)).items()]
    return [Route(op.path, getattr(routes, name), methods=[op.method]) for name, op in declared if op]


def description(routes: Sequence[Any]) -> dict[str, Any]:
    """The OpenAPI document of routes."""
    operations = [op for route in routes if (op := getattr(route.endpoint, _MARK, None)) is not None]
    kinds: dict[Any, None] = {ProblemDocument: None, Item: None}
    kinds |= dict.fromkeys(kind for op in operations for kind in (op.body, *op.responses) if _is_json(kind))
    references, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schemas, paths = dict(zip(kinds, references, strict=True)), dict[str, dict[str, Any]]()
    for op in operations:
        paths.setdefault(op.path, {})[op.method.lower()] = _describe(op, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Quire", "version": "1"},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": {**components, ITEM: schemas[Item]},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}, {}],
    }


def _is_json(kind: Any) -> bool:
    return kind not in (None, NoneType) and not (isinstance(kind, type) and issubclass(kind, Response))


def _describe(op: Operation, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    names = [("path", name, "percent-encoded") for name in re.findall(r"{(\w+)}", op.path)]
    names += [("header", *header) for header in _JOB_HEADERS.items()] if op.is_job else []
    parameters = [
        {"name": name, "in": at, "required": at == "path", "description": text, "schema": {"type": "string"}}
        for at, name, text in names
    ]
    for field in msgspec.structs.fields(op.query) if op.query is not None else ():
        schema = msgspec.json.schema(field.type)
        parameters.append({"name": field.name, "in": "query", "schema": schema})
    responses: dict[str, Any] = {}
    for kind in op.responses:
        status = "202" if kind is Accepted else "204" if kind is NoneType else str(op.status)
        response = responses.setdefault(status, {"description": "Accepted." if kind is Accepted else "Done."})
        if _is_json(kind):
            response.setdefault("content", {})["application/json"] = {"schema": schemas[kind]}
        elif kind is not NoneType:
            media = EventResponse.media_type if kind is EventResponse else "text/plain"
            response.setdefault("content", {})[media] = {"schema": {"type": "string"}}
    problem = {"application/problem+json": {"schema": schemas[ProblemDocument]}}
    responses["default"] = {"description": "It was refused, or failed.", "content": problem}
    entry = {"operationId": op.name, "summary": op.summary, "parameters": parameters, "responses": responses}
    if op.body is not None:
        content = {"application/json": {"schema": schemas[op.body]}}
        entry["requestBody"] = {"required": True, "content": content}
    return entry
