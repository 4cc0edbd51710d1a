"""What was made of histories, written in the layout that they came in."""

from typing import Any

from quire.cli.files import History, as_json, as_line, write_text


def write_payloads(payloads: list[Any], histories: list[History], name: str | None) -> None:
    """One payload as JSON, or each on a line where the histories were on lines."""
    if histories[0].line is None:
        write_text(as_json(payloads[0]), name)
    else:
        write_text("".join(as_line(payload) for payload in payloads), name)


def one_or_all(values: list[Any], histories: list[History]) -> Any:
    """The value of the only history, or those of all histories on lines."""
    return values[0] if histories[0].line is None else values
