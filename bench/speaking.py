"""Every model call of recorded conversations, within a budget and on every wire: is it taken, does it fit?

Usage: python bench/speaking.py PATH [--json] [--limit N]

The file has one JSON object a line, with `id` and `messages` as OpenAI's chat API has them, and a `source` if
you like. A call is due before each message of the assistant. What comes before it is truncated to each limit,
rendered to each wire and checked. `refused` are those where what must stay is larger than the limit: Quire
says so, and nothing is sent. Of the rest, `over` are those that are larger by the counter that truncated,
`over in text` those whose payload has more text than that, counted from the payload alone, exactly for OpenAI
and by estimate for others, and `over with tools` those that the tools make larger that a wire wants defined.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from quire.errors import Irreducible
from quire.providers import PROVIDERS
from quire.state import Transcript, truncate
from quire.tokens import Measured, counter_for

MODELS = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}
MESSAGE, ROLE, REPLY = 3, 1, 3
IDS = {"id", "call_id", "tool_call_id", "tool_use_id", "signature", "thoughtSignature", "encrypted_content"}
UNREAD = IDS | {"type", "role", "model", "status", "tool_choice", "cache_control", "is_error"}
"""Fields that no model reads as text."""

AS_JSON = {"input", "args", "input_schema", "parameters", "parametersJsonSchema"}
"""Fields whose objects are read as JSON, here without blanks; how a provider writes them is not published."""


def payload_tokens(wire: str, payload: dict[str, Any]) -> int:
    """Tokens of all that a model reads in a payload, but for the definitions of tools."""
    count = _measure(wire)
    text = sum(map(count, texts({name: value for name, value in payload.items() if name != "tools"})))
    if wire in MODELS:
        return text
    entries = payload.get("messages") or payload["input"]
    messages = len(entries) + bool(payload.get("instructions"))
    return text + (MESSAGE + ROLE) * messages + REPLY


def definition_tokens(wire: str, payload: dict[str, Any]) -> int:
    """Tokens of the definitions of tools."""
    config = payload.get("config") or {}
    return sum(map(_measure(wire), texts([payload.get("tools") or (), config.get("tools") or ()])))


def texts(value: Any, name: str = "") -> Iterator[str]:
    """The texts in a payload that a model reads."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and name in AS_JSON:
        yield json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    elif isinstance(value, dict):
        for inner, field in value.items():
            if inner not in UNREAD:
                yield from texts(field, inner)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from texts(entry)


def _measure(wire: str) -> Callable[[str], int]:
    if wire not in MODELS:
        return Measured("o200k_base").text
    counter = counter_for(MODELS[wire])
    assert isinstance(counter, Measured)
    return counter.text


LIMITS = (1_000, 2_000, 4_000, 8_000)
MODELS = {
    "openai": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
}
COUNTED = ("prefixes", "refused", "truncated", "faults", "over", "over in text", "over with tools")
FOUND = 50
"""How many findings are told one by one."""


class Call(NamedTuple):
    """One model call: the conversation, and how many of its messages come before."""

    source: str
    conversation: str
    before: int


