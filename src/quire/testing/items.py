"""Strategies for every kind of item with every field varied, and for the values inside."""

from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import settings, strategies as st

from quire import items as q

RESERVED = "quire.newer"
"""The reserved key of extras."""

PER_KIND = settings(max_examples=max(10, settings().max_examples // 5))
"""The settings of laws that run once for each kind of item."""

SPECIAL_TEXTS = st.sampled_from(
    ["", " ", "\0", "a\0b", "line\r\nline\u2028", "👩‍👩‍👧‍👦🏽", "é", "\u202eabc", '"\\', "$bytes", "\uffff"]
)


def texts() -> st.SearchStrategy[str]:
    """Unicode of all planes, without surrogates."""
    return SPECIAL_TEXTS | st.text(st.characters(codec="utf-8"), max_size=20)


def ids() -> st.SearchStrategy[str]:
    """Our ids, and foreign ids of any form."""
    foreign = st.sampled_from(["call_9f|fc_07", "toolu_01A", "0", "id with space", "🆔", "x" * 300])
    return foreign | st.uuids().map(str) | texts().filter(bool)


def times() -> st.SearchStrategy[float]:
    """Seconds before and after 1970, whole and not."""
    seconds = st.floats(-9e10, 9e10, allow_nan=False)
    return st.sampled_from([0.0, -0.0, -1.5, 1e-300, 1.1, 5e-324]) | seconds | st.integers(-(10**10), 10**10)


def json_leaves() -> st.SearchStrategy[Any]:
    """JSON values that are not containers."""
    ints = st.integers(-(2**63), 2**64 - 1) | st.sampled_from([2**64 - 1, -(2**63), 2**53 + 1, 0])
    floats = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1.0, -0.0, 1e22])
    return st.none() | st.booleans() | ints | floats | texts()


def keys() -> st.SearchStrategy[str]:
    """Keys, many of which look like tags or like our own fields."""
    return st.sampled_from(["$bytes", "$dict", "id", "kind", "extras", "", "a.b", "part", "v"]) | texts()


def _nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        like_tags = st.dictionaries(st.sampled_from(["$bytes", "$dict"]), inner, min_size=1, max_size=2)
        return st.lists(inner, max_size=3) | st.dictionaries(keys(), inner, max_size=3) | like_tags

    return st.recursive(leaves, around, max_leaves=6)


def json_values() -> st.SearchStrategy[Any]:
    """Any JSON value; some look like our tags."""
    return _nested(json_leaves() | st.sampled_from(["AA==", "!", "aGk="]))


def free_values() -> st.SearchStrategy[Any]:
    """Values that the codec can write: JSON values and bytes."""
    return _nested(json_leaves() | st.binary(max_size=8))


def free_mappings() -> st.SearchStrategy[dict[str, Any]]:
    """Values of `extras`. The key `$bytes` is left out: the codec reads a mapping with it alone as bytes."""
    # Hypothesis also draws texts from the source, such as the reserved key.
    allowed = keys().filter(lambda key: key not in (RESERVED, "$bytes"))
    return st.dictionaries(allowed, free_values(), max_size=3)


def _maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def _blobs(kind: Callable[..., q.Part], **sizes: st.SearchStrategy[Any]) -> st.SearchStrategy[q.Part]:
    where = st.one_of(
        st.fixed_dictionaries({"url": texts().filter(bool)}),
        st.fixed_dictionaries({"data": st.binary(min_size=1, max_size=30)}),
    )
    rest = st.fixed_dictionaries({}, optional={"media_type": _maybe(texts()), **sizes})

    def build(place: dict[str, Any], more: dict[str, Any]) -> q.Part:
        return kind(**place, **more)

    return st.builds(build, where, rest)


def parts() -> st.SearchStrategy[q.Part]:
    """A text, a picture, a recording or a document."""
    sizes = _maybe(st.integers(1, 10**9 - 1))
    details = st.sampled_from(["auto", "low", "high"])
    seconds = _maybe(st.floats(0, 1e9, exclude_min=True, exclude_max=True) | st.integers(1, 9))
    return st.one_of(
        texts(),
        _blobs(q.Image, detail=details, width=sizes, height=sizes),
        _blobs(q.Audio, seconds=seconds, transcript=_maybe(texts())),
        _blobs(q.File, name=_maybe(texts()), pages=sizes),
    )


