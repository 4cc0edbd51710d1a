"""How the golden corpora of items, tokens, state, compactors, sections and context are computed.

Each category of rows is one function here. Errors are written by their class.
"""

import asyncio
import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any, cast

from quire import compactors, context, sections, state, tokens
from quire.context import POLICIES, replay
from quire.errors import Irreducible, OverBudget, QuireError
from quire.items import (
    JSON,
    Item,
    Message,
    Note,
    Reasoning,
    Span,
    ToolCall,
    ToolResult,
    kind_of,
    use_clock,
)
from quire.state import Pool, Transcript, View, config_at
from quire.tokens import counter_for

Json = Any
"""A value that JSON can hold."""

CORPORA = ("codec", "tokens", "views", "plans", "contexts")
MODELS = (
    *("gpt-5.6", "gpt-4.1-mini", "gpt-4o", "gpt-4", "o4-mini", "claude-sonnet-4-5", "claude-opus-4-8"),
    *("gemini-2.5-pro", "gemini-3-pro", "mistral-large", "something-else"),
)


class FourCharacters:
    """Counts four characters as one token, so that the figures do not depend on a vocabulary."""

    key = "four-characters"

    def count(self, item: Item) -> int:
        text: str = getattr(item, "text", "") or getattr(item, "arguments", "")
        return 4 + len(text) // 4

    def total(self, counted: int) -> int:
        return counted + 3


FOUR = FourCharacters()
_MADE_ID = re.compile(r"\b\w+/[0-9a-f]{24}\b|(?<![0-9a-f])[0-9a-f]{28}(?![0-9a-f])")


class Run:
    """One row while it is computed: the clock."""

    time = 0.0

    def ids(self, items: Iterable[Item]) -> list[str]:
        return [item.id for item in items]

    def written(self, items: Iterable[Item]) -> Json:
        """Items as JSON values."""
        return json.loads(JSON.encode(list(items)))

    def grow(self, transcript: Transcript, raw: Sequence[Json]) -> Json:
        """Append items one by one; gives back the class of the error for each that was refused."""
        refused: list[list[str]] = []
        for item in items_of(raw):
            self.time = max(self.time, item.created_at)
            try:
                transcript.append(item)
            except QuireError as error:
                refused.append([item.id, type(error).__name__])
        return refused


def items_of(raw: Sequence[Json]) -> list[Item]:
    return JSON.decode(json.dumps(raw).encode())


def notes_of(raw: Sequence[Json]) -> list[Note]:
    return [note for note in items_of(raw) if isinstance(note, Note)]


def attempt(compute: Callable[..., Json], *given: Any) -> Json:
    """What a function gives, or the class of its error."""
    try:
        return compute(*given)
    except OverBudget as error:
        return {"error": type(error).__name__, "over": error.over, "parts": list(error.parts)}
    except Irreducible as error:
        return {"error": type(error).__name__, "parts": list(error.parts)}
    except Exception as error:
        return {"error": type(error).__name__}


def spans(several: Iterable[Span]) -> Json:
    return [[span.first, span.last] for span in several]


def numbered(text: str, known: Json = None) -> str:
    """A text with the ids that the library made up written as `~1`, `~2` …, but for those in `known`."""
    made = dict.fromkeys(_MADE_ID.findall(text))
    given = json.dumps(known) if made else ""
    for number, made_id in enumerate((one for one in made if one not in given), 1):
        text = text.replace(made_id, f"~{number}")
    return text


def digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


# Items and tokens


def codec(run: Run, given: Json) -> Json:
    """Decode one item or an array, and encode it again."""
    data: bytes = given["text"].encode() if "text" in given else b64decode(given["base64"])
    found = [JSON.decode_item(data)] if given.get("one") else JSON.decode(data)
    return {
        "kinds": [kind_of(item) for item in found],
        "json": json.loads(JSON.encode(found)),
        "same_one_by_one": [JSON.decode_item(JSON.encode_item(item)) for item in found] == found,
    }


