"""Many tools in few tokens: what a toolbox of 200 tools costs in recorded conversations, and what it finds.

Usage: python bench/toolbox.py PATH [--tokens N] [--found-by user] [--all] [--wires NAME ...] [--page FILE]

The file has one JSON object a line, with `messages` as OpenAI's chat API has them. An agent answers those
that call 1 to 4 tools: each in a conversation of its own (`apart`), and those with the commonest
instructions in one (`joined`), within 32,000 tokens. It has the 28 tools of the recorded calls, and 172 that
nobody needs, of about 400 tokens each. In place of a model, a script gives the recorded replies. Where a
call is of a tool that is not shown, it searches once before: with the description that the catalogue has,
without the name, or with what the user said last (`--found-by user`). All else is as in use: the agent runs
the tools, which give the recorded results, and each payload is checked against the rules of its provider.

- `definitions`: tokens of definitions and of the catalogue in a request in the mean, as a share of those of
  all 200 definitions; `most`: in the largest request.
- `shown`: the share of first calls of a tool, in a conversation, that needed no search; `found`: that had the
  tool shown, or found by one search. `searches`: of all requests, the share that only search.
- `cached`: the longest beginning that a request has in common with the one before it, tools first, as a share
  of what is sent. `then`: the same without the first request of each conversation, of which nothing can be
  cached. `bill`: the tokens in thousands, where a cached one costs 0.1 and another one 1.25.

With `--all`, the agent shows all 200 definitions, to compare.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import page
from quire import Agent, Budget, Session, Template, ToolCall
from quire.agent import Tool, Toolbox
from quire.agent.toolbox import FIND
from quire.items import Item, Message
from quire.models import Scripted
from quire.sections import History, Instructions
from quire.state import is_output
from quire.stores import MemoryStore
from quire.tokens import counter_for, schema_tokens
from recorded import CACHED, MODELS, NOT_CACHED, conversations, read

TOKENS, ALL, WINDOW = 6_400, 200, 32_000
MOST_TOOLS = 4
COUNTER = counter_for(MODELS["openai"])

ABOUT = {
    "book_reservation": "Book a flight reservation for a customer, with passengers, payment and baggage.",
    "calculate": "Work out the value of an arithmetic expression, such as a total price or a difference.",
    "cancel_reservation": "Cancel a whole flight reservation and refund the payment.",
    "get_reservation_details": "Read a flight reservation: passengers, flights, cabin, baggage and payment.",
    "get_user_details": "Read the profile of an airline customer: address, membership, payment methods.",
    "list_all_airports": "List the airports that are served, with their codes and cities.",
    "search_direct_flight": "Search for direct flights between two cities on a date.",
    "search_onestop_flight": "Search for flights with one stop between two cities on a date.",
    "send_certificate": "Send a travel certificate to a customer as a compensation.",
    "think": "Write down a thought before acting; nothing else is done.",
    "transfer_to_human_agents": "Hand the customer over to a human agent, with a summary of the issue.",
    "update_reservation_baggages": "Change how many pieces of baggage a flight reservation has.",
    "update_reservation_flights": "Change the flights or the cabin of a flight reservation.",
    "update_reservation_passengers": "Correct the names or birth dates of the passengers of a reservation.",
    "Finish": "Give the final answer of the task, or give up and start again.",
    "transitaires_for_transitaires": "List freight forwarders of a transport company directory.",
    "transitaire_for_transitaires": "Read one freight forwarder of the directory by its identifier.",
    "products_for_seo_api": "Find products for a query in a shopping search engine.",
    "news_for_seo_api": "Find news articles for a query in a search engine.",
    "search_b_for_seo_api": "Run a web search for a query in a second search engine.",
    "carriers_detect_for_trackingmore_v2": "Detect the carrier of a parcel from its tracking number.",
    "packages_v2_track_for_trackingmore_v2": "Track a package by number and carrier.",
    "api_tracking_for_pack_send": "Track a consignment of the pack and send service by its reference.",
    "get_track_info_for_pridnestrovie_post": "Read where a parcel of the Pridnestrovie post is.",
    "retorna_dados_do_endere_o_atrav_s_do_cep_for_cep_brazil": "Look up an address in Brazil by its code.",
    "search_people_q_query_for_tvmaze": "Search for actors and other people of television by name.",
    "search_basic_free_for_streaming_availability": "Find films and series to be streamed in a country.",
    "list_of_cocktails_for_the_cocktail_db": "List cocktails with their ingredients and pictures.",
}
"""The tools of the recorded calls; the descriptions are ours."""

THINGS = {
    "hotel_booking": "a room in a hotel",
    "car_rental": "a rented car",
    "train_ticket": "a seat in a train",
    "restaurant_table": "a table in a restaurant",
    "calendar_event": "an event of a calendar",
    "email_thread": "a thread of emails",
    "invoice": "an invoice to a business customer",
    "product": "a product of the shop",
    "purchase_order": "an order to a supplier",
    "warehouse_stock": "the stock of a warehouse",
    "support_ticket": "a ticket of the help desk",
    "code_repository": "a repository of source code",
    "pull_request": "a pull request with its reviews",
    "document_page": "a page of the company wiki",
    "contact_person": "a contact of the sales team",
    "bank_transfer": "a transfer between bank accounts",
    "loyalty_account": "an account of the loyalty programme",
    "insurance_claim": "a claim against an insurance",
    "weather_alert": "a weather alert of a region",
    "newsletter": "a newsletter and its readers",
    "subscription": "a monthly subscription",
    "employee_record": "the record of an employee",
    "training_course": "a course for employees",
    "network_device": "a device in the network",
    "airport_lounge": "a visit to an airport lounge",
}
DEEDS = {
    "get": "Read the details of",
    "search": "Search by words for",
    "list": "List, page by page, each",
    "create": "Create",
    "update": "Change some fields of",
    "cancel": "Cancel or close",
    "export": "Write to a file",
}
FIELDS = ("identifier", "customer_id", "start_date", "end_date", "status", "limit", "cursor", "reason")
"""The parameters of tools that nobody needs, and of the others beside those of their calls."""

NOTES = (
    "Returns one object as JSON; a field without a value is null, and times are in UTC.",
    "Fails with a code and a sentence where access is refused, and changes nothing then.",
    "Limits: sixty calls in a minute, and a hundred rows in a page; go on with the cursor.",
    "Do not guess identifiers: read them from the results of other calls, or ask the person.",
)


def definition(name: str, about: str, fields: Iterable[str] = ()) -> dict[str, Any]:
    """A definition of about 400 tokens."""
    names = list(dict.fromkeys((*fields, *FIELDS)))[: max(len(FIELDS), len(tuple(fields)))]
    properties = {
        field: {
            "type": "string",
            "description": f"The {field.replace('_', ' ')}, as other calls return it; without it, all are "
            "meant. An unknown value is an error, which names the values that are known to you.",
        }
        for field in names
    }
    parameters = {"type": "object", "properties": properties}
    return {"name": name, "description": "\n".join((about, *NOTES)), "parameters": parameters}


def definitions(path: Path) -> dict[str, dict[str, Any]]:
    """All 200, by name: those of the recorded calls with the parameters that these have."""
    fields: dict[str, set[str]] = defaultdict(set)
    for messages in conversations(path):
        for _, name, arguments in calls_in(messages):
            fields[name] |= arguments.keys()
    found = {name: definition(name, about, sorted(fields[name])) for name, about in ABOUT.items()}
    for deed, thing in product(DEEDS, THINGS):
        if len(found) < ALL:
            found[f"{deed}_{thing}"] = definition(f"{deed}_{thing}", f"{DEEDS[deed]} {THINGS[thing]}.")
    return found


def calls_in(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for message in messages:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            try:
                arguments = json.loads(function["arguments"] or "{}")
            except ValueError:
                arguments = {}
            yield call["id"], function["name"], arguments if isinstance(arguments, dict) else {}


# Replaying


class Task(NamedTuple):
    """A recorded conversation: instructions, and turns of what the user says and what the model replies."""

    instructions: str
    turns: list[tuple[str, list[list[Item]]]]
    results: dict[str, list[str]]
    """What each tool gave, in order."""


def tasks(path: Path) -> list[Task]:
    """The recorded conversations that call 1 to 4 of the tools."""
    known = []
    for messages in conversations(path):
        names = {name for _, name, _ in calls_in(messages)}
        if 1 <= len(names) <= MOST_TOOLS and names <= ABOUT.keys():
            known.append(task(messages))
    return known


def task(messages: list[dict[str, Any]]) -> Task:
    instructions = messages[0]["content"] if messages[0]["role"] == "system" else ""
    turns: list[tuple[str, list[list[Item]]]] = []
    results: dict[str, list[str]] = defaultdict(list)
    items = [item for item in read(messages) if not (isinstance(item, Message) and item.role == "system")]
    replies: list[list[Item]] = []
    for before, item in zip((None, *items), items, strict=False):
        if isinstance(item, Message) and item.role == "user":
            replies = []
            turns.append((item.text, replies))
        elif not is_output(item):
            results[item.name].append(item.text)
        elif turns and before is not None and is_output(before) and replies:
            replies[-1].append(item)
        elif turns:
            replies.append([item])
    return Task(instructions, turns, results)


class Figures:
    def __init__(self) -> None:
        self.requests = self.searches = self.first = self.shown = self.found = 0
        self.sent = self.cached = self.cold = self.largest = self.defined = 0

    def row(self, whole: int) -> dict[str, float]:
        return {
            "definitions": self.defined / self.requests / whole,
            "most": self.largest / whole,
            "shown": self.shown / max(self.first, 1),
            "found": self.found / max(self.first, 1),
            "searches": self.searches / self.requests,
            "cached": self.cached / self.sent,
            "then": self.cached / (self.sent - self.cold),
            "bill": (CACHED * self.cached + NOT_CACHED * (self.sent - self.cached)) / 1_000,
            "requests": self.requests,
        }


class Model:
    """The replies of a task; it searches where a tool is not shown."""

    def __init__(self, figures: Figures, about: Mapping[str, str], found_by: str, catalogue: int) -> None:
        self.figures, self.about, self.found_by, self.catalogue = figures, about, found_by, catalogue
        self.replies: list[list[Item]] = []
        self.said = ""
        self._searched, self._called = set[str](), set[str]()
        self._last: list[str] = []

    def __call__(self, sent: Any) -> Any:
        self._measure(sent.payload)
        shown = {name for one in tools_of(sent.payload) for name in names_in(one)}
        reply = self.replies[0] if self.replies else [Message("assistant", "Done.")]
        needed = [item.name for item in reply if isinstance(item, ToolCall)]
        missing = [name for name in dict.fromkeys(needed) if name not in shown]
        if missing and not self._searched.issuperset(missing):
            self._searched.update(missing)
            self.figures.searches += 1
            words = self.said if self.found_by == "user" else " ".join(self.about[name] for name in missing)
            return ToolCall(f"s{self.figures.requests}", FIND, json.dumps({"query": words}))
        for name in dict.fromkeys(needed):
            if name not in self._called:
                self.figures.first += 1
                self.figures.shown += name in shown and name not in self._searched
                self.figures.found += name in shown
        self._called.update(needed)
        self._searched.clear()
        self.replies = self.replies[1:]
        return [
            ToolCall(f"c{self.figures.requests}_{place}", item.name, item.arguments)
            if isinstance(item, ToolCall)
            else Message("assistant", item.text or "Yes.")
            for place, item in enumerate(reply)
            if isinstance(item, ToolCall | Message)
        ]

    def _measure(self, payload: Mapping[str, Any]) -> None:
        offered = [one for tool in tools_of(payload) for one in tools_in(tool)]
        deferred = {one["name"]: json.dumps(one) for one in offered if one.get("defer_loading")}
        tools = [json.dumps(one) for one in offered if not one.get("defer_loading")]
        units = tools + units_of(payload)
        loaded = [
            sum(tokens_of(deferred[name]) for name in deferred if reference(name) in one) for one in units
        ]
        tokens = [tokens_of(unit) + more for unit, more in zip(units, loaded, strict=True)]
        pairs = enumerate(zip(self._last, units, strict=False))
        same = next(
            (place for place, (one, other) in pairs if one != other), min(len(self._last), len(units))
        )
        figures = self.figures
        figures.requests += 1
        figures.sent += sum(tokens)
        figures.cached += sum(tokens[:same])
        figures.cold += 0 if self._last else sum(tokens)
        defined = schema_tokens(offered, COUNTER) + self.catalogue
        figures.defined += defined
        figures.largest = max(figures.largest, defined)
        self._last = units


def tools_of(payload: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """The entries for tools of a payload."""
    return payload.get("tools") or payload.get("config", {}).get("tools", ())


def tools_in(one: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The definitions that one entry of a payload has."""
    return one.get("function_declarations") or [one]