def contents() -> st.SearchStrategy[q.Content]:
    """A text or a tuple of parts."""
    return texts() | st.lists(parts(), min_size=1, max_size=4).map(tuple)


def spans() -> st.SearchStrategy[tuple[q.Span, ...]]:
    """One or more ranges of ids."""
    return st.lists(st.builds(q.Span, ids(), ids()), min_size=1, max_size=3).map(tuple)


def origins() -> st.SearchStrategy[q.Origin]:
    """The origins of items."""
    return st.sampled_from(q.ORIGINS)


def _record() -> dict[str, Any]:
    return {
        "id": ids(),
        "created_at": times(),
        "agent_id": _maybe(texts()),
        "extras": free_mappings(),
        "origin": _maybe(origins()),
    }


def _kinds() -> dict[type[q.Item], dict[str, st.SearchStrategy[Any]]]:
    roles = st.sampled_from(["system", "developer", "user", "assistant"])
    opaques = st.builds(q.Opaque, texts(), texts(), texts(), _maybe(texts()))
    shares = st.floats(0, 1) | st.sampled_from([0, 1])
    addresses = st.builds(q.Address, texts().filter(bool), _maybe(shares), _maybe(times()))
    filled = texts().map(lambda text: f"x{text}")  # visible text, as a stub or a summary needs
    wordings = st.builds(q.Wording, voice=_maybe(texts()), reading=_maybe(texts()))
    call = {"call_id": ids(), "name": ids()}
    common, optional = {"state": _maybe(opaques), "reply_id": _maybe(ids())}, _maybe(texts())
    message = {"interrupted": st.booleans(), "wording": _maybe(wordings), "address": _maybe(addresses)}
    unknown = keys().filter(lambda key: key not in (*COMMON, "$bytes"))
    fields = st.dictionaries(unknown, free_values(), max_size=3)
    return {
        q.Message: {"role": roles, "content": contents(), **message, **common},
        q.ToolCall: {**call, "arguments": texts(), **common},
        q.ToolResult: {**call, "content": contents(), "is_error": st.booleans()},
        q.Reasoning: {"text": texts(), **common},
        q.Handoff: {"to_agent": ids(), "from_agent": optional, "reason": optional},
        q.ConfigChange: {"instructions": optional, "tools": _maybe(st.lists(texts(), max_size=3).map(tuple))},
        q.Note: {"content": free_values(), "key": _maybe(ids()), "description": optional},
        q.Summary: {"text": filled, "spans": spans() | st.just(())},
        q.Mask: {"target": ids(), "stub": filled},
        q.Hide: {"spans": spans()},
        q.Pin: {"target": ids()},
        q.Distrust: {"target": ids()},
        q.Undo: {"target": ids()},
        q.Unknown: {"name": texts().map(lambda text: f"future {text}"), "fields": fields},
    }


COMMON = ("kind", "id", "created_at", "agent_id", "origin")
FIELDS = _kinds()


@cache  # strategies are slow to make
def of_kind(kind: type[q.Item]) -> st.SearchStrategy[q.Item]:
    """Items of one kind with every field varied."""
    common = _record()
    if kind is q.Unknown:
        del common["extras"]
    make: Callable[..., q.Item] = kind
    bare = st.builds(make, **FIELDS[kind], id=ids(), created_at=times())
    return st.builds(make, **FIELDS[kind], **common) | bare


@cache
def items() -> st.SearchStrategy[q.Item]:
    """Items of every kind with every field varied, with and without extras."""
    return st.one_of(*map(of_kind, FIELDS))


def batches() -> st.SearchStrategy[list[q.Item]]:
    """A few items of mixed kinds."""
    return st.lists(items(), max_size=4)


def same(left: Any, right: Any) -> bool:
    """Whether values are equal, types included at every level: `1`, `1.0` and `True` differ."""
    return left == right and repr(left) == repr(right)