def text_counts(run: Run, given: Json) -> Json:
    message = Message("user", given["text"], id="m", created_at=0.0)
    counts = [counter_for(model).count(message) for model in MODELS]
    return {"estimate": tokens.Measured().text(given["text"]), "counts": counts}


def item_counts(run: Run, given: Json) -> Json:
    return [[counter_for(model).count(item) for model in MODELS] for item in items_of(given["items"])]


def tool_counts(run: Run, given: Json) -> Json:
    counters: list[tokens.Counter] = [FOUR, *map(counter_for, MODELS)]
    return [tokens.schema_tokens(given["tools"], counter) for counter in counters]


def facts(run: Run, given: Json) -> Json:
    found = tokens.facts_for(given["model"])
    prices, images = found.prices, found.images
    return {
        "limits": [found.window, found.output, found.cache_minimum, found.flat_until, found.cache_seconds],
        "prices": [prices.input, prices.output, prices.cache_read, prices.cache_write],
        "features": sorted(found.features),
        "provider": found.provider,
        "images": [images.count, images.bytes, images.side, images.many, images.many_side],
        "counted_as": [found.vocabulary or found.scale, found.framing, found.media],
    }


def costs(run: Run, given: Json) -> Json:
    usage = tokens.Usage()
    for one in given["usages"]:
        usage += tokens.Usage(**one)
    found = tokens.facts_for(given["model"])
    one = tokens.cost(found, usage)
    return None if one is None else round(one, 12)


def budget_of(raw: Json) -> tokens.Budget:
    shares = {name: tokens.Share(**share) for name, share in raw.get("shares", {}).items()}
    return tokens.Budget(window=raw["window"], reserve=raw.get("reserve", 0), shares=shares)


def shared_out(run: Run, given: Json) -> Json:
    budget = budget_of(given["budget"])
    requests = given["requests"]
    asked: Json = dict.fromkeys(requests, budget.available)  # a list of names: all that each can get
    asked.update(requests if hasattr(requests, "keys") else {})
    return tokens.share_out(budget.available, asked, budget.shares)


def calibration(run: Run, given: Json) -> Json:
    """What a calibrated counter learns from each report."""
    counter = tokens.Calibrated(counter_for(given["model"]))
    learned: list[Json] = []
    for counted, reported in given["reports"]:
        counter.learn(counted, reported)
        learned.append([round(counter.factor, 6), counter.total(counted)])
    return learned


# State


def view_of(run: Run, transcript: Transcript) -> Json:
    """All that can be seen of a view. Items without a fate here are shown as they were recorded."""
    view = transcript.view
    fates = [(item_id, view.fate(item_id)) for item_id in run.ids(transcript.recorded())]
    return {
        "shown": run.ids(view),
        "stand_ins": run.written(item for item in view if item != view.get(item.id)),
        "fates": [[item_id, *fate] for item_id, fate in fates if fate != ("shown", None)],
        "groups": [[run.ids(group.items), group.pending] for group in view.groups() if len(group.items) > 1],
        "pending": run.ids(view.pending()),
        "tokens": [view.tokens(FOUR), view.tokens(counter_for("gpt-5.6"))],
        "config": list(config_at(view)),
    }


