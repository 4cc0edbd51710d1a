"""How the golden corpora of items, tokens, state, compactors, sections and context are computed and compared.

A row holds a category, an input and the expected output, all as JSON. Each category is one function here.
Ids that the library makes up are written as `~1`, `~2` …, in the order in which they appear.
"""

import asyncio
import json
import lzma
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from quire.compactors import (
    Cascade,
    ClearToolResults,
    Compactor,
    Offload,
    Plan,
    Planner,
    Room,
    Summarize,
    TruncateOldest,
    in_words,
    leaving_out,
    old_turns,
    read_back,
    record,
)
from quire.context import POLICIES, Context, Template, diff, replay
from quire.errors import Irreducible, OverBudget, QuireError
from quire.items import (
    JSON,
    MSGPACK,
    Item,
    Message,
    Note,
    Reasoning,
    ToolCall,
    ToolResult,
    kind_of,
    new_id,
    use_clock,
)
from quire.sections import (
    Additional,
    Ask,
    Catalogue,
    Custom,
    History,
    Inbox,
    Input,
    Instructions,
    Pooled,
    Section,
    ToolGuide,
    choosing,
)
from quire.state import (
    Inherit,
    Pool,
    Transcript,
    View,
    Window,
    brief,
    by_agent,
    by_role,
    config_at,
    empty,
    fork_scoped,
    instructions,
    merge_all,
    merge_result,
    of_kind,
    plan_summary,
    select,
    structural,
    tool_traffic,
    truncate,
    using_tool,
)
from quire.tokens import (
    Budget,
    Calibrated,
    Counter,
    Prices,
    Share,
    Usage,
    cost,
    counter_for,
    estimate,
    facts_for,
    schema_tokens,
)

Json = Any
"""A value that JSON can hold."""

DATA = Path(__file__).parent / "data"
CORPORA = ("codec", "tokens", "views", "plans", "contexts")


class FourCharacters:
    """Counts four characters as one token, so that the figures do not depend on a vocabulary."""

    key = "four-characters"

    def count(self, item: Item) -> int:
        text = getattr(item, "text", None) or getattr(item, "arguments", "")
        return 4 + len(text) // 4

    def total(self, counted: int) -> int:
        return counted + 3


FOUR = FourCharacters()


class Run:
    """One row while it is computed: the clock, and the ids that were seen."""

    def __init__(self) -> None:
        self.time = 0.0
        self.seen: set[str] = set()

    def ids(self, items: Iterable[Item]) -> list[str]:
        ids = [item.id for item in items]
        self.seen.update(ids)
        return ids

    def written(self, items: Iterable[Item]) -> Json:
        """Items as JSON values."""
        several = list(items)
        self.ids(several)
        return json.loads(JSON.encode(several))

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


def attempt(compute: Callable[[], Json]) -> Json:
    """What a function gives, or the class of its error."""
    try:
        return compute()
    except OverBudget as error:
        return {"error": type(error).__name__, "over": error.over, "parts": list(error.parts)}
    except Irreducible as error:
        return {"error": type(error).__name__, "parts": list(error.parts)}
    except Exception as error:
        return {"error": type(error).__name__}


# Codec


def codec(run: Run, given: Json) -> Json:
    """Decode one item or an array, and encode it again in both formats."""
    data: bytes = given["text"].encode() if "text" in given else b64decode(given["base64"])
    form = MSGPACK if given.get("msgpack") else JSON
    items = [form.decode_item(data)] if given.get("one") else form.decode(data)
    run.ids(item for item in items if len(item.id) == len(new_id()))
    packed = MSGPACK.decode(MSGPACK.encode(items))
    return {
        "kinds": [kind_of(item) for item in items],
        "json": json.loads(JSON.encode(items)),
        "same_as_msgpack": packed == items,
        "same_one_by_one": [JSON.decode_item(JSON.encode_item(item)) for item in items] == items,
    }


# Tokens

MODELS = (
    *("gpt-5.6", "gpt-4.1-mini", "gpt-4o", "gpt-4", "o4-mini", "claude-sonnet-4-5", "claude-opus-4-8"),
    *("gemini-2.5-pro", "gemini-3-pro", "mistral-large", "something-else"),
)


def text_counts(run: Run, given: Json) -> Json:
    message = Message("user", given["text"], id="m", created_at=0.0)
    return {"estimate": estimate(given["text"]), "counts": [counter_for(m).count(message) for m in MODELS]}