def names_in(one: Mapping[str, Any]) -> list[str]:
    return [tool.get("function", tool).get("name", "") for tool in tools_in(one)]


def reference(name: str) -> str:
    """What loads a deferred definition in a message of Anthropic's."""
    return json.dumps({"type": "tool_reference", "tool_name": name})


def units_of(payload: Mapping[str, Any]) -> list[str]:
    """Instructions and messages, in order, without cache marks."""
    names = ("instructions", "system", "config", "system_instruction", "messages", "input", "contents")
    units: list[str] = []
    for name in names:
        part = payload.get(name)
        if name == "config" and part:
            part = part.get("system_instruction")
        for one in part if isinstance(part, list) else [part] if part else []:
            units.append(json.dumps(without_marks(one)))
    return units


def without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_marks(one) for name, one in value.items() if name != "cache_control"}
    return [without_marks(one) for one in value] if isinstance(value, list) else value


@cache
def tokens_of(text: str) -> int:
    return COUNTER.count(Message("user", text))


def tools_for(known: Mapping[str, Any], results: Mapping[str, list[str]]) -> list[Any]:
    """The tools as functions: each gives its recorded results in order."""
    return [tool_for(one, results.get(name, [])) for name, one in known.items()]


class Arguments:
    """Takes whatever the recorded call has, under the schema of the definition."""

    returns = str

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._parameters = parameters

    def schema(self) -> Any:
        return self._parameters

    def read(self, given: Mapping[str, Any]) -> Any:
        return {}

    def inject(self, *_: Any) -> Any:
        return {}