class Tally:
    """What was counted, by source, limit and wire, and what was found."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, int, str], Counter[str]] = {}
        self.found: list[dict[str, Any]] = []

    def count(self, call: Call, limit: int, wire: str, what: str, detail: str = "") -> None:
        """Count one thing; with a detail it is a finding."""
        self.counts.setdefault((call.source, limit, wire), Counter())[what] += 1
        if detail:
            where = {"id": call.conversation, "before": call.before, "limit": limit, "wire": wire}
            self.found.append(where | {"what": what, "detail": detail})


def conversations(path: Path, limit: int | None) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if limit is not None and number >= limit:
                return
            if line.strip():
                yield json.loads(line)


def speak(conversation: dict[str, Any], tally: Tally) -> None:
    """All calls of one conversation: its transcript grows, and each call has a fork to cut."""
    transcript, messages = Transcript(), conversation["messages"]
    source = str(conversation.get("source", "all")).split()[0]
    items = read_in_step(messages)
    for number, message in enumerate(messages):
        if message["role"] == "assistant" and number:
            call = Call(source, str(conversation["id"]), number)
            for limit in LIMITS:
                speak_within(transcript, call, limit, tally)
        transcript.extend(items[number])


def read_in_step(messages: list[dict[str, Any]]) -> list[list[Any]]:
    """The items of each message, all read as one history, so that results know the names of their tools."""
    read = PROVIDERS["openai"].read_history
    whole = iter(read(messages))
    return [list(islice(whole, len(read([message])))) for message in messages]


def speak_within(transcript: Transcript, call: Call, limit: int, tally: Tally) -> None:
    """One call within one limit, on every wire; wires whose models count alike share what was cut."""
    cut: dict[str, Transcript | None] = {}
    for wire, model in MODELS.items():
        if model not in cut:
            cut[model] = shortened(transcript, limit, model)
        tally.count(call, limit, wire, "prefixes")
        kept = cut[model]
        if kept is None:
            tally.count(call, limit, wire, "refused")
        else:
            if kept.revision > transcript.revision:
                tally.count(call, limit, wire, "truncated")
            judge(kept, call, limit, wire, tally)


def shortened(transcript: Transcript, limit: int, model: str) -> Transcript | None:
    """A copy within the limit; none if what must stay is larger."""
    # A fork closes calls that wait; where there are some, it is read anew, and they still wait.
    fork = Transcript(transcript.recorded()) if transcript.view.pending() else transcript.fork()
    try:
        edit = truncate(fork.view, tokens=limit, counter=counter_for(model))
    except Irreducible:
        return None
    if edit is not None:
        fork.append(edit)
    return fork


def judge(kept: Transcript, call: Call, limit: int, wire: str, tally: Tally) -> None:
    model = MODELS[wire]
    payload = PROVIDERS[wire].render(kept.view, model=model).payload
    for fault in PROVIDERS[wire].check(payload, model):
        tally.count(call, limit, wire, "faults", str(fault))
    counted = kept.view.tokens(counter_for(model))
    if counted > limit:
        tally.count(call, limit, wire, "over", f"{counted} tokens by the counter")
    said, defined = payload_tokens(wire, payload), definition_tokens(wire, payload)
    if said > limit:
        tally.count(call, limit, wire, "over in text", f"{said} in text, {counted} by the counter")
    elif said + defined > limit:
        tally.count(call, limit, wire, "over with tools", f"{said} in text and {defined} of definitions")


def rows(tally: Tally) -> list[dict[str, Any]]:
    """The counts of each source, limit and wire, and of all sources."""
    every: dict[tuple[str, int, str], Counter[str]] = {}
    for (source, limit, wire), counts in tally.counts.items():
        for of in (source, "all"):
            every.setdefault((of, limit, wire), Counter()).update(counts)
    wires = list(MODELS)
    keys = sorted(every, key=lambda key: (key[0] == "all", key[0], key[1], wires.index(key[2])))
    return [
        {"source": source, "limit": limit, "wire": wire}
        | {what: every[source, limit, wire][what] for what in COUNTED}
        for source, limit, wire in keys
    ]


def as_text(report: dict[str, Any]) -> str:
    lines = [f"{'source':32} {'limit':>6} {'wire':16} " + " ".join(f"{what:>15}" for what in COUNTED)]
    for row in report["rows"]:
        figures = " ".join(f"{row[what]:>15,}" for what in COUNTED)
        lines.append(f"{row['source']:32} {row['limit']:>6,} {row['wire']:16} {figures}")
    for found in report["found"][:FOUND]:
        lines.append("{id}, {before} messages, {limit}, {wire}: {what}: {detail}".format(**found))
    return "\n".join([*lines, f"{report['conversations']} conversations, {report['seconds']} s"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("path", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--limit", type=int, help="so many conversations")
    options = parser.parse_args()
    tally, start, number = Tally(), time.perf_counter(), 0
    for number, conversation in enumerate(conversations(options.path, options.limit), 1):
        speak(conversation, tally)
        spent = time.perf_counter() - start
        print(f"\r{number} conversations, {spent:.0f} s, {len(tally.found)} found", end="", file=sys.stderr)
    print(file=sys.stderr)
    seconds = round(time.perf_counter() - start, 1)
    report = {"conversations": number, "seconds": seconds, "rows": rows(tally), "found": tally.found}
    print(json.dumps(report) if options.json else as_text(report))


if __name__ == "__main__":
    main()
