"""Turns as plain values, and back."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar, cast, get_args

from quire.agent.tools import StopReason
from quire.agent.turns import Turn
from quire.agent.turns.saving import Outputs
from quire.bridges.pygents.dicts import read_list, read_mapping
from quire.bridges.pygents.item import ContextItem, item_as_dict
from quire.errors import CodecError, Damaged, cut
from quire.items import freeze, thaw, to_json

T = TypeVar("T")


class Fields(NamedTuple):
    """What was written of a turn."""

    tool: str
    timeout: float | None
    args: list[Any]
    kwargs: dict[str, Any]
    started_at: float | None
    ended_at: float | None
    stop_reason: StopReason | None
    output: Any


def written_turn(turn: Turn, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values of a turn. What is still under way has no output yet."""
    return {
        "tool_name": turn.tool_name,
        "args": to_json(freeze(list(arguments["args"])), "$.args"),
        "kwargs": to_json(freeze(dict(arguments["kwargs"])), "$.kwargs"),
        "timeout": turn.timeout,
        "metadata": {
            "start_time": _iso(turn.started_at),
            "end_time": _iso(turn.ended_at),
            "stop_reason": turn.stop_reason,
        },
        "output": None if turn.is_running else _OUTPUTS.written(turn.output, "$.output"),
    }


def read_turn(data: object) -> Fields:
    """What was written of a turn, checked."""
    fields = read_mapping(data, "$")
    tool, timeout = fields.get("tool_name"), fields.get("timeout", 60)
    if not isinstance(tool, str):
        raise Damaged("a turn names its tool", "$.tool_name")
    if not isinstance(timeout, int | float | None):
        raise Damaged("a timeout is a number of seconds", "$.timeout")
    told = read_mapping(fields.get("metadata") or {}, "$.metadata")
    reason = told.get("stop_reason")
    if reason is not None and reason not in get_args(StopReason):
        raise Damaged(f"there is no stop reason {cut(str(reason))!r}", "$.metadata.stop_reason")
    kwargs = read_mapping(fields.get("kwargs") or {}, "$.kwargs")
    return Fields(
        tool,
        timeout,
        thaw(freeze(read_list(fields.get("args") or [], "$.args"))),
        thaw(freeze(dict(kwargs))),
        _seconds(told.get("start_time"), "$.metadata.start_time"),
        _seconds(told.get("end_time"), "$.metadata.end_time"),
        reason,
        _OUTPUTS.restored(fields.get("output"), "$.output"),
    )


def inside(path: str, work: Callable[[], T]) -> T:
    """What some reading or writing gives; a fault of it is named by its place in the whole."""
    try:
        return work()
    except CodecError as fault:
        raise type(fault)(str(fault.args[0]), path + fault.path.removeprefix("$")) from None


def _read_item(data: Any, path: str) -> ContextItem[Any]:
    return inside(path, lambda: ContextItem.from_dict(data))


_OUTPUTS = Outputs(ContextItem, "$item", item_as_dict, _read_item)


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()


def _seconds(text: object, path: str) -> float | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(cast(str, text)).timestamp()
    except (TypeError, ValueError):
        raise Damaged("a time is written as ISO 8601 says", path) from None