def tool_for(one: Mapping[str, Any], results: list[str]) -> Any:
    async def give() -> str:
        return results.pop(0) if results else "{}"

    signature: Any = Arguments(one["parameters"])
    return Tool(give, name=one["name"], description=one["description"], signature=signature)


async def replay(
    told: Sequence[Task], known: Mapping[str, Any], options: Any, wire: str, figures: Figures, shows_all: bool
) -> None:
    """Answer tasks in one conversation."""
    results: dict[str, list[str]] = defaultdict(list)
    for one in told:
        for name, given in one.results.items():
            results[name] += given
    functions = tools_for(known, results)
    box = Toolbox(functions, tokens=options.tokens)
    about = {name: one["description"].partition("\n")[0] for name, one in known.items()}
    model = Model(figures, about, options.found_by, 0 if shows_all else tokens_of(box.catalogue))
    sections = [Instructions(told[0].instructions)] if told[0].instructions else []
    template = Template(*sections, History(), budget=Budget(window=WINDOW + (120_000 if shows_all else 0)))
    scripted = Scripted(model, wire=wire, name=MODELS[wire])
    session = Session.open("bench/toolbox", store=MemoryStore())
    agent = Agent(session, model=scripted, template=template, tools=functions if shows_all else [box])
    for one in told:
        for said, replies in one.turns:
            model.said, model.replies = said, list(replies)
            await agent.ask(said)


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--tokens", type=int, default=TOKENS)
    parser.add_argument("--found-by", choices=("line", "user"), default="line")
    parser.add_argument("--wires", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--limit", type=int, help="so many tasks")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    known, every = definitions(options.path), tasks(options.path)[: options.limit]
    whole = schema_tokens(list(known.values()), COUNTER)
    page.progress(f"{len(known)} definitions, {whole:,} tokens; {len(every)} tasks")
    alike: dict[str, list[Task]] = defaultdict(list)
    for one in every:
        alike[one.instructions].append(one)
    joined = max(alike.values(), key=len)
    rows = []
    for wire in options.wires:
        for way, groups in (("apart", [[one] for one in every]), ("joined", [joined])):
            figures = Figures()
            for group in groups:
                asyncio.run(replay(group, known, options, wire, figures, options.all))
            rows.append({"wire": wire, "way": way} | figures.row(whole))
            page.progress(str(rows[-1]))
    shares = ("definitions", "most", "shown", "found", "searches", "cached", "then")
    cells = [
        [row["wire"], row["way"], *(f"{row[name]:.1%}" for name in shares), row["bill"], row["requests"]]
        for row in rows
    ]
    head = ("wire", "way", *shares, "bill", "requests")
    page.report(options, {"toolbox": page.table(head, cells, left=2)}, rows)


if __name__ == "__main__":
    main()
