"""OpenAI Agents: a session that keeps every item, and a filter that fits each request to the model's window.

`QuireSession` gives back byte for byte what was added. What the model sees is decided before each request, by
its filter. Nothing is deleted: an item that is popped is hidden, and a session that is cleared begins anew.

A run may show an agent another list than its session has: after a hand-off with an input filter, with a
limit, or if the agent is a tool. Such a list is a conversation of its own: `support-7/Billing agent`.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, Unpack, cast

from quire.compactors import READ_BACK, read_back
from quire.context import DEFAULT_MODEL, Template
from quire.errors import InvalidValue, MissingExtra
from quire.integrations.mirror import MARK, Mirror, MirrorOptions, Mirrors
from quire.integrations.openai_items import ItemCodec, Json, id_of
from quire.items import Item, Note
from quire.providers import OPENAI_ITEM_PREFIXES
from quire.session import parts_of
from quire.stores import Store
from quire.tokens import Definition, Usage, counter_for

try:
    from agents import Agent, FunctionTool, Handoff, ModelResponse, RunHooks, TResponseInputItem, handoff
    from agents.memory import SessionSettings
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
    from agents.models import get_default_model
    from agents.models.fake_id import FAKE_RESPONSES_ID
    from agents.run import CallModelData, ModelInputData
except ImportError:
    raise MissingExtra("the OpenAI Agents SDK", "openai-agents") from None

__all__ = ["QuireSession"]

T = TypeVar("T")

GONE = "openai_agents"
"""The transcript that says what is popped and could not be hidden yet."""
_PIECE = 2_000  # tokens of an output that are read back at once
_VARYING = ("id", "status", "provider_data")  # the SDK changes these between a response and what it saves


class QuireSession(RunHooks[Any]):
    """A session of OpenAI Agents in a conversation of Quire; also the hooks of a run.

    An item is *saved* once the runner has added it. During a run the filter and the hooks see items before
    that, and record them at once: these are *ahead*, and follow the saved ones in the list. `add_items` puts
    what it is given in their place, so that each is recorded once. A reply that the hooks have recorded stays
    ahead until it is added; if its run ends without that, by a crash or a failing tool, it is *left*: the
    next run begins with it, and the next `add_items` makes it saved. An item that was popped is *gone*, and
    is hidden; the last message of the user cannot be hidden before there is another, and until then a note
    in the log says that it is gone.
    """

    def __init__(
        self,
        session_id: str,
        template: Template | int | None = None,
        store: str | Path | Store = "quire.db",
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        **options: Unpack[MirrorOptions],
    ) -> None:
        """Open the conversation `session_id`.

        `template` is what the filter shows, or the window of the model in tokens: then the filter shows as
        much of the conversation as fits.
        """
        self.session_id = session_id
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or {})
        if options.get("redact") is not None:
            raise InvalidValue("a QuireSession gives back what was added: redact what you give to the runner")
        self._codec = ItemCodec()
        options.setdefault("provider", "openai-responses")
        self._mirrors = Mirrors(self._codec, template, store, **options)
        self._main = self._mirrors.of(session_id)
        self.conversation = self._main.session
        """The conversation, with its view, its receipts and its spending."""
        self.read_back = FunctionTool(
            READ_BACK["name"], READ_BACK["description"], READ_BACK["parameters"], self._read_back
        )
        """The tool by which an agent reads an output for which there was no room."""
        self._writing = threading.RLock()
        self._lines: dict[str, Mirror[Json]] = {}  # by agent: where its last request was fitted
        self._items: list[Json] = []
        self._read: list[object] = []  # the state of the log when it had these items
        self._saved = 0  # how many of them the runner has added; the filter and the hooks are ahead of it
        self._replies: list[Json] = []  # those that the hooks have recorded in this run
        self._left: list[Json] = []  # those that the hooks have recorded in runs that failed
        self._gone: list[str] = []  # the ids of items that are popped and could not be hidden yet

    # The protocol of sessions

    async def get_items(self, limit: int | None = None, *, wrapper: Any = None) -> list[TResponseInputItem]:
        """Return what was added, or the last `limit` items of it, with what a crash left unsaved."""
        most, items = resolve_session_limit(limit, self.session_settings), await self._do(self._begin)
        items = items if most is None or most < 0 else items[max(len(items) - most, 0) :]
        return cast("list[TResponseInputItem]", _copied(items))

    async def add_items(self, items: list[TResponseInputItem], *, wrapper: Any = None) -> None:
        """Record items. Those that were recorded during the run already are not recorded again."""
        added = _copied(items)
        await self._do(lambda: self._add(added))

    async def pop_item(self, *, wrapper: Any = None) -> TResponseInputItem | None:
        """Hide the last item and return it."""
        items = await self._do(self._pop)
        return cast(TResponseInputItem, items[-1]) if items else None

    async def clear_session(self, *, wrapper: Any = None) -> None:
        """Begin anew: all items are hidden, and stay in the log."""
        await self._do(lambda: self._pop(0))

    async def run_compaction(self, args: Mapping[str, object] | None = None, *, wrapper: Any = None) -> None:
        """Compact what the model sees, if the session has a compactor. `get_items` returns what it returned.

        Nothing happens if it is the runner that asks: the filter begins a compaction as soon as it is due.
        """
        is_asked = args is None or "response_id" not in args or args.get("force")
        if is_asked and parts_of(self.conversation).compactions.compactor is not None:
            await self.conversation.aio.compaction.run()

    # The filter and the hooks

    async def context_filter(self, data: CallModelData[Any]) -> ModelInputData:
        """Fit a request to the template, and keep its receipt: for `RunConfig(call_model_input_filter=…)`."""
        if self._mirrors.template is None:
            raise InvalidValue(
                "the filter fits requests to the window of the model: give it to the session, as in "
                "QuireSession(session_id, 128_000), or a template"
            )
        agent, told, given = data.agent, data.model_data.instructions, _copied(data.model_data.input)
        mirror, items = await self._do(lambda: self._line(agent.name, given))
        tools, model = _definitions(agent), self._model_of(agent)
        shown = await mirror.afit(items, instructions=told, tools=tools, model=model)
        return ModelInputData(input=_copied([*map(_sendable, shown.messages)]), instructions=told)

    async def on_llm_end(self, context: Any, agent: Agent[Any], response: ModelResponse) -> None:
        """Record what a response used, and its items before they are run, if they are calls of tools.

        An answer is left to the runner, which does not save what a guardrail blocks.
        """
        items: list[Json] = _copied(response.to_input_items())
        items = items if any(map(id_of, items)) else []

        def record() -> None:
            mirror, known = self._lines[agent.name], self._known()
            mirror.record(items, _usage(response), model=self._model_of(agent))
            if mirror is self._main:
                self._replies += items
                self._remember([*known, *items], self._saved)

        if agent.name in self._lines:
            await self._do(record)

    def _model_of(self, agent: Agent[Any]) -> str | None:
        """The name of the model that is asked. A filter is not told of `RunConfig(model=…)`."""
        named = self._mirrors.template.model if self._mirrors.template else None
        given = get_default_model() if agent.model is None else agent.model
        name = named or (given if isinstance(given, str) else getattr(given, "model", None))
        return name if isinstance(name, str) else None

    async def _read_back(self, context: Any, arguments: str) -> str:
        given, mirrors = json.loads(arguments), (self._main, *self._lines.values())
        pools = [mirror.session.pool.copy() for mirror in mirrors]
        pool = next((one for one in pools if given["handle"] in one), pools[0])
        view = self._main.session.view() if len(mirrors) == 1 else None  # numbers of several would clash
        counter, start = counter_for(DEFAULT_MODEL), given.get("start", 0)
        return read_back(pool, given["handle"], counter, _PIECE, start, view)

    def _line(self, agent: str, given: list[Json]) -> tuple[Mirror[Json], list[Json]]:
        """The conversation that a request belongs to, and its whole list."""
        if not self._read:
            raise InvalidValue(
                "the filter fits the history of its session: run with session=… as well. A history that the "
                "server holds (conversation_id, previous_response_id) cannot be fitted"
            )
        items = self._extended(given)
        if items is None:
            self._lines[agent] = self._mirrors.of(self.session_id, agent)
            return self._lines[agent], given
        self._main.follow(items)
        self._remember(items, self._saved)
        self._lines[agent] = self._main
        return self._main, items

    def _extended(self, given: list[Json]) -> list[Json] | None:
        """The items of the session and those of a request that are new; None if its list is another one.

        The runner leaves out calls without a result, and the reasoning before them. They are put back, and
        are sent with a result that says so.
        """
        items, saved, shown, is_open = self._known(), self._saved, list[Json](), False
        known = {None, *map(id_of, self._replies), *(item.get("call_id") for item in given)}
        known.update(id_of(item, "_output") for item in items)
        for item in reversed(items):
            is_open = id_of(item) not in known or (is_open and item.get("type") == "reasoning")
            shown += [] if is_open else [item]
        if given[: len(shown)] == shown[::-1]:
            return [*items, *given[len(shown) :]]
        is_alike = [*map(_bare, given[: len(items)])] == [*map(_bare, items)]
        return [*items[:saved], *given[saved:]] if is_alike and given[:saved] == items[:saved] else None

    # The list of items

    def _add(self, added: list[Json]) -> None:
        """Record items in place of those ahead that are the same. Replies of a run that failed stay."""
        items, saved, known = self._known(), self._saved, [_bare(item) for item in added]
        ahead = items[saved:]
        first = next((number for number, item in enumerate(ahead) if _bare(item) in known), len(ahead))
        before = [item for item in ahead[:first] if item in self._left]
        after = [item for item in ahead[first:] if item in self._replies and _bare(item) not in known]
        self._follow([*items[:saved], *before, *added, *after], len(after))

    def _begin(self) -> list[Json]:
        """The items, which a run may begin with: what was not saved before will not be."""
        self._left, self._replies = [*self._left, *self._replies], []
        return self._known()

    def _pop(self, start: int | None = -1) -> list[Json]:
        items = self._known()
        if items:
            self._follow(items[:start])
        return items

    def _known(self) -> list[Json]:
        """The items of the session: those in the log that are not hidden."""
        self.conversation.refresh()
        if self._read != self._now():
            if GONE in self.conversation.transcripts:
                last = cast(Note, self.conversation.view(GONE).recorded()[-1])
                self._gone = list(last.content["gone"])
            found = [self._codec.native(item) for item in self._recorded() if item.id not in self._gone]
            self._remember(found, max(len(found) - len(self._items) + self._saved, 0))
        return self._items

    def _recorded(self) -> list[Item]:
        view = self.conversation.view()
        marked = (item for item in view.recorded() if MARK in item.extras)
        return [item for item in marked if view.fate(item.id).state != "hidden"]

    def _follow(self, items: list[Json], ahead: int = 0) -> None:
        """Record a list in place of the one before; some of its last items are not saved yet.

        The last message of the user can be hidden only after the next: till then a note says that it is gone.
        """
        is_longer = items[: len(self._items)] == self._items
        self._main.follow(items)
        if self._gone or not is_longer:
            gone, left = list[str](), len(items)
            for item in reversed(self._recorded()):  # the newest are those of the list
                is_current = left > 0 and self._codec.native(item) == items[left - 1]
                left -= is_current
                gone += [] if is_current else [item.id]
            if gone != self._gone:
                self.conversation.append(Note({"gone": gone}), to=GONE)
                self._gone = gone
        self._left, self._replies = [], self._replies if ahead else []
        self._remember(items, len(items) - ahead)

    def _remember(self, items: list[Json], saved: int) -> None:
        self._items, self._saved, self._read = items, saved, self._now()

    def _now(self) -> list[object]:
        """What changes when something is recorded or forgotten: after that the log is another."""
        names = {"main", GONE}.intersection(self.conversation.transcripts)
        views = [self.conversation.view(name) for name in sorted(names)]
        return [part for view in views for part in (*view.log.segments, view.revision)]

    async def _do(self, work: Callable[[], T]) -> T:
        def alone() -> T:
            with self._writing:
                return work()

        return await asyncio.to_thread(alone)


def _sendable(item: Json) -> Json:
    """A native item without an id that is not of its kind: other services give ids that OpenAI refuses.

    An answer gets the SDK's own placeholder: its model for Chat Completions takes none without an id, and its
    model for Responses does not send it.
    """
    kind = str(item.get("type"))
    if str(item.get("id")).startswith(OPENAI_ITEM_PREFIXES.get(kind, "")):
        return item
    if kind == "message" and item.get("role") == "assistant":
        return {**item, "id": FAKE_RESPONSES_ID}
    return {name: value for name, value in item.items() if name != "id"}


def _copied(items: Any) -> Any:
    return json.loads(json.dumps(items))


def _bare(item: Json) -> Json:
    return {name: value for name, value in item.items() if name not in _VARYING}


def _usage(response: ModelResponse) -> Usage:
    used, given = response.usage, response.usage.input_tokens_details
    cached = given.cached_tokens or 0, getattr(given, "cache_write_tokens", 0) or 0
    reasoning = used.output_tokens_details.reasoning_tokens or 0
    return Usage(used.input_tokens, used.output_tokens, *cached, reasoning)


def _definitions(agent: Agent[Any]) -> list[Definition]:
    """The functions and hand-offs of an agent, which take room in a request; tools of MCP are not known."""
    given = [one if isinstance(one, Handoff) else handoff(one) for one in agent.handoffs]
    rows = [(one.tool_name, one.tool_description, one.input_json_schema) for one in given]
    functions = [one for one in agent.tools if isinstance(one, FunctionTool)]
    rows += [(one.name, one.description, one.params_json_schema) for one in functions]
    return [{"type": "function", "name": n, "description": d, "parameters": p} for n, d, p in rows]
