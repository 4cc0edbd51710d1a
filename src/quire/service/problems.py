"""Errors as problem documents (RFC 9457): one sentence without content."""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from quire.errors import QuireError
from quire.reading.http import status_of

RETRY_AFTER = 5
"""Seconds after which a client may retry when the service or its store is busy."""


class Problem(Exception):
    """A request that is refused: its status, one sentence for the client, and headers."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})


def unavailable(detail: str) -> Problem:
    """The problem of a service that is overloaded or stopping."""
    return Problem(503, detail, {"retry-after": str(RETRY_AFTER)})


def problem_of(fault: Exception) -> Problem:
    """An error as a problem."""
    if isinstance(fault, Problem):
        return fault
    if isinstance(fault, HTTPException):
        return Problem(fault.status_code, str(fault.detail), fault.headers)
    if isinstance(fault, QuireError):
        status = status_of(fault)
        headers = {"retry-after": str(RETRY_AFTER)} if status == 503 else {}
        return Problem(status, "the store cannot be read" if status == 500 else str(fault), headers)
    return Problem(500, "the service failed at this request")


class ProblemDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request was refused or failed. Below `/v1` it has the `error` that OpenAI's clients read."""

    type: str
    title: str
    status: int
    detail: str
    error: dict[str, str | None] | None = None


def document(problem: Problem, path: str) -> Response:
    """The document of a problem."""
    title, status = HTTPStatus(problem.status).phrase, problem.status
    error = None
    if path.startswith("/v1/"):
        kind = "server_error" if status >= 500 else "invalid_request_error"
        code = title.lower().replace(" ", "_")
        error = {"message": problem.detail, "type": kind, "code": code, "param": None}
    body = ProblemDocument(type="about:blank", title=title, status=status, detail=problem.detail, error=error)
    return Response(msgspec.json.encode(body), status, problem.headers, "application/problem+json")
