"""How the golden corpora of `quire.providers` are computed and compared, with public names only.

A row of a corpus is a name, an input and the expected outcome, all of it JSON. `CORPORA` names the function
that computes an outcome from an input. Prose (reasons, texts of faults and errors) is not part of an outcome,
and neither are the ids and times of items that a reply or a history was read into.
"""

import json
import lzma
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from quire.items import JSON, Item
from quire.providers import CachePlan, Parsed, Rendered, provider_for
from quire.state import Transcript

Json = dict[str, Any]

DATA = Path(__file__).with_name("data")
ABSENT = "(absent)"
_MADE_ID = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{28}(?![0-9a-f])"
)  # made anew each time, as for a call without one


# Values


def plain(value: Any) -> Any:
    """A value as JSON, with bytes as `{"$b64": …}` and tuples as lists."""
    if isinstance(value, bytes):
        return {"$b64": b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in cast("Sequence[Any]", value)]
    return value


def restored(value: Any) -> Any:
    """The value that `plain` wrote."""
    if isinstance(value, dict):
        fields = cast(Json, value)
        if fields.keys() == {"$b64"}:
            return b64decode(fields["$b64"])
        return {key: restored(inner) for key, inner in fields.items()}
    if isinstance(value, list):
        return [restored(inner) for inner in cast("list[object]", value)]
    return value


def items_of(written: list[Json]) -> list[Item]:
    """Items from what the codec wrote."""
    return JSON.decode(json.dumps(written))  # type: ignore[arg-type]  # text or bytes


def written(items: Sequence[Item]) -> list[Json]:
    """Items as the codec writes them."""
    return cast("list[Json]", json.loads(JSON.encode(items)))


# Outcomes


def _rendered(source: Json, items: Sequence[Item]) -> Rendered:
    plan = source.get("plan")
    return provider_for(source["wire"]).render(
        items,
        model=source.get("model"),
        tools=restored(source.get("tools") or []),
        plan=CachePlan(**plan) if plan else None,
    )


def _sent(source: Json) -> Rendered:
    log = source.get("log")
    return _rendered(source, items_of(source["items"]) if log is None else Transcript(items_of(log)).view)


def _request(rendered: Rendered, source: Json) -> Json:
    """What is expected of a rendering, without its digest."""
    faults = provider_for(source["wire"]).check(rendered.payload, source.get("model"))
    return {
        "payload": plain(rendered.payload),
        "downgrades": [f"{loss.change} {loss.item_id or '-'}" for loss in rendered.downgrades],
        "faults": [f"{fault.rule} {fault.place}" for fault in faults],
        "names": dict(rendered.names),
        "parameters": plain(rendered.parameters),
    }


def _read(items: Sequence[Item]) -> Json:
    """Items that were read, without ids and times; state data, whose format is free, is kept apart."""
    read = written(items)
    data: list[str] = []
    for item in read:
        del item["id"], item["created_at"]
        state = item.get("state")
        if state:
            data.append(state.get("data", ""))
            item["state"] = {**state, "data": bool(data[-1]), "prefix": bool(state.get("prefix"))}
    return {"items": read, "state-data": data}


def _reply(parsed: Parsed) -> Json:
    usage = parsed.usage
    names = ("input", "output", "cache_read", "cache_write", "reasoning")
    return {
        **_read(parsed.items),
        "usage": None if usage is None else {name: getattr(usage, name) for name in names},
        "finish": parsed.finish,
        "model": parsed.model,
        "error": parsed.error is not None,
    }


def render(source: Json) -> Json:
    """A history, as a list (`items`) or as a transcript (`log`), on one wire."""
    rendered = _sent(source)
    return {**_request(rendered, source), "prefix": rendered.prefix}


def parse(source: Json) -> Json:
    """A whole `response`, or the `events` of a stream, as the reply to `sent`."""
    provider = provider_for(source["wire"])
    sent = _sent(source["sent"]) if source.get("sent") else None
    if "events" not in source:
        return _reply(provider.parse(restored(source["response"]), sent=sent, model=source.get("model")))
    stream = provider.stream(sent=sent, model=source.get("model"))
    text = "".join([stream.feed(restored(event)) for event in source["events"]])
    return {**_reply(stream.close()), "text": text}


def history(source: Json) -> Json:
    """Messages of a provider or of a library, read as items."""
    provider = provider_for(source["wire"])
    return _read(provider.read_history(restored(source["payload"]), model=source.get("model")))


def check(source: Json) -> Json:
    """The faults of a payload."""
    faults = provider_for(source["wire"]).check(restored(source["payload"]), source.get("model"))
    return {"faults": [f"{fault.rule} {fault.place}" for fault in faults]}


def tools(source: Json) -> Json:
    """Tool definitions on one wire, offered after a short message."""
    request = _request(_sent(source), source)
    payload: Json = request.pop("payload")
    return {"tools": payload.get("tools"), **request}


def continue_(source: Json) -> Json:
    """A transcript that grows by items and edits, and by scripted replies to what was rendered of it."""
    transcript, outcome = Transcript(), list[Json]()
    for number, step in enumerate(source["steps"]):
        if "items" in step:
            transcript.extend(items_of(step["items"]))
            continue
        rendered = _rendered(step, transcript.view)
        request = _request(rendered, step)
        if "reply" in step:
            parsed = provider_for(step["wire"]).parse(
                restored(step["reply"]), sent=rendered, model=step["model"]
            )
            transcript.extend(named(parsed.items, number))
            request["reply"] = _reply(parsed)
        outcome.append(request)
    return {"requests": outcome}


