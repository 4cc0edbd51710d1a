"""The description of the service in OpenAPI 3.1, made of what the routes say of themselves: their types."""

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
    """A job was accepted: the version of the conversation before it, and where its events are."""

    job: str
    version: int
    events: str


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
    answers: Sequence[type]
    body: type | None = None
    status: int = 200
    query: Mapping[str, str] = {}
    is_job: bool = False
    """Whether a model answers: the client chooses how it waits."""


def operation(method: str, path: str, **rest: Any) -> Callable[[F], F]:
    """Declare how a route is asked. Its summary is the docstring, and what it answers its return type."""

    def named(route: F) -> F:
        summary, kind = (route.__doc__ or "").partition("\n")[0], get_type_hints(route)["return"]
        kinds = get_args(kind) if get_origin(kind) is UnionType else (kind,)
        one = Operation(method, path, route.__name__, summary, kinds, **rest)

        @wraps(route)
        async def answer(self: Any, request: Request) -> Response:
            found = await route(self, request)
            if isinstance(found, Response):
                return found
            if found is None:
                return Response(status_code=204)
            return json_response(found, 202 if isinstance(found, Accepted) else one.status)

        setattr(answer, _MARK, one)
        return answer  # type: ignore[return-value]

    return named


def routes_of(routes: object) -> list[Route]:
    """The routes of an object whose methods are operations, in their order."""
    found = [(name, getattr(one, _MARK, None)) for name, one in vars(type(routes)).items()]
    return [Route(one.path, getattr(routes, name), methods=[one.method]) for name, one in found if one]


def description(routes: Sequence[Any]) -> dict[str, Any]:
    """The OpenAPI document of routes."""
    operations = [one for route in routes if (one := getattr(route.endpoint, _MARK, None)) is not None]
    kinds: dict[Any, None] = {ProblemDocument: None, Item: None}
    kinds |= dict.fromkeys(kind for one in operations for kind in (one.body, *one.answers) if _is_json(kind))
    made, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schemas, paths = dict(zip(kinds, made, strict=True)), dict[str, dict[str, Any]]()
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _described(one, schemas)
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


def _described(one: Operation, schemas: Mapping[Any, Any]) -> dict[str, Any]:
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
    responses: dict[str, Any] = {}
    for kind in one.answers:
        status = "202" if kind is Accepted else "204" if kind is NoneType else str(one.status)
        told = responses.setdefault(status, {"description": "Accepted." if kind is Accepted else "Done."})
        if _is_json(kind):
            told.setdefault("content", {})["application/json"] = {"schema": schemas[kind]}
        elif kind is not NoneType:
            media = EventResponse.media_type if kind is EventResponse else "text/plain"
            told.setdefault("content", {})[media] = {"schema": {"type": "string"}}
    problem = {"application/problem+json": {"schema": schemas[ProblemDocument]}}
    responses["default"] = {"description": "It was refused, or failed.", "content": problem}
    told = {"operationId": one.name, "summary": one.summary, "parameters": parameters, "responses": responses}
    if one.body is not None:
        content = {"application/json": {"schema": schemas[one.body]}}
        told["requestBody"] = {"required": True, "content": content}
    return told
