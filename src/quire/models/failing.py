"""What went wrong with a request, from what a provider says of it: which error, and whether to try again."""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from quire.errors import (
    ModelFailed,
    ModelTimeout,
    NotAuthorized,
    Overloaded,
    RateLimited,
    Refused,
    WindowExceeded,
    cut,
)
from quire.items import now
from quire.models.exceeding import is_exceeded, over_and_limit

_LONGEST = 500  # characters of a provider's words that go into a note

_REFUSED = re.compile(
    "content_filter|content_policy|content filter|safety_violation|prohibited_content", re.I
)
_DENIED = re.compile("authentication|permission|api_key|unauthenticated|unauthorized|api key not valid", re.I)
_LIMITED = re.compile("rate_limit|resource_exhausted|quota|throttl", re.I)
_SAYS_LIMITED = re.compile(
    "rate limit (was )?(exceeded|reached)|too many requests|too many tokens[^:]*please wait", re.I
)
_OVERLOADED = re.compile("overloaded|unavailable|slow_down", re.I)
_LATE = re.compile("deadline_exceeded|timeout", re.I)
_BROKEN = re.compile("server_error|api_error|internal", re.I)
_SPENT = re.compile("insufficient_quota|billing|credit", re.I)
_SHAPE = re.compile(
    r"response_?format|json_?schema|json[ _]mode|structured|output_config|output_format|text\.format", re.I
)
_TOO_LARGE = "request_too_large"
_OF_BYTES = "is_of_bytes"
_STATUS = re.compile("[45][0-9][0-9]")


class Told(NamedTuple):
    """What a provider says went wrong. `kinds` are its codes; `words` are for people, and may quote."""

    status: int | None = None
    kinds: str = ""
    words: str = ""
    after: float | None = None
    """Seconds after which to ask again."""


class Failure(NamedTuple):
    """The error for whoever asked, and whether and when the same request is worth another try."""

    error: ModelFailed
    again: bool = False
    after: float | None = None
    of_shape: bool = False
    """Whether it was turned down for the shape that its answer was to have."""
    once: bool = False
    """Whether it is worth no more than one other try."""


def failure_of(model: str, told: Told) -> Failure:
    """The failure that a provider tells of."""
    told = told._replace(status=told.status or _status_in(told.kinds))
    error, again = _judged(model, told)
    if told.words:
        said = told.words if len(told.words) <= _LONGEST else f"{told.words[:_LONGEST]}…"
        error.add_note(f"the provider says: {said}")
    of_shape = told.status in (400, 422) and _SHAPE.search(f"{told.kinds} {told.words}") is not None
    return Failure(error, again, told.after, of_shape)


def connection_lost(model: str, fault: BaseException) -> Failure:
    """The failure where nobody could be reached, or where somebody hung up."""
    return Failure(ModelFailed(f"the connection to {model} failed: {type(fault).__name__}"), again=True)


def no_answer(model: str, words: str) -> Failure:
    """The failure where a good status came with something else: often a gateway's page, which passes."""
    failure = failure_of(model, Told(kinds="no_answer", words=words))
    return failure._replace(again=True) if type(failure.error) is ModelFailed else failure


def timed_out(model: str) -> Failure:
    """The failure where nothing came in time."""
    return Failure(ModelTimeout(f"{model} did not answer in time"), again=True)


def _judged(model: str, told: Told) -> tuple[ModelFailed, bool]:
    status, kinds = told.status, told.kinds
    said = f"{kinds} {told.words}"
    answered = _answered(model, told)
    if status not in (401, 403, 429) and is_exceeded(said):
        return _exceeded(model, told), False
    if status in (401, 403) or _DENIED.search(kinds) or "API key not valid" in told.words:
        return NotAuthorized(f"{model} may not be asked with this key{_code(told)}"), False
    if status == 429 or _LIMITED.search(kinds) or _says_limited(told):
        return RateLimited(f"too much was asked of {model}{_code(told)}", told.after), not _SPENT.search(
            kinds
        )
    if _REFUSED.search(said):
        return Refused(f"the request to {model} was turned down for what it says{_code(told)}"), False
    if status in (503, 529) or _OVERLOADED.search(kinds):
        return Overloaded(f"{model} is overloaded{_code(told)}"), True
    if status in (408, 504) or _LATE.search(kinds):
        return ModelTimeout(answered), True
    return ModelFailed(answered), status == 409 or (status or 0) >= 500 or _BROKEN.search(kinds) is not None


def _says_limited(told: Told) -> bool:
    """Whether it begins so, where no status says more; within its words it may be a quotation."""
    said = told.kinds if " " in told.kinds else told.words  # words alone may stand where codes do
    return told.status is None and _SAYS_LIMITED.match(said) is not None


def _status_in(kinds: str) -> int | None:
    """The status among codes: who only passes on what another says sends it under a status of its own."""
    codes = kinds.split()
    ends = (code for code in (*codes[:1], *codes[-1:]) if _STATUS.fullmatch(code))  # within, it may be words
    return next(map(int, ends), None)


def _answered(model: str, told: Told) -> str:
    return f"{model} failed{_code(told)}"


def _code(told: Told) -> str:
    # Codes are short words; anything else may be somebody's text, and stays out of the message.
    codes = [code for code in told.kinds.split() if re.fullmatch(r"[\w.-]{1,60}", code)]
    said = " ".join(dict.fromkeys([*([str(told.status)] if told.status else []), *codes]))
    return f" ({cut(said)})" if said else ""


def _exceeded(model: str, told: Told) -> WindowExceeded:
    over, limit = over_and_limit(told.words)
    error = WindowExceeded(f"more was sent than {model} reads at once{_code(told)}", over, limit=limit)
    error.__dict__[_OF_BYTES] = _TOO_LARGE in told.kinds and not error.over
    return error


def is_of_bytes(exceeded: WindowExceeded) -> bool:
    """Whether it was too much for the service and not for the model: a request may have so many bytes."""
    return bool(getattr(exceeded, _OF_BYTES, False))


def seconds_until(headers: Mapping[str, str]) -> float | None:
    """In how many seconds to ask again, from the headers of an answer; a date is as good as a number."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) * scale
        except ValueError:
            seconds = _until(text)
        if 0 <= seconds < float("inf"):
            return seconds
    return None


def _until(date: str) -> float:
    try:
        return max(parsedate_to_datetime(date).timestamp() - now(), 0.0)
    except ValueError:
        return -1.0


def codes_in(*values: Any) -> str:
    """Codes in a row, each once, whatever else stands in their place."""
    return " ".join(dict.fromkeys(str(value) for value in values if isinstance(value, str | int) and value))
