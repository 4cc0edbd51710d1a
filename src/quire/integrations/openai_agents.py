"""OpenAI Agents: a session that keeps every item, and a filter that fits each request to the model's window.

`QuireSession` returns exactly the items that were added. Its filter runs before each request and chooses what
the model sees. Nothing is deleted: an item that is popped, and all items of a session that is cleared, are
hidden and stay in the log.

An agent may be sent a list that is not the history of the session: after a hand-off with an input filter,
with a limit, or if the agent is a tool. Such a list is recorded in a conversation below the session's, named
after the agent, such as `support-7/Billing agent`.
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

POPPED = "openai_agents"
"""The transcript whose last note has the ids of popped items that cannot be hidden yet."""
_MAX_PIECE = 2_000  # tokens of an output that are read back at once
_VARYING = ("id", "status", "provider_data")  # the SDK changes these before it saves an item


class QuireSession(RunHooks[Any]):
    """A session of OpenAI Agents in a conversation of Quire; also the hooks of a run.

    An item is *saved* once the runner has added it. During a run, the filter and the hooks see items earlier
    and record them at once: these are *unsaved*, and follow the saved items in the list. `add_items` replaces
    unsaved items by the same items as the runner adds them, so that each is recorded once.

    If a run ends before the runner has added a recorded reply, by a crash or a failing tool, the reply is an
    *orphan*: the next run begins with it, and the next `add_items` saves it.

    A *popped* item is hidden. The user's last message cannot be hidden before there is another; until then a
    note in the log says that it was popped.
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

        `template` says what the filter shows. It may be the model's window in tokens: then the filter shows
        as much of the conversation as fits.
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
        """The tool with which an agent reads an output that was sent as a stub."""
        self._lock = threading.RLock()
        self._mirror_by_agent: dict[str, Mirror[Json]] = {}  # where each agent's last request was fitted
        self._items: list[Json] = []
        self._items_state: list[object] = []  # the state of the log from which `_items` was read
        self._saved_count = 0  # how many of the items are saved; the rest are unsaved
        self._replies: list[Json] = []  # unsaved replies that the hooks recorded in this run
        self._orphans: list[Json] = []  # unsaved replies that the hooks recorded in runs that failed
        self._popped_ids: list[str] = []  # of popped items that cannot be hidden yet

    # The protocol of sessions

    async def get_items(self, limit: int | None = None, *, wrapper: Any = None) -> list[TResponseInputItem]:
        """Return all items with the orphans of failed runs, or the last `limit` of them."""
        limit, items = resolve_session_limit(limit, self.session_settings), await self._do(self._begin)
        items = items if limit is None or limit < 0 else items[max(len(items) - limit, 0) :]
        return cast("list[TResponseInputItem]", _copied(items))

    async def add_items(self, items: list[TResponseInputItem], *, wrapper: Any = None) -> None:
        """Save items. An item that was recorded during the run is not recorded again."""
        added = _copied(items)
        await self._do(lambda: self._add(added))

    async def pop_item(self, *, wrapper: Any = None) -> TResponseInputItem | None:
        """Hide the last item and return it."""
        items = await self._do(self._pop)
        return cast(TResponseInputItem, items[-1]) if items else None

    async def clear_session(self, *, wrapper: Any = None) -> None:
        """Hide all items. They stay in the log."""
        await self._do(lambda: self._pop(0))

    async def run_compaction(self, args: Mapping[str, object] | None = None, *, wrapper: Any = None) -> None:
        """Compact what the model sees, if the session has a compactor. `get_items` still returns all items.

        A call by the runner does nothing: the filter starts compactions itself when they are due.
        """
        is_by_caller = args is None or "response_id" not in args or args.get("force")
        if is_by_caller and parts_of(self.conversation).compactions.compactor is not None:
            await self.conversation.aio.compaction.run()

    # The filter and the hooks

    async def context_filter(self, data: CallModelData[Any]) -> ModelInputData:
        """Fit a request and record its receipt; for `RunConfig(call_model_input_filter=…)`."""
        if self._mirrors.template is None:
            raise InvalidValue(
                "the filter fits requests to the window of the model: give it to the session, as in "
                "QuireSession(session_id, 128_000), or a template"
            )
        agent, instructions = data.agent, data.model_data.instructions
        sent = _copied(data.model_data.input)
        mirror, items = await self._do(lambda: self._mirror_for(agent.name, sent))
        tools, model = _definitions(agent), self._model_of(agent)
        shown = await mirror.afit(items, instructions=instructions, tools=tools, model=model)
        return ModelInputData(input=_copied([*map(_sendable, shown.messages)]), instructions=instructions)

    async def on_llm_end(self, context: Any, agent: Agent[Any], response: ModelResponse) -> None:
        """Record the usage of a response and, if it calls tools, its items before the calls are run.

        A response without calls is recorded when the runner saves it: it does not save what a guardrail
        blocks.
        """
        items: list[Json] = _copied(response.to_input_items())
        items = items if any(map(id_of, items)) else []

        def record() -> None:
            mirror, items_before = self._mirror_by_agent[agent.name], self._current_items()
            mirror.record(items, _usage(response), model=self._model_of(agent))
            if mirror is self._main:
                self._replies += items
                self._set_items([*items_before, *items], self._saved_count)

        if agent.name in self._mirror_by_agent:
            await self._do(record)

    def _model_of(self, agent: Agent[Any]) -> str | None:
        """The name of the model that is asked. `RunConfig(model=…)` is not known to a filter."""
        template_model = self._mirrors.template.model if self._mirrors.template else None
        model = template_model or (get_default_model() if agent.model is None else agent.model)
        name = model if isinstance(model, str) else getattr(model, "model", None)
        return name if isinstance(name, str) else None

    async def _read_back(self, context: Any, arguments: str) -> str:
        fields, mirrors = json.loads(arguments), (self._main, *self._mirror_by_agent.values())
        pools = [mirror.session.pool.copy() for mirror in mirrors]
        pool = next((pool for pool in pools if fields["handle"] in pool), pools[0])
        # A number such as #12 names an item of a view: with several views it would be ambiguous.
        view = self._main.session.view() if len(mirrors) == 1 else None
        counter, start = counter_for(DEFAULT_MODEL), fields.get("start", 0)
        return read_back(pool, fields["handle"], counter, _MAX_PIECE, start, view)

    def _mirror_for(self, agent: str, sent: list[Json]) -> tuple[Mirror[Json], list[Json]]:
        """The mirror of the conversation that a request continues, and the conversation's whole list."""
        if not self._items_state:
            raise InvalidValue(
                "the filter fits the history of its session: run with session=… as well. A history that the "
                "server holds (conversation_id, previous_response_id) cannot be fitted"
            )
        items = self._extended(sent)
        if items is None:
            self._mirror_by_agent[agent] = self._mirrors.of(self.session_id, agent)
            return self._mirror_by_agent[agent], sent
        self._main.follow(items)
        self._set_items(items, self._saved_count)
        self._mirror_by_agent[agent] = self._main
        return self._main, items

    def _extended(self, sent: list[Json]) -> list[Json] | None:
        """The session's items with the new ones of a request; None if the request does not continue them.

        The runner omits calls without a result, and the reasoning before them. They are put back, and each
        such call is sent with a result that says that it has none.
        """
        items, saved_count = self._current_items(), self._saved_count
        expected, is_omitted = list[Json](), False
        answered = {None, *map(id_of, self._replies), *(item.get("call_id") for item in sent)}
        answered.update(id_of(item, "_output") for item in items)
        for item in reversed(items):
            is_omitted = id_of(item) not in answered or (is_omitted and item.get("type") == "reasoning")
            expected += [] if is_omitted else [item]
        if sent[: len(expected)] == expected[::-1]:
            return [*items, *sent[len(expected) :]]
        if sent[:saved_count] != items[:saved_count]:
            return None
        # The SDK may have changed the ids and statuses of unsaved items.
        is_alike = [*map(_bare, sent[: len(items)])] == [*map(_bare, items)]
        return [*items[:saved_count], *sent[saved_count:]] if is_alike else None

    # The list of items

    def _add(self, added: list[Json]) -> None:
        """Save items in place of the unsaved ones that are the same. Orphans of a failed run stay."""
        items, bare = self._current_items(), [_bare(item) for item in added]
        saved, unsaved = items[: self._saved_count], items[self._saved_count :]
        first = next((number for number, item in enumerate(unsaved) if _bare(item) in bare), len(unsaved))
        before = [item for item in unsaved[:first] if item in self._orphans]
        after = [item for item in unsaved[first:] if item in self._replies and _bare(item) not in bare]
        self._follow([*saved, *before, *added, *after], len(after))

    def _begin(self) -> list[Json]:
        """The items with which a run begins. Unsaved replies of earlier runs become orphans."""
        self._orphans, self._replies = [*self._orphans, *self._replies], []
        return self._current_items()

    def _pop(self, start: int = -1) -> list[Json]:
        """Hide the items from `start` on, and return all items as they were before."""
        items = self._current_items()
        if items:
            self._follow(items[:start])
        return items

    def _current_items(self) -> list[Json]:
        """The items of the session: those in the log that are neither hidden nor popped."""
        self.conversation.refresh()
        if self._items_state != self._log_state():
            if POPPED in self.conversation.transcripts:
                last = cast(Note, self.conversation.view(POPPED).recorded()[-1])
                self._popped_ids = list(last.content["gone"])
            items = [self._codec.native(item) for item in self._recorded() if item.id not in self._popped_ids]
            self._set_items(items, max(len(items) - (len(self._items) - self._saved_count), 0))
        return self._items

    def _recorded(self) -> list[Item]:
        view = self.conversation.view()
        marked = (item for item in view.recorded() if MARK in item.extras)
        return [item for item in marked if view.fate(item.id).state != "hidden"]

    def _follow(self, items: list[Json], unsaved: int = 0) -> None:
        """Record a list in place of the one before; its last `unsaved` items are not saved yet.

        Recorded items that are no longer in the list and that could not be hidden are noted as popped.
        """
        is_extended = items[: len(self._items)] == self._items
        self._main.follow(items)
        if self._popped_ids or not is_extended:
            popped, end = list[str](), len(items)
            for item in reversed(self._recorded()):  # compare with the list from its end
                is_current = end > 0 and self._codec.native(item) == items[end - 1]
                end -= is_current
                popped += [] if is_current else [item.id]
            if popped != self._popped_ids:
                self.conversation.append(Note({"gone": popped}), to=POPPED)
                self._popped_ids = popped
        self._orphans, self._replies = [], self._replies if unsaved else []
        self._set_items(items, len(items) - unsaved)

    def _set_items(self, items: list[Json], saved_count: int) -> None:
        self._items, self._saved_count, self._items_state = items, saved_count, self._log_state()

    def _log_state(self) -> list[object]:
        """A value that differs after anything was recorded in the log or erased from it."""
        names = {"main", POPPED}.intersection(self.conversation.transcripts)
        views = [self.conversation.view(name) for name in sorted(names)]
        return [part for view in views for part in (*view.log.segments, view.revision)]

    async def _do(self, work: Callable[[], T]) -> T:
        """Run some work in a thread, with the lock held."""

        def locked() -> T:
            with self._lock:
                return work()

        return await asyncio.to_thread(locked)