def named(items: Sequence[Item], step: int) -> list[Item]:
    """The items of a reply under fixed ids and times, so that later edits can name them."""
    return [
        replace(item, id=f"reply-{step}-{place}", created_at=1000.0 * step + place)
        for place, item in enumerate(items)
    ]


CORPORA: dict[str, Callable[[Json], Json]] = {
    "render": render,
    "parse": parse,
    "history": history,
    "check": check,
    "tools": tools,
    "continue": continue_,
}


def outcome_of(corpus: str, source: Json) -> Json:
    """The present outcome of a row's input: a refusal is the name of its exception."""
    try:
        outcome = CORPORA[corpus](source)
    except Exception as fault:  # whatever is raised is the outcome
        return {"raises": type(fault).__name__}
    text = json.dumps(outcome)
    made = dict.fromkeys(_MADE_ID.findall(text))
    given = json.dumps(source) if made else ""
    for number, made_id in enumerate(one for one in made if one not in given):
        text = text.replace(made_id, f"~{number + 1}")
    return cast(Json, json.loads(text))


# Files


class Row(NamedTuple):
    """One case of a corpus. `name` is the same as long as the input is."""

    name: str
    input: Json
    expected: Json


def read(corpus: str) -> list[Row]:
    """The rows of a corpus."""
    with lzma.open(DATA / f"providers-{corpus}.jsonl.xz", "rt", encoding="ascii") as lines:
        return [Row(*json.loads(line)) for line in lines]


def write(corpus: str, rows: Iterable[Row]) -> int:
    """Write a corpus; how many bytes it takes."""
    DATA.mkdir(exist_ok=True)
    path = DATA / f"providers-{corpus}.jsonl.xz"
    lines = (json.dumps(row, separators=(",", ":")) for row in rows)
    path.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode("ascii"), preset=9))
    return path.stat().st_size


# Differences


class Difference(NamedTuple):
    """One difference between an expected outcome and the present one."""

    row: Row
    path: str
    kind: str  # added, removed or changed
    expected: Any
    found: Any

    @property
    def wire(self) -> str:
        """The wire of the row, or of the request that differs."""
        steps: list[Json] = self.row.input.get("steps") or [self.row.input]
        wires = [step["wire"] for step in steps if "wire" in step]
        request = re.match(r"requests\[(\d+)\]", self.path)
        return str(wires[int(request[1]) if request else 0])

    @property
    def category(self) -> str:
        """The path without indexes, and without the names that a schema or the arguments of a call hold."""
        path = re.sub(r"\[\d+\]", "[*]", self.path)
        path = re.sub(r"^(requests\[\*\]\.)?(names|parameters)\..*", r"\1\2.*", path)
        path = re.sub(r"\.(properties|\$defs|definitions|args|input)\.[^.\[]+", r".\1.*", path)
        return f"{self.kind} {path}"


def differences(corpus: str, rows: Iterable[Row] | None = None) -> Iterator[Difference]:
    """All differences of a corpus."""
    for row in read(corpus) if rows is None else rows:
        found = outcome_of(corpus, row.input)
        if found != row.expected:
            for path, kind, before, after in _compared(row.expected, found, ""):
                yield Difference(row, path, kind, before, after)


_Change = tuple[str, str, Any, Any]


def _compared(expected: Any, found: Any, path: str) -> Iterator[_Change]:
    if expected == found and type(expected) is type(found):
        return
    if isinstance(expected, dict) and isinstance(found, dict):
        yield from _compared_fields(cast(Json, expected), cast(Json, found), path)
    elif isinstance(expected, list) and isinstance(found, list):
        lists = cast("list[object]", expected), cast("list[object]", found)
        words = path.endswith(("downgrades", "faults"))
        yield from (_compared_words if words else _compared_lists)(*lists, path)
    else:
        yield path, "changed", expected, found


def _compared_fields(expected: Json, found: Json, path: str) -> Iterator[_Change]:
    for name in dict.fromkeys((*expected, *found)):
        place = f"{path}.{name}" if path else name
        if name not in found:
            yield place, "removed", expected[name], ABSENT
        elif name not in expected:
            yield place, "added", ABSENT, found[name]
        else:
            yield from _compared(expected[name], found[name], place)


def _compared_words(expected: list[object], found: list[object], path: str) -> Iterator[_Change]:
    """Downgrades and faults, whose order is free: the first word is the sort, the rest the place."""
    lost, new = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    for entry in lost.elements():
        yield f"{path} {str(entry).split()[0]}", "removed", entry, ABSENT
    for entry in new.elements():
        yield f"{path} {str(entry).split()[0]}", "added", ABSENT, entry
    if not lost and not new:
        yield path, "reordered", expected, found


def _compared_lists(expected: list[object], found: list[object], path: str) -> Iterator[_Change]:
    """Lists of one length place by place; others after what is the same in both."""
    if len(expected) == len(found):
        for place, (before, after) in enumerate(zip(expected, found, strict=True)):
            yield from _compared(before, after, f"{path}[{place}]")
        return
    before, after = ([json.dumps(one, sort_keys=True) for one in values] for values in (expected, found))
    for kind, low, high, low_found, high_found in SequenceMatcher(None, before, after, False).get_opcodes():
        if kind == "replace" and high - low == high_found - low_found:
            for place in range(low, high):
                shifted = place - low + low_found
                yield from _compared(expected[place], found[shifted], f"{path}[{place}]")
        elif kind != "equal":
            for place in range(low, high):
                yield f"{path}[{place}]", "removed", expected[place], ABSENT
            for place in range(low_found, high_found):
                yield f"{path}[{place}]", "added", ABSENT, found[place]
