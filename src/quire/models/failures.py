"""Failures of requests: the error for the caller, and whether to retry.

The table of how services word their errors is `failures.toml`.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, NamedTuple

from quire import errors
from quire.errors import ModelFailed, ModelTimeout, RateLimited, Refused, WindowExceeded, cut
from quire.items import Message, Reasoning, now
from quire.providers import Parsed, entries_in, fields_in

_MAX_NOTE = 500  # characters of a service's message
_MAX_BODY = 4_000
_MAX_ENTRIES = 10
_MAX_DEPTH = 6
_MIN_KEY = 8  # characters; a shorter text is no key, and may be a common word
_KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
_MESSAGE_FIELDS = ("message", "Message", "error", "detail", "msg", "errors")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")


class ErrorReport(NamedTuple):
    """An error as a service reports it."""

    status: int | None = None
    codes: str = ""
    """Its type, code and status words."""
    message: str = ""
    """Its message for people, which may quote the request."""
    after: float | None = None
    """Seconds to wait before a retry."""


class Failure(NamedTuple):
    """The error for the caller, and whether and when to retry."""

    error: ModelFailed
    can_retry: bool = False
    after: float | None = None
    is_of_schema: bool = False
    """Whether the service refused the schema of the answer."""


class NoAnswer(Exception):
    """A body with a success status that is not an answer: an error, a page of a gateway, a text."""

    def __init__(self, body: Any, request: Any = None) -> None:
        super().__init__()
        self.body = body
        self.request = request


# --- the table -------------------------------------------------------------------------------------------

_Row = Mapping[str, Any]
_TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_name("failures.toml").read_text("utf-8"))
_TIMEOUTS = frozenset[str](_TABLE["exceptions"]["timeout"])
_CONNECTION = frozenset[str](_TABLE["exceptions"]["connection"])


def _applies(row: _Row, report: ErrorReport) -> bool:
    """Whether a row of the table applies to a report, by its status, its codes or its text."""
    if report.status in row.get("not_status", ()):
        return False
    if report.status in row.get("status", ()) or (report.status or 0) >= row.get("from_status", 1000):
        return True
    if _matches(row, "codes", report.codes) or _matches(row, "text", f"{report.codes} {report.message}"):
        return True
    text = report.codes if " " in report.codes else report.message  # a text may stand where codes do
    starts = (re.match(phrase, text, re.I) for phrase, _ in row.get("start", ()))
    if report.status is None and any(starts):
        return True
    return not row.keys() & {"status", "codes", "text"}  # a row without conditions applies to all reports


def _matches(row: _Row, field: str, text: str) -> bool:
    return any(re.search(phrase, text, re.I | re.S) for phrase, _ in row.get(field, ()))


def _over_and_limit(row: _Row, message: str) -> tuple[int, int]:
    """By how many tokens a request is too large, and the size of the window; 0 if unknown."""
    text = _THOUSANDS.sub("", message)
    for phrase, _ in row["text"]:
        match = re.search(phrase, text, re.I | re.S)
        sizes = {name: int(size) for name, size in match.groupdict("0").items()} if match else {}
        limit, asked = sizes.get("limit", 0), sizes.get("asked", 0)
        over = max(asked + sizes.get("added", 0) - limit, 0) if asked and limit else sizes.get("over", 0)
        if over or limit:
            return over, limit
    return 0, 0


# --- failures --------------------------------------------------------------------------------------------


def failure_of(model: str, report: ErrorReport) -> Failure:
    """The failure for a report, by the first row of the table that applies to it."""
    report = report._replace(status=report.status or _status_in(report.codes))
    row = next(row for row in _TABLE["rows"] if _applies(row, report))
    message = row["message"].format(model=model) + _shown_codes(report)
    error: ModelFailed
    if row["error"] == "WindowExceeded":
        over, limit = _over_and_limit(row, report.message)
        error = WindowExceeded(message, over, limit=limit, in_bytes="request_too_large" in report.codes)
    elif row["error"] == "RateLimited":
        error = RateLimited(message, report.after)
    else:
        error = getattr(errors, row["error"])(message)
    if report.message:
        error.add_note(f"the provider says: {cut(report.message, _MAX_NOTE)}")
    schema = _TABLE["schema"]
    text = f"{report.codes} {report.message}"
    is_of_schema = report.status in schema["status"] and _matches(schema, "text", text)
    return Failure(error, row.get("retry", False), report.after, is_of_schema)


def failure_from(model: str, fault: Exception, keys: Iterable[object] = ()) -> Failure:
    """The failure for an exception of an SDK. Keys are removed from the service's message."""
    cause: BaseException | None = fault
    while cause is not None and not isinstance(cause, NoAnswer):
        cause = cause.__cause__
    if isinstance(cause, NoAnswer):
        failure = failure_of(model, _without_keys(_report_in(cause.body), cause, keys))
        # The body may be a page of a gateway, and the next try may get an answer.
        is_temporary = type(failure.error) is ModelFailed and "error" not in fields_in(cause.body)
        return failure._replace(can_retry=failure.can_retry or is_temporary)
    names = {kind.__name__ for kind in type(fault).__mro__}  # httpx and httpx2 have the same
    if names & _TIMEOUTS:
        return Failure(ModelTimeout(f"{model} did not answer in time"), can_retry=True)
    if names & _CONNECTION:
        message = f"the connection to {model} failed: {type(fault).__name__}"
        return Failure(ModelFailed(message), can_retry=True)
    return failure_of(model, _without_keys(_report_from(fault), fault, keys))


