"""HTTP rules that all surfaces share: which requests are refused, and the status of an error."""

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from quire import errors

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names of this machine."""

_STATUS: dict[int, tuple[type[errors.QuireError], ...]] = {
    404: (errors.UnknownId, errors.UnknownKey),
    410: (errors.Forgotten,),
    413: (errors.TooLarge,),
    500: (errors.StoreDamaged,),
    502: (errors.ModelFailed,),
    409: (errors.Conflict, errors.TurnBusy, errors.EditRefused, errors.OverBudget),
    503: (errors.Stopped, errors.StoreError),
}


def status_of(fault: errors.QuireError) -> int:
    """The status of an error; 400 for an error in the request."""
    return next((code for code, kinds in _STATUS.items() if isinstance(fault, kinds)), 400)


def is_served(headers: Mapping[str, str], hosts: Collection[str]) -> bool:
    """Whether the header `host` names one of the hosts; this stops DNS rebinding."""
    try:
        return urlsplit(f"//{headers.get('host', '')}").hostname in hosts
    except ValueError:  # such as a bracket that is not closed
        return False


def is_of_another_site(headers: Mapping[str, str], *, is_page: bool = False) -> bool:
    """Whether a page of another site sent a request; with `is_page`, its links may open this page."""
    site, origin = headers.get("sec-fetch-site", "none"), headers.get("origin")
    is_opening = is_page and headers.get("sec-fetch-dest") == "document"
    is_foreign = origin is not None and origin.partition("://")[2] != headers.get("host")
    return is_foreign or (site not in ("none", "same-origin") and not is_opening)