def item_counts(run: Run, given: Json) -> Json:
    return [[counter_for(model).count(item) for model in MODELS] for item in items_of(given["items"])]


def tool_counts(run: Run, given: Json) -> Json:
    counters: list[Counter] = [FOUR, *map(counter_for, MODELS)]
    return [schema_tokens(given["tools"], counter) for counter in counters]


def facts(run: Run, given: Json) -> Json:
    found = facts_for(given["model"])
    prices, images = found.prices, found.images
    return {
        "limits": [found.window, found.output, found.cache_minimum, found.flat_until, found.cache_seconds],
        "prices": [
            prices.input,
            prices.output,
            prices.cache_read,
            prices.cache_write,
            prices.cache_write_long,
        ],
        "features": sorted(found.features),
        "provider": found.provider,
        "images": [images.count, images.bytes, images.side, images.many, images.many_side],
        "counted_as": [found.vocabulary or found.scale, found.framing, found.media],
    }


def costs(run: Run, given: Json) -> Json:
    usage = sum((Usage(**one) for one in given["usages"]), Usage())
    found = facts_for(given["model"])
    both = [cost(found, usage, long_cache=long) for long in (False, True)]
    return [None if one is None else round(one, 12) for one in both]


def budget_of(raw: Json) -> Budget:
    shares = {name: Share(**share) for name, share in raw.get("shares", {}).items()}
    return Budget(window=raw["window"], reserve=raw.get("reserve", 0), shares=shares)


def shared_out(run: Run, given: Json) -> Json:
    return budget_of(given["budget"]).shared_out(given["requests"])