def failure_in(model: str, parsed: Parsed) -> Failure | None:
    """The failure of an answer that ended: an error, a missing end, or an empty refusal.

    A refusal with text is an answer, with the finish `refused`.
    """
    if parsed.error is not None:
        codes, _, message = parsed.error.partition(": ")
        return failure_of(model, ErrorReport(codes=codes, message=message or codes))
    if any(isinstance(item, Message) and item.interrupted for item in parsed.items):
        return Failure(ModelFailed(f"the answer of {model} broke off"))
    if parsed.finish == "other" and all(isinstance(item, Reasoning) for item in parsed.items):
        return Failure(ModelFailed(f"the answer of {model} broke off before its first word"), can_retry=True)
    if parsed.finish == "refused" and not parsed.items:
        return Failure(Refused(f"{model} refused to answer"))
    return None


def _status_in(codes: str) -> int | None:
    """The status at the start or the end of the codes, where a gateway writes that of another service."""
    words = codes.split()
    statuses = (word for word in (*words[:1], *words[-1:]) if re.fullmatch("[45][0-9][0-9]", word))
    return next(map(int, statuses), None)


def _shown_codes(report: ErrorReport) -> str:
    # Codes are short words; anything else may quote the request, and stays out of the message.
    codes = [code for code in report.codes.split() if re.fullmatch(r"[\w.-]{1,60}", code)]
    shown = " ".join(dict.fromkeys([*([str(report.status)] if report.status else []), *codes]))
    return f" ({cut(shown)})" if shown else ""


# --- reports of services ---------------------------------------------------------------------------------


def _report_from(fault: Any) -> ErrorReport:
    """The report in an exception of an SDK; Google's SDK has other names for the parts."""
    response: Any = getattr(fault, "response", None)
    body: Any = None
    with suppress(Exception):  # not JSON, or not read to its end
        body = response.json()  # OpenAI's SDK keeps only the field `error`
    report = _report_in(body or getattr(fault, "body", None) or getattr(fault, "details", None))
    statuses = (getattr(fault, name, None) for name in ("status_code", "code"))
    # An error inside a stream comes with the status of the stream, which is a success.
    status = next((code for code in statuses if isinstance(code, int) and code >= 400), None)
    after = _seconds_until(getattr(response, "headers", None) or {})
    codes, message = report.codes or type(fault).__name__, report.message or str(fault)
    return ErrorReport(status, codes, message, report.after if after is None else after)


def _report_in(body: Any) -> ErrorReport:
    inner = fields_in(fields_in(body).get("error")) or fields_in(body)
    values = (inner.get(name) for name in ("type", "status", "code"))
    codes = dict.fromkeys(str(code) for code in values if isinstance(code, str | int) and code)
    return ErrorReport(None, " ".join(codes), _message_in(body), next(_retry_delays(inner), None))


def _message_in(body: Any, depth: int = _MAX_DEPTH) -> str:
    """The message in the body of an error: a text, or the value of a field with a common name."""
    if isinstance(body, str):
        return body[:_MAX_BODY].strip()
    if depth == 0:
        return ""
    if isinstance(body, list):
        entries = [_message_in(entry, depth - 1) for entry in entries_in(body)[:_MAX_ENTRIES]]
        return "; ".join(filter(None, entries))
    fields = fields_in(body)
    if "loc" in fields:  # the location of a fault in FastAPI; the input beside it is left out
        return f"{'.'.join(map(str, entries_in(fields['loc'])))}: {fields.get('msg')}"
    messages = (_message_in(fields[name], depth - 1) for name in _MESSAGE_FIELDS if name in fields)
    return next(filter(None, messages), "")


def _without_keys(report: ErrorReport, fault: Any, keys: Iterable[object]) -> ErrorReport:
    """A report without the keys that were sent: a body may quote the headers of its request."""
    response: Any = getattr(fault, "response", None)
    request: Any = getattr(fault, "request", None) or getattr(response, "request", None)
    sent = getattr(request, "headers", {})
    message = report.message
    for key in (*keys, *(sent.get(name, "").removeprefix("Bearer ") for name in _KEY_HEADERS)):
        if isinstance(key, str) and len(key) >= _MIN_KEY:
            message = message.replace(key, "…")
    return report._replace(message=message)


def _seconds_until(headers: Mapping[str, str]) -> float | None:
    """The seconds to wait before a retry, from the headers of a response: a number or a date."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text, seconds = headers.get(name, ""), -1.0
        with suppress(ValueError):
            seconds = max(parsedate_to_datetime(text).timestamp() - now(), 0.0)
        with suppress(ValueError):
            seconds = float(text) * scale
        if 0 <= seconds < float("inf"):
            return seconds
    return None


def _retry_delays(error: Mapping[str, Any]) -> Iterator[float]:
    """The delays in the details of Google's errors, such as `17s`."""
    for detail in entries_in(error.get("details")):
        delay = re.fullmatch(r"(\d+(?:\.\d+)?)s", str(fields_in(detail).get("retryDelay")))
        if delay:
            yield float(delay[1])
