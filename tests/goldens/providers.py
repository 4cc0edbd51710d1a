"""How the golden corpora of `quire.providers` are computed, with public names only.

`CORPORA` names the function that computes an outcome from an input. Prose (reasons, texts of faults and
errors) is not part of an outcome, and neither are ids and times of items that were read.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from quire.items import JSON, Item
from quire.providers import CachePlan, Parsed, Rendered, provider_for
from quire.state import Transcript
from tests.goldens.core import items_of

Json = dict[str, Any]


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


def compute(corpus: str, source: Json) -> Json:
    """The outcome of a row; a refusal is the name of its exception."""
    try:
        return CORPORA[corpus](source)
    except Exception as fault:  # whatever is raised is the outcome
        return {"raises": type(fault).__name__}