def calibration(run: Run, given: Json) -> Json:
    """What a calibrated counter learns from each report."""
    counter = Calibrated(counter_for(given["model"]))
    learned: list[list[float | None]] = []
    for counted, reported in given["reports"]:
        counter.learn(counted, reported)
        bound = counter.error_bound
        figures = (counter.factor, counter.overhead, bound, float(counter.total(counted)))
        learned.append([None if figure is None else round(figure, 6) for figure in figures])
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
    end = transcript.revision
    revisions = (end // 4, end // 2, end - 1, end + 1)
    return [attempt(lambda revision=revision: _at(run, transcript.at(revision))) for revision in revisions]


def _at(run: Run, view: View) -> Json:
    shown = run.ids(view)
    configs = [list(config_at(view, index)) for index in range(0, len(shown), 5)]
    return {
        "shown": shown,
        "tokens": view.tokens(FOUR),
        "pending": run.ids(view.pending()),
        "configs": configs,
    }


def ask_truncate(run: Run, transcript: Transcript) -> Json:
    view = transcript.view
    rooms = (view.tokens(FOUR) * percent // 100 for percent in (15, 40, 70, 95, 100))

    def cut(tokens: int) -> Json:
        edit = truncate(view, tokens=tokens, counter=FOUR)
        return edit and [[span.first, span.last] for span in edit.spans]

    return [attempt(lambda tokens=tokens: cut(tokens)) for tokens in rooms]


def ask_select(run: Run, transcript: Transcript) -> Json:
    questions = (
        *(by_role("user"), by_role("assistant", "system"), by_agent("helper"), using_tool("tool1")),
        *(of_kind(ToolCall, Note), empty, instructions, structural, tool_traffic),
        *(by_agent(None) & ~tool_traffic, instructions | using_tool("tool2")),
    )
    return [run.ids(select(transcript.view, question)) for question in questions]


def ask_fork(run: Run, transcript: Transcript) -> Json:
    """A fork, scoped forks, and that the parent stays as it is."""
    before = run.ids(transcript.view)
    scopes: list[Json] = [{}, {"turns": 1}, {"turns": 3}, {"tools": ["tool1"]}, {"turns": 2, "tools": []}]
    forks = [attempt(lambda scope=scope: _forked(run, fork_scoped(transcript, **scope))) for scope in scopes]
    return {"forks": [_forked(run, transcript.fork()), *forks], "same": before == run.ids(transcript.view)}


def _forked(run: Run, fork: Transcript) -> Json:
    return {"shown": run.ids(fork.view), "revision": fork.revision, "config": list(config_at(fork.view))}


QUESTIONS = {"at": ask_at, "truncate": ask_truncate, "select": ask_select, "fork": ask_fork}


def views(run: Run, given: Json) -> Json:
    transcript = Transcript()
    refused = run.grow(transcript, given["items"])
    answers = {name: QUESTIONS[name](run, transcript) for name in given["ask"]}
    return {"refused": refused, **view_of(run, transcript), **answers}


def merges(run: Run, given: Json) -> Json:
    """A child that goes on while its parent does, and comes back twice."""
    parent = Transcript()
    run.grow(parent, given["items"])
    child = _child(parent, given["how"])
    run.ids(child.recorded())
    run.grow(parent, given["meanwhile"])
    rounds: list[Json] = []
    for raw in given["rounds"]:
        refused = run.grow(child, raw)
        new = attempt(lambda: _merged(run, parent, child, given["verb"], given["agent"]))
        rounds.append({"refused": refused, "new": new, "parent": view_of(run, parent)})
    return {"child": view_of(run, child), "rounds": rounds}


def _child(parent: Transcript, how: Json) -> Transcript:
    if "brief" in how:
        return brief(how["brief"], how.get("task"), "worker")
    return fork_scoped(parent, **how["scope"]) if "scope" in how else parent.fork()


def _merged(run: Run, parent: Transcript, child: Transcript, verb: str, agent: str | None) -> Json:
    if verb != "summary":
        return run.written((merge_all if verb == "all" else merge_result)(parent, child, agent))
    plan = plan_summary(parent, child, agent)
    if plan is None or (summary := plan.summary("What the child did.")) is None:
        return None
    parent.append(summary)
    return {"about": run.ids(plan.items), "summary": run.written([summary])}


def pools(run: Run, given: Json) -> Json:
    pool = Pool(limit=given["limit"])
    return [attempt(lambda step=step: _pooled(run, pool, *step)) for step in given["steps"]]


def _pooled(run: Run, pool: Pool, verb: str, value: Json) -> Json:
    touched: list[Item | None] = []
    match verb:
        case "add":
            touched = [pool.add(note) for note in items_of([value]) if isinstance(note, Note)]
        case "remove":
            touched = [pool.remove(value)]
        case "clear":
            touched = list(pool.clear())
        case _:
            pool = pool.fork(Inherit.LIMIT if value == "inherit" else value)
    return {"gone": run.ids(filter(None, touched)), "left": run.ids(pool), "catalogue": pool.catalogue()}


def windows(run: Run, given: Json) -> Json:
    window = Window[str](given["things"], limit=given["limit"])
    fallen = [window.add(*things) for things in given["adds"]]
    branch = window.branch(given["branch"])
    return {"fallen": fallen, "left": list(window), "branch": list(branch), "cleared": window.clear()}


# Compactors

COMPACTORS: dict[str, Callable[..., Compactor]] = {
    "cascade": Cascade,
    "clear": ClearToolResults,
    "offload": Offload,
    "planner": Planner,
    "summarize": Summarize,
    "truncate": TruncateOldest,
}


def compactor_of(raw: Json) -> Compactor:
    inner = [compactor_of(one) for one in raw.get("of", ())]
    options = dict(raw.get("options", {}))
    if "prices" in options:
        options["prices"] = Prices(**options["prices"])
    return COMPACTORS[raw["kind"]](*inner, **options)


def plans(run: Run, given: Json) -> Json:
    transcript = Transcript()
    run.grow(transcript, given["items"])
    return [attempt(lambda case=case: _planned(run, transcript.copy(), case)) for case in given["cases"]]


def _planned(run: Run, transcript: Transcript, case: Json) -> Json:
    """The plan, and what recording it does. Where it asks for words, `much` times the size is written."""
    room = Room(case["tokens"], FOUR, case.get("early", False), case.get("reads"))
    plan = compactor_of(case["compactor"]).plan(transcript.view, room)
    if plan is None:
        return None
    pool = Pool()
    text = None if plan.request is None else "w" * max(int(4 * plan.request.size * case["much"]), 3)
    run.grow(transcript, case.get("meanwhile", []))
    outcome = record(transcript, plan, text=text, pool=pool)
    after = {"fate": outcome.fate, "shown": run.ids(transcript.view), "edits": run.written(outcome.edits)}
    return {**_plan(run, plan), **after, "tokens": transcript.view.tokens(FOUR)}


def _plan(run: Run, plan: Plan) -> Json:
    asked, forecast = plan.request, plan.forecast
    return {
        "plan": [plan.by, plan.before, plan.after],
        "planned": run.written(plan.edits),
        "notes": [[note.key, note.content] for note in plan.notes],
        "request": asked
        and {
            "prompt": [_digest(getattr(item, "text", "")) for item in asked.prompt],
            "size": asked.size,
            "spans": [[span.first, span.last] for span in asked.spans],
            "about": list(asked.items),
            "part": [asked.revision, asked.asked_for, asked.is_part],
        },
        "forecast": forecast and [round(figure, 9) for figure in forecast],
    }


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def stretches(run: Run, given: Json) -> Json:
    """The old turns of a view, what hiding all but some items takes, and the items in words."""
    transcript = Transcript()
    run.grow(transcript, given["items"])
    view = transcript.view
    found = [old_turns(view, keep) for keep in (0, 1, 3)]
    hide = attempt(lambda: [[one.first, one.last] for one in _spans(view)])
    told = [one and [run.ids(one.items), [[s.first, s.last] for s in one.spans]] for one in found]
    return {"old_turns": told, "leaving_out": hide, "in_words": _digest(in_words(view))}


def _spans(view: View) -> Sequence[Any]:
    edit = leaving_out(view, [item.id for item in list(view)[::3]])
    return edit.spans if edit else ()


def read_backs(run: Run, given: Json) -> Json:
    pool = Pool(note for note in items_of(given["notes"]) if isinstance(note, Note))
    return [
        attempt(
            lambda handle=handle, tokens=tokens, start=start: read_back(pool, handle, FOUR, tokens, start)
        )
        for handle, tokens, start in given["reads"]
    ]


# Sections and contexts


def _shorter(item: Item) -> Item | None:
    """A transform that drops thoughts and failed results, and shortens answers."""
    if isinstance(item, Reasoning) or (isinstance(item, ToolResult) and item.is_error):
        return None
    if isinstance(item, Message) and item.role == "assistant":
        return Message("assistant", item.text[:6], id=item.id, created_at=item.created_at)
    return item


FUNCTIONS: dict[str, Any] = {
    "words": ~tool_traffic,
    "helper": by_agent("helper"),
    "not tool1": ~using_tool("tool1"),
    "shorter": _shorter,
    "choosing": choosing(lambda prompt: "[b], [a] and [nothing]", limit=2),
    "first": lambda catalogue, ask: [note.key for note in ask.pool][:1],
    "where": lambda scope, conversation, parameters: [{"role": "user", "content": f"{scope}/{conversation}"}],
    "now": lambda ask: [Message("system", f"It is {ask.now}.", id=f"now-{ask.now}", created_at=0.0)],
    "fails": lambda ask: [][1],
}
SECTIONS: dict[str, Callable[..., Section]] = {
    "additional": Additional,
    "catalogue": Catalogue,
    "custom": Custom,
    "history": History,
    "inbox": Inbox,
    "input": Input,
    "instructions": Instructions,
    "pooled": Pooled,
    "tools": ToolGuide,
}


def section_of(raw: Json) -> Section:
    options = dict(raw.get("options", {}))
    if "share" in options:
        options["share"] = Share(**options["share"])
    for name in ("where", "transform", "select"):
        if name in options:
            options[name] = FUNCTIONS[options[name]]
    args = [FUNCTIONS[arg["function"]] if isinstance(arg, dict) else arg for arg in raw.get("args", ())]
    return SECTIONS[raw["kind"]](*args, **options)


def template_of(raw: Json) -> Template:
    sections = map(section_of, raw["sections"])
    return Template(*sections, budget=budget_of(raw["budget"]), model=raw.get("model"))


def _ask(raw: Json, view: View, now: float) -> Ask:
    """An ask; its input is the last item where `input` is true, or one by its id."""
    given = raw.get("input")
    last = view[-1] if given is True and len(view) else view.get(given) if isinstance(given, str) else None
    return Ask(
        views={"main": view},
        pool=Pool(note for note in items_of(raw.get("notes", [])) if isinstance(note, Note)),
        tools=raw.get("tools", ()),
        scope=raw.get("scope", ""),
        conversation=raw.get("conversation", ""),
        input=last,
        inbox=[one for one in items_of(raw.get("inbox", [])) if isinstance(one, Message)],
        now=now,
    )


def _built(template: Template, raw: Json, ask: Ask, previous: Context | None = None) -> Context:
    counter = None if raw.get("by_model") else FOUR
    return asyncio.run(template.build(ask, counter=counter, previous=previous, output=raw.get("output")))


def contexts(run: Run, given: Json) -> Json:
    transcript = Transcript()
    run.grow(transcript, given["items"])
    ask = _ask(given["ask"], transcript.view, run.time)
    context = _built(template_of(given["template"]), given, ask)
    receipt, plan = context.receipt, context.plan
    entries = [entry._replace(reason="") for entry in receipt.entries]
    return {
        "items": run.ids(context.items),
        "tokens": dict(context.tokens),
        "total": [receipt.tokens, receipt.counted, receipt.available, receipt.schemas, receipt.output],
        "lines": [line[:4] for line in receipt.lines()],
        "entries": [[run.seen.add(one.item_id), *one[:6]][1:] for one in entries],
        "plan": [plan.static, plan.slow, plan.key],
        "room": {name: context.room(name).tokens for name in context.tokens},
        "advice": len(receipt.advice),
        "texts": [_digest(item.text) for item in context.items if isinstance(item, Message)],
    }


def conversations(run: Run, given: Json) -> Json:
    """Contexts turn after turn: how much each shares with the one before it."""
    template, transcript = template_of(given["template"]), Transcript()
    previous: Context | None = None
    told: list[Json] = []
    for raw in given["turns"]:
        run.grow(transcript, raw)
        ask = _ask(given["ask"], transcript.view, run.time)
        try:
            context = _built(template, given, ask, previous)
        except QuireError as error:
            told.append(type(error).__name__)
            continue
        changes = 0 if previous is None else len(diff(previous, context))
        told.append([len(context.items), context.shared, context.receipt.tokens, changes])
        previous = context
    return told


def replays(run: Run, given: Json) -> Json:
    policy = POLICIES[given["policy"]]
    played = replay(
        items_of(given["items"]),
        policy,
        tokens=given["tokens"],
        counter=FOUR,
        volatile=given["volatile"],
        tools=given["tools"],
    )
    return {"refused": played.refused, "calls": [list(call) for call in played.calls]}


CATEGORIES: dict[str, Callable[[Run, Json], Json]] = {
    **{"codec": codec, "text": text_counts, "item": item_counts, "tools": tool_counts, "facts": facts},
    **{"cost": costs, "budget": shared_out, "calibration": calibration},
    **{"view": views, "merge": merges, "pool": pools, "window": windows},
    **{"plan": plans, "stretch": stretches, "read_back": read_backs},
    **{"context": contexts, "conversation": conversations, "replay": replays},
}


# Rows


def compute(row: Json) -> Json:
    """The output of one row, as JSON values."""
    run = Run()
    with use_clock(lambda: run.time):
        found = attempt(lambda: CATEGORIES[row["category"]](run, row["input"]))
    text, known = json.dumps(found), json.dumps(row["input"])
    made = [one for one in run.seen if json.dumps(one) not in known and one in text]
    names = {one: f"~{number}" for number, one in enumerate(sorted(made, key=lambda one: text.index(one)), 1)}
    for one in sorted(made, key=len, reverse=True):
        text = text.replace(one, names[one])
    return json.loads(text)


def read_rows(corpus: str) -> list[Json]:
    text = lzma.decompress((DATA / f"{corpus}.jsonl.xz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def write_rows(corpus: str, rows: Iterable[Json]) -> None:
    lines = (json.dumps(row, separators=(",", ":")) for row in rows)
    data = "".join(f"{line}\n" for line in lines).encode()
    (DATA / f"{corpus}.jsonl.xz").write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


Difference = tuple[str, Json, Json]
"""Where two values differ, with every index left out, and both of them there."""


def differences(expected: Json, found: Json, path: str) -> Iterator[Difference]:
    if isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        for key in expected:
            yield from differences(expected[key], found[key], f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for one, other in zip(expected, found, strict=True):
            yield from differences(one, other, f"{path}[]")
    elif expected != found or type(expected) is not type(found):
        yield path, expected, found


def changes(corpus: str) -> Iterator[tuple[int, Difference]]:
    """Every difference between what a corpus holds and what is computed now, with the number of its row."""
    for number, row in enumerate(read_rows(corpus)):
        for found in differences(row["expected"], compute(row), row["category"]):
            yield number, found
