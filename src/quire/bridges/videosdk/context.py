"""VideoSDK's chat context over a transcript of the engine."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Self

import msgspec

from quire.bridges.videosdk.adding import Adding, engine_item
from quire.bridges.videosdk.choosing import calling, chosen, instructions_first
from quire.bridges.videosdk.dicts import read_items
from quire.bridges.videosdk.items import ChatItem
from quire.bridges.videosdk.keeping import Kept
from quire.bridges.videosdk.messages import SUB_AGENT, ChatMessage
from quire.bridges.videosdk.reading import Reading
from quire.bridges.videosdk.shrinking import OneEach, old_turns, shrink
from quire.bridges.videosdk.telling import LLM, said
from quire.compactors import Plan, Request, record, summary_prompt, transcript_text
from quire.errors import WrongType
from quire.items import Item
from quire.state import Transcript, brief, fork_scoped, merge_result, plan_summary, spans_over
from quire.tokens import Counter, counter_for, whole

logger = logging.getLogger("quire.bridges.videosdk")


class ChatContext(Reading, Adding):
    """A conversation: items in order, to be forked, merged, shortened and given to a provider.

    `counter` says how tokens are counted; it goes to copies and forks.
    """

    def __init__(self, items: Iterable[ChatItem] | None = None, *, counter: Counter | None = None) -> None:
        self._kept = Kept(Transcript(), counter or counter_for("unknown"))
        for item in items or ():
            self._kept.append(engine_item(item))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._kept.transcript.view)} items>"

    @classmethod
    def empty(cls) -> Self:
        """A context with nothing in it."""
        return cls([])

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The context that `to_dict` wrote."""
        return cls(read_items(data))

    def copy(
        self,
        *,
        exclude_system_messages: bool = False,
        exclude_instructions: bool = False,
        exclude_empty_messages: bool = False,
        exclude_handoffs: bool = False,
        exclude_config_updates: bool = False,
        tools: Iterable[object] | None = None,
        filter_agent_id: str | None = None,
    ) -> "ChatContext":
        """Another context with some of the items.

        With `tools` only calls of these are kept, and their outputs; with `filter_agent_id` only what is of
        that agent, besides instructions, handoffs and updates.
        """
        view = self._kept.transcript.view
        keep = chosen(
            exclude_system_messages=exclude_system_messages,
            exclude_instructions=exclude_instructions,
            exclude_empty_messages=exclude_empty_messages,
            exclude_handoffs=exclude_handoffs,
            exclude_config_updates=exclude_config_updates,
            filter_agent_id=filter_agent_id,
        )
        calls = calling(view, tools)
        taken = [item for item in view if keep(item) and calls(item)]
        picked = len(taken) < len(view) or not self._kept.is_whole()
        return _of(self._with(taken, picked=picked))

    def fork(self) -> "ChatContext":
        """A context with the same past and a future of its own. Calls that wait are closed in it."""
        return _of(self._kept.child(self._kept.transcript.fork()))

    def fork_filtered(self, recent_turns: int = 3, tools: Iterable[object] | None = None) -> "ChatContext":
        """A fork that shows all instructions, then the last turns; with `tools` only calls of these."""
        whole(recent_turns, "recent_turns", least=1)
        kept = self._kept if tools is None else self.copy(tools=tools)._kept
        fork = kept.child(fork_scoped(kept.transcript, turns=recent_turns))
        shown = list(fork.transcript.view)
        ordered = instructions_first(shown)
        return _of(fork if ordered == shown else self._with(ordered, picked=True))

    def fork_brief(
        self, instructions: str, task_brief: str | None = None, agent_id: str | None = None
    ) -> "ChatContext":
        """A context without a past: instructions and, where given, a task."""
        return _of(Kept(brief(instructions, task_brief, agent_id), self._kept.counter))

    async def merge(self, other: "ChatContext") -> Self:
        """Take over all that happened in another context, placed by time; nothing comes twice."""
        self._kept.merge(_transcript_of(other))
        return self

    async def merge_result(self, other: "ChatContext", *, agent_id: str | None = None) -> Self:
        """Take over the final answer of another context, as said now and by this agent."""
        answers = merge_result(Transcript(), _transcript_of(other))
        if agent_id is not None:
            answers = [msgspec.structs.replace(answer, agent_id=agent_id) for answer in answers]
        merge_result(self._kept.transcript, Transcript(answers))
        return self

    async def merge_with_summary(
        self, other: "ChatContext", *, llm: LLM, agent_id: str | None = None
    ) -> Self:
        """Take over a summary of what happened in another context; what was told once is not told again."""
        ours, theirs = self._kept.transcript, _transcript_of(other)
        plan = plan_summary(ours, theirs, agent_id) or plan_summary(Transcript(), theirs, agent_id)
        if plan is None or plan.summary_id in ours:
            return self
        summary = plan.summary(await self._gist(llm, plan.items))
        if summary is not None and plan.summary_id not in self._kept.transcript:
            self._kept.append(ChatMessage.telling(summary, SUB_AGENT).item)
        return self

    async def summarize(self, llm: LLM, *, keep_recent_turns: int = 3) -> Self:
        """Put a summary in the place of all turns but the last; an earlier summary is folded into it.

        A summary that fails or is empty changes nothing, and is logged.
        """
        transcript = self._kept.transcript
        old = old_turns(transcript.view, keep_recent_turns)
        if not old:
            return self
        ids, revision = tuple(item.id for item in old), transcript.revision
        request = Request((), 0, spans_over(transcript.view, old), ids, revision)
        text = await self._gist(llm, old)
        if text and transcript is self._kept.transcript:
            record(transcript, Plan("videosdk", "it was asked for", 0, 0, request=request), text=text)
        return self

    def truncate(self, max_items: int | None = None, max_tokens: int | None = None) -> Self:
        """Leave out the oldest turns until both limits hold.

        Instructions, updates, handoffs, summaries, calls that wait and the last message of the user stay;
        where these alone are too much, that is logged.
        """
        if max_items is not None:
            shrink(self._kept.transcript, max_items, OneEach())
        if max_tokens is not None:
            shrink(self._kept.transcript, max_tokens, self._kept.counter)
        return self

    def cleanup(self) -> None:
        """Let go of everything; items that others hold are theirs to keep."""
        self._kept.begin(Transcript())

    def _with(self, items: Iterable[Item], *, picked: bool) -> Kept:
        """Another transcript, of these items."""
        kept = Kept(Transcript(), self._kept.counter, picked=picked)
        for item in items:
            kept.append(item)
        return kept

    async def _gist(self, llm: LLM, items: Iterable[Item]) -> str:
        known = tuple(items)
        if not transcript_text(known):
            return ""
        request = ChatContext()
        request._kept.transcript.extend(summary_prompt(known))
        return await said(llm, request)


def _of(kept: Kept) -> ChatContext:
    context = ChatContext()
    context._kept = kept  # pyright: ignore[reportPrivateUsage]
    return context


def _transcript_of(other: ChatContext) -> Transcript:
    if not isinstance(other, ChatContext):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"expected a chat context, not {type(other).__name__}")
    return other._kept.transcript  # pyright: ignore[reportPrivateUsage]