def ask_at(run: Run, transcript: Transcript) -> Json:
    """Three earlier revisions, and one that is to come."""

    def earlier(revision: int) -> Json:
        view = transcript.at(revision)
        configs = [list(config_at(view, view[index].id)) for index in range(0, len(view), 5)]
        return [run.ids(view), view.tokens(FOUR), run.ids(view.pending()), configs]

    end = transcript.revision
    return [attempt(earlier, revision) for revision in (end // 4, end // 2, end - 1, end + 1)]


def ask_truncate(run: Run, transcript: Transcript) -> Json:
    view = transcript.view

    def truncated(percent: int) -> Json:
        edit = state.truncate(view, tokens=view.tokens(FOUR) * percent // 100, counter=FOUR)
        return edit and spans(edit.spans)

    return [attempt(truncated, percent) for percent in (15, 40, 70, 95, 100)]


def ask_fork(run: Run, transcript: Transcript) -> Json:
    """A fork, scoped forks, and that the parent stays as it is."""
    before = run.ids(transcript.view)

    def forked(scope: Json) -> Json:
        fork = transcript.fork() if scope is None else state.fork_scoped(transcript, **scope)
        return [run.ids(fork.view), fork.revision, list(config_at(fork.view))]

    scopes: list[Json] = [
        None,
        {},
        {"turns": 1},
        {"turns": 3},
        {"tools": ["tool1"]},
        {"turns": 2, "tools": []},
    ]
    return {"forks": [attempt(forked, one) for one in scopes], "same": before == run.ids(transcript.view)}


QUESTIONS = {"at": ask_at, "truncate": ask_truncate, "fork": ask_fork}


def views(run: Run, given: Json) -> Json:
    transcript = Transcript()
    refused = run.grow(transcript, given["items"])
    answers = {name: QUESTIONS[name](run, transcript) for name in given["ask"]}
    return {"refused": refused, **view_of(run, transcript), **answers}


def merges(run: Run, given: Json) -> Json:
    """A child that goes on while its parent does, and comes back twice."""
    parent = Transcript()
    run.grow(parent, given["items"])
    child = child_of(parent, given["how"])
    run.grow(parent, given["meanwhile"])
    rounds: list[Json] = []
    for raw in given["rounds"]:
        refused = run.grow(child, raw)
        new = attempt(merged, run, parent, child, given["verb"], given["agent"])
        rounds.append({"refused": refused, "new": new, "parent": view_of(run, parent)})
    return {"child": view_of(run, child), "rounds": rounds}


def child_of(parent: Transcript, how: Json) -> Transcript:
    if "brief" in how:
        return state.brief(how["brief"], how.get("task"), "worker")
    return state.fork_scoped(parent, **how["scope"]) if "scope" in how else parent.fork()


def merged(run: Run, parent: Transcript, child: Transcript, verb: str, agent: str | None) -> Json:
    if verb != "summary":
        return run.written((state.merge_all if verb == "all" else state.merge_result)(parent, child, agent))
    plan = state.plan_summary(parent, child, agent)
    if plan is None or (summary := plan.summary("What the child did.")) is None:
        return None
    parent.append(summary)
    return {"about": run.ids(plan.items), "summary": run.written([summary])}


def pools(run: Run, given: Json) -> Json:
    pool = Pool(limit=given["limit"])

    def changed(verb: str, value: Json) -> Json:
        gone: list[Note | None] = []
        left = pool
        match verb:
            case "add":
                gone = [pool.add(note) for note in notes_of([value])]
            case "remove":
                gone = [pool.remove(value)]
            case "clear":
                gone = [*pool.clear()]
            case _:
                left = pool.fork(state.Inherit.LIMIT if value == "inherit" else value)
        return {"gone": run.ids(filter(None, gone)), "left": run.ids(left), "catalogue": left.catalogue()}

    return [attempt(changed, *step) for step in given["steps"]]


# Compactors

COMPACTORS: dict[str, Callable[..., compactors.Compactor]] = {
    **{"cascade": compactors.Cascade, "offload": compactors.Offload, "truncate": compactors.TruncateOldest},
    **{"clear": compactors.ClearToolResults, "summarize": compactors.Summarize},
}


def compactor_of(raw: Json) -> compactors.Compactor:
    inner = [compactor_of(one) for one in raw.get("of", ())]
    return COMPACTORS[raw["kind"]](*inner, **raw.get("options", {}))


def plans(run: Run, given: Json) -> Json:
    transcript = Transcript()
    run.grow(transcript, given["items"])
    return [attempt(planned, run, transcript.copy(), case) for case in given["cases"]]


def planned(run: Run, transcript: Transcript, case: Json) -> Json:
    """The plan, and what recording it does. Where it asks for words, `much` times the size is written."""
    room = compactors.Room(case["tokens"], FOUR, case.get("early", False), case.get("reads"))
    plan = compactor_of(case["compactor"]).plan(transcript.view, room)
    if plan is None:
        return None
    text = None if plan.request is None else "w" * max(int(4 * plan.request.size * case["much"]), 3)
    run.grow(transcript, case.get("meanwhile", []))
    outcome = compactors.record(transcript, plan, text=text, pool=Pool())
    return {
        "plan": [plan.by, plan.before, plan.after],
        "edits": run.written(plan.edits),
        "notes": [[note.key, note.content] for note in plan.notes],
        "request": plan.request and requested(plan.request),
        "outcome": [outcome.fate, run.written(outcome.edits)],
        "after": [run.ids(transcript.view), transcript.view.tokens(FOUR)],
    }


def requested(request: compactors.Request) -> Json:
    return {
        "prompt": [digest(getattr(item, "text", "")) for item in request.prompt],
        "size": request.size,
        "spans": spans(request.spans),
        "about": list(request.items),
        "part": [request.revision, request.is_part],
    }


def stretches(run: Run, given: Json) -> Json:
    """What hiding all but some items takes, and the items in words."""
    transcript = Transcript()
    run.grow(transcript, given["items"])
    view = transcript.view
    hide = compactors.leaving_out(view, [item.id for item in list(view)[::3]])
    return {
        "leaving_out": hide and spans(hide.spans),
        "in_words": digest(compactors.transcript_text(view)),
    }


def read_backs(run: Run, given: Json) -> Json:
    pool = Pool(notes_of(given["notes"]))

    def piece(handle: str, room: int, start: int) -> Json:
        return compactors.read_back(pool, handle, FOUR, room, start)

    return [attempt(piece, *read) for read in given["reads"]]


# Sections and contexts


def shorter(item: Item) -> Item | None:
    """A transform that drops thoughts and failed results, and shortens answers."""
    if isinstance(item, Reasoning) or (isinstance(item, ToolResult) and item.is_error):
        return None
    if isinstance(item, Message) and item.role == "assistant":
        return Message("assistant", item.text[:6], id=item.id, created_at=item.created_at)
    return item


def first_key(catalogue: str, ask: sections.Ask) -> list[str]:
    return [note.key or "" for note in ask.pool][:1]


def whereabouts(scope: str, conversation: str, parameters: dict[str, Any]) -> sections.Content:
    return [{"role": "user", "content": f"{scope}/{conversation}"}]


def clock(ask: sections.Ask) -> sections.Content:
    return [Message("system", f"It is {ask.now}.", id=f"now-{ask.now}", created_at=0.0)]


def failing(ask: sections.Ask) -> sections.Content:
    raise IndexError


def is_no_tool(item: Item) -> bool:
    return not isinstance(item, ToolCall | ToolResult)


def is_of_helper(item: Item) -> bool:
    return item.agent_id == "helper"


def is_not_tool1(item: Item) -> bool:
    return not isinstance(item, ToolCall | ToolResult) or item.name != "tool1"


def additional(source: Any, name: str = "additional", **options: Json) -> sections.Section:
    """Further messages: given as they are, or by a function of the scope, the conversation and parameters."""
    if not callable(source):
        return sections.Instructions(source, name, **options)
    function = cast("Callable[..., sections.Content]", source)
    return sections.Custom(name, lambda ask: function(ask.scope, ask.conversation, ask.parameters), **options)


def two_keys(catalogue: str, ask: sections.Ask) -> list[str]:
    return ["b", "a"]


def sparingly(tools: Any) -> str:
    return "Use them sparingly."


FUNCTIONS: dict[str, Any] = {
    **{"words": is_no_tool, "helper": is_of_helper, "not tool1": is_not_tool1},
    **{"shorter": shorter, "choosing": two_keys, "sparingly": sparingly},
    **{"first": first_key, "where": whereabouts, "now": clock, "fails": failing},
}
SECTIONS: dict[str, Callable[..., sections.Section]] = {
    **{"additional": additional, "catalogue": sections.Catalogue, "custom": sections.Custom},
    **{"history": sections.History, "inbox": sections.Inbox, "input": sections.Input},
    **{"instructions": sections.Instructions, "pooled": sections.Pooled, "tools": sections.ToolGuide},
}


def section_of(raw: Json) -> sections.Section:
    options = dict(raw.get("options", {}))
    if "share" in options:
        options["share"] = tokens.Share(**options["share"])
    for name in {"where", "transform"} & options.keys():
        options[name] = FUNCTIONS[options[name]]
    args = [FUNCTIONS[arg["function"]] if isinstance(arg, dict) else arg for arg in raw.get("args", ())]
    return SECTIONS[raw["kind"]](*args, **options)


def template_of(raw: Json) -> context.Template:
    parts = map(section_of, raw["sections"])
    return context.Template(*parts, budget=budget_of(raw["budget"]), model=raw.get("model"))


def ask_of(raw: Json, view: View, now: float) -> sections.Ask:
    """An ask; where `input` is true, the last item is its input."""
    return sections.Ask(
        views={"main": view},
        pool=Pool(notes_of(raw.get("notes", []))),
        tools=raw.get("tools", ()),
        scope=raw.get("scope", ""),
        conversation=raw.get("conversation", ""),
        input=view[-1] if raw.get("input") and len(view) else None,
        inbox=[one for one in items_of(raw.get("inbox", [])) if isinstance(one, Message)],
        now=now,
    )


def contexts(run: Run, given: Json) -> Json:
    transcript = Transcript()
    run.grow(transcript, given["items"])
    ask = ask_of(given["ask"], transcript.view, run.time)
    counter = None if given.get("by_model") else FOUR
    building = template_of(given["template"]).build(ask, counter=counter, output=given.get("output"))
    built = asyncio.run(building)
    receipt, plan = built.receipt, built.plan
    return {
        "items": run.ids(built.items),
        "tokens": dict(built.tokens),
        "total": [receipt.tokens, receipt.counted, receipt.available, receipt.schemas, receipt.output],
        "lines": [line[:4] for line in receipt.lines()],
        "entries": [entry[:6] for entry in receipt.entries],
        "plan": [plan.static, plan.slow, plan.key],
        "room": [built.room(name).tokens for name in built.tokens],
        "advice": len(receipt.advice),
        "texts": [digest(item.text) for item in built.items if isinstance(item, Message)],
    }


def conversations(run: Run, given: Json) -> Json:
    """Contexts turn after turn: how much each shares with the one before it."""
    template, transcript = template_of(given["template"]), Transcript()
    previous: context.Context | None = None
    told: list[Json] = []
    for raw in given["turns"]:
        run.grow(transcript, raw)
        ask = ask_of(given["ask"], transcript.view, run.time)
        try:
            built = asyncio.run(template.build(ask, counter=FOUR, previous=previous))
        except QuireError as error:
            told.append(type(error).__name__)
            continue
        told.append([len(built.items), built.shared, built.receipt.tokens])
        previous = built
    return told


def replays(run: Run, given: Json) -> Json:
    options = {name: given[name] for name in ("tokens", "volatile", "tools")}
    policy = POLICIES[given["policy"]]
    # The histories are short: of a model that is not known any beginning can be cached.
    played = replay(items_of(given["items"]), policy, counter=FOUR, model="some-model", **options)
    return {"refused": played.refused, "calls": [list(call) for call in played.calls]}


# Rows

CATEGORIES: dict[str, Callable[[Run, Json], Json]] = {
    **{"codec": codec, "text": text_counts, "item": item_counts, "tools": tool_counts, "facts": facts},
    **{"cost": costs, "budget": shared_out, "calibration": calibration},
    **{"view": views, "merge": merges, "pool": pools},
    **{"plan": plans, "stretch": stretches, "read_back": read_backs},
    **{"context": contexts, "conversation": conversations, "replay": replays},
}


def compute(category: str, given: Json) -> Json:
    """The output of one row."""
    run = Run()
    with use_clock(lambda: run.time):
        return attempt(CATEGORIES[category], run, given)
