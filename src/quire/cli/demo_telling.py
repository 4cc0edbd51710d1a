"""What the demonstration prints: what is said, what was sent for it, and what became of the rest."""

import sys
from collections import Counter
from collections.abc import Sequence
from time import monotonic

from quire.agent import Began, Delta, Ended, Recorded, Words
from quire.cli.escaping import beginning, readable
from quire.cli.stage import Stage
from quire.cli.words import glimpse, several
from quire.context import Context, shared_prefix
from quire.items import Item, Message, ToolCall
from quire.session import Built, Compacted
from quire.tokens import counter_for


class Telling:
    """Prints the play as it goes. What arrives from the background is told at the next line's end."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._is_within_line = False
        self._arrived: list[str] = []
        self._before: Context | None = None  # what the real model saw last, and so what is in its cache
        self._asked_at = monotonic()
        self.context: Context | None = None

    def title(self, text: str) -> None:
        """A heading."""
        self.line(f"\n-- {text} ".ljust(100, "-"))

    def line(self, text: str = "") -> None:
        """A line, and what arrived meanwhile."""
        self._end_line()
        print(readable(text), flush=True)
        self.arrivals()

    def asked(self, text: str) -> None:
        """What the customer says."""
        self.line(f"\ncustomer   {text}")

    def delta(self, delta: Delta) -> None:
        """A piece of the answer."""
        match delta:
            case Words():
                self._words(delta.text)
            case Recorded():
                self._recorded(delta)
            case Began():
                self._asked_at = monotonic()
            case Ended():
                self.line(f"  result   {glimpse(delta.result)}")
                self._asked_at = monotonic()
            case _:
                self._end_line()

    def built(self, event: Built) -> None:
        """A context was built."""
        self.context, self._asked_at = event.context, monotonic()

    def compacted(self, event: Compacted) -> None:
        """A compaction arrived."""
        plan, outcome = event.plan, event.outcome
        told = (
            f"{plan.by}, {outcome.fate}: {plan.before:,} tokens of history to {plan.after:,}; {plan.reason}"
        )
        self._arrived.append(f"  arrived  {told}")

    def arrivals(self) -> None:
        """What came from the background since the last line."""
        if not self._is_within_line:
            arrived, self._arrived = self._arrived, []
            for told in arrived:
                print(readable(told), flush=True)

    def receipt(self) -> None:
        """The budget by section, and what of the history is not shown as it was, and why."""
        if self.context is None:
            return
        self.line(str(self.context.receipt))
        entries = (entry for entry in self.context.receipt.entries if entry.fate != "shown")
        fates = Counter((entry.fate, entry.reason) for entry in entries)
        for (fate, reason), count in fates.items():
            self.line(f"  {several(count, 'item')} {fate}: {reason}")

    def recalled(self, recorded: Sequence[Item]) -> None:
        """The budget by section, what of the past is shown again, from how far back, and why it was found."""
        if self.context is None:
            return
        self.line(str(self.context.receipt))
        ago = {item.id: len(recorded) - place for place, item in enumerate(recorded)}
        for entry in self.context.receipt.entries:
            if entry.section != "recall" or entry.fate != "shown":
                continue
            if entry.item_id in ago:
                self.line(f"  recalled {glimpse(recorded[-ago[entry.item_id]])}")
                self.line(f"           it was said {ago[entry.item_id]:,} items ago; {entry.reason}")
            else:  # the store may have been played into before
                self.line(f"  recalled {entry.item_id}, of another conversation; {entry.reason}")

    def _words(self, text: str) -> None:
        if not self._is_within_line:
            sys.stdout.write("assistant  ")
            self._is_within_line = True
        sys.stdout.write(readable(text).replace("\n", " "))
        sys.stdout.flush()

    def _recorded(self, delta: Recorded) -> None:
        """What was asked of the model, and by whom it was answered."""
        seconds = monotonic() - self._asked_at
        for item in delta.items:
            if isinstance(item, ToolCall):
                self.line(f"  call     {item.name} {beginning(item.arguments)}")
            elif isinstance(item, Message) and not self._is_within_line:
                self._words(item.text)
        context = self.context
        if context is None:
            return
        sizes = ", ".join(f"{name} {tokens:,}" for name, tokens in context.tokens.items())
        told = f"{context.receipt.tokens:,} of {context.receipt.available:,} tokens ({sizes})"
        by = f"real, {seconds:.1f} s; {self._cached(context)}" if self._stage.was_live else "replayed"
        self.line(f"  request  {told}; {by}")

    def _cached(self, context: Context) -> str:
        """How much of a request the cache could serve, as we see it, and as the model reports it."""
        before, self._before = self._before, context
        if before is None:
            return "the cache is empty"
        counter = counter_for(self._stage.name)
        sizes = [*map(counter.count, context.items)]
        shared = shared_prefix(before.items, context.items)
        tools = counter.count(Message("system", self._stage.tools_told))
        expected = (sum(sizes[:shared]) + (tools if shared else 0)) / (sum(sizes) + tools)
        usage = self._stage.usage
        reported = f", {usage.cache_read / usage.input:.0%} reported" if usage and usage.input else ""
        return f"cached {expected:.0%} expected{reported}"

    def _end_line(self) -> None:
        if self._is_within_line:
            print(flush=True)
            self._is_within_line = False