def _sendable(item: Json) -> Json:
    """A native item without the id of another service, which OpenAI would refuse.

    An answer gets the SDK's placeholder for ids instead: the SDK's model for Chat Completions needs an id,
    and its model for Responses does not send the placeholder.
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
    """A native item without the fields that the SDK changes, for comparison."""
    return {name: value for name, value in item.items() if name not in _VARYING}


def _usage(response: ModelResponse) -> Usage:
    usage, details = response.usage, response.usage.input_tokens_details
    cache_read, cache_write = details.cached_tokens or 0, getattr(details, "cache_write_tokens", 0) or 0
    reasoning = usage.output_tokens_details.reasoning_tokens or 0
    return Usage(usage.input_tokens, usage.output_tokens, cache_read, cache_write, reasoning)


def _definitions(agent: Agent[Any]) -> list[Definition]:
    """The functions and hand-offs of an agent, to be counted. Tools of MCP servers are not known here."""
    handoffs = [other if isinstance(other, Handoff) else handoff(other) for other in agent.handoffs]
    rows = [(each.tool_name, each.tool_description, each.input_json_schema) for each in handoffs]
    functions = [tool for tool in agent.tools if isinstance(tool, FunctionTool)]
    rows += [(tool.name, tool.description, tool.params_json_schema) for tool in functions]
    return [{"type": "function", "name": n, "description": d, "parameters": p} for n, d, p in rows]
