"""The laws of a section: alone it is deterministic; a template with it fits the budget and has a receipt."""

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import ClassVar

from hypothesis import given, strategies as st

from quire.context import Template
from quire.errors import OverBudget
from quire.items import KINDS, Address, Item, Message, Note, ToolCall, ToolResult, thaw
from quire.providers import PROVIDERS
from quire.sections import Ask, History, Section, settings_of
from quire.state import Pool, Transcript, View
from quire.testing.conversations import MODELS, STEPS, TOOLS, Step, view_after
from quire.testing.examples import examples
from quire.testing.histories import CONTENT_OPS, OPS, Author, Op, apply_ops
from quire.testing.templates import (
    COUNTER,
    ask_for,
    build_context,
    candidates,
    fork_history,
    items_from,
    names_of,
    protected,
    templates,
)
from quire.tokens import Budget

WIRES = st.sampled_from([(wire, model) for wire, models in MODELS.items() for model in models])
_FIRST_MODELS = st.sampled_from([(wire, models[0]) for wire, models in MODELS.items()])
_NUMBERS = st.integers(0, 41)

NOTES = [
    Note({"margin": [1, 2.5, None]}, key="a", description="margins", id="na"),
    Note("words", key="b", id="nb"),
    Note(None, key="none", id="nc"),
    Note([True, {"deep": {"er": "✓"}}], key="list", description="two\nlines", id="nd"),
    Note(3, key="x" * 90, id="ne"),
    Note(b"bytes", key="bytes", id="nf"),
]
INBOX = [
    Message("user", "late", id="m1", created_at=1.0, address=Address("us", 0.9, 5.0)),
    Message("user", "soon", id="m2", created_at=2.0, address=Address("us", 0.9, 50.0)),
    Message("user", "whenever", id="m3", created_at=3.0, address=Address("us")),
    Message("user", "not ours", id="m4", created_at=4.0, address=Address("them", 1.0)),
    Message("user", "first", id="m5", created_at=1.5, address=Address("us", 0.9)),
    Message("user", "for nobody", id="m6"),
]


def ask_about(view: View, number: int = 0) -> Ask:
    """An ask with notes, tools, an inbox and an input; `number` decides which of them are empty."""
    last = view[-1] if len(view) and number % 3 else None
    return Ask(
        views={"main": view},
        pool=Pool(NOTES[: number % (len(NOTES) + 1)]),
        tools=thaw(TOOLS) if number % 2 else (),
        scope="ana",
        conversation="q3",
        input=last,
        inbox=INBOX,
        now=5.0,
    )


def unpaired(view: View, items: Iterable[Item]) -> tuple[int, int]:
    """Count the calls without a result, and the results without a call."""
    calls, results = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    for item in items:
        if isinstance(item, ToolCall | ToolResult):
            pairs = calls if isinstance(item, ToolCall) else results
            pairs[view.log.head(view.position(item.id)), item.call_id] += 1
    return (calls - results).total(), (results - calls).total()


class SectionLaws:
    """The laws of a section. A subclass sets `sections`, and pytest runs them.

    The sections are asked with the view of a random conversation under the name `main`, a pool, tools and an
    inbox, each of which may be empty. `ask.memory` is None. If a section needs a service, give it a fake.
    """

    sections: ClassVar[Sequence[Section]] = ()
    """The sections to test: one, or one per configuration."""

    @examples(4, least=20)
    @given(STEPS, _NUMBERS)
    def test_the_same_ask_gets_the_same_items(self, steps: list[Step], number: int) -> None:
        """An item whose id or content changes from turn to turn invalidates the provider's cache."""
        assert self.sections, f"set {type(self).__name__}.sections"
        view = view_after(steps)
        for section in self.sections:
            items = items_from(section, ask_about(view, number))
            changes = _changes(items, items_from(section, ask_about(view, number)))
            assert not changes, (
                f"{section.name} returns other items to the same ask, with another {' and '.join(changes)}"
            )
            assert {type(item) for item in items} <= KINDS, (
                f"{section.name} returns something that is no item"
            )
            assert len({item.id for item in items}) == len(items), f"{section.name} returns an id twice"
            assert settings_of(section).name == section.name, (
                f"the settings of {section.name} have another name"
            )

    @examples(4, least=20)
    @given(STEPS, _NUMBERS)
    def test_an_ask_is_not_changed(self, steps: list[Step], number: int) -> None:
        """Except `ask.parameters`, through which a section passes values to later sections."""
        view = view_after(steps)
        ask = ask_about(view, number)
        log = view.log.items(0, view.end)
        before = (list(view), log, list(ask.pool), deepcopy(ask.tools), list(ask.inbox), dict(ask.views))
        for section in self.sections:
            items_from(section, ask)
            log = view.log.items(0, view.end)
            after = (list(view), log, list(ask.pool), ask.tools, list(ask.inbox), dict(ask.views))
            assert before == after, f"{section.name} changed its ask"

    @examples()
    @given(OPS)
    def test_a_static_section_never_changes_and_a_slow_one_only_grows(self, ops: list[Op]) -> None:
        """As long as nothing is edited. A provider's prompt cache ends at the first change."""
        transcript, author = Transcript(), Author()
        before: dict[int, list[Item]] = {}
        for number, op in enumerate(op for op in ops if op[0] < CONTENT_OPS):
            apply_ops([op], transcript, author)
            for index, section in enumerate(self._other_sections()):
                stability = settings_of(section).stability
                if stability == "volatile":
                    continue
                ask = Ask(views={"main": transcript.view}, scope="ana", now=float(number))
                items, earlier = items_from(section, ask), before.get(index)
                if earlier is not None:
                    beginning = items if stability == "static" else items[: len(earlier)]
                    assert beginning == earlier, f"{section.name} is {stability} and changed"
                before[index] = items

    @examples()
    @given(STEPS, _NUMBERS)
    def test_no_call_is_shown_without_its_result(self, steps: list[Step], number: int) -> None:
        """A section shows a call with its results, or neither."""
        view = view_after(steps)
        known = {item.id for item in view}
        waiting, stray = unpaired(view, view)
        for section in self.sections:
            items = [item for item in items_from(section, ask_about(view, number)) if item.id in known]
            calls, results = unpaired(view, items)
            assert calls <= waiting and results <= stray, f"{section.name} splits a call from its result"

    @examples(4, least=20)
    @given(STEPS, _NUMBERS, WIRES)
    def test_no_provider_refuses_sections_one_by_one_or_together(
        self, steps: list[Step], number: int, wire: tuple[str, str | None]
    ) -> None:
        provider, model = PROVIDERS[wire[0]], wire[1]
        ask = ask_about(view_after(steps), number)
        items_by_id: dict[str, Item] = {}
        for section in self.sections:
            items = items_from(section, ask)
            items_by_id.update((item.id, item) for item in items)
            faults = provider.check(provider.render(items, model=model, tools=ask.tools).payload, model)
            assert not faults, f"{wire[0]} would refuse the items of {section.name}"
        whole = [item for item in ask.view() if item.id in items_by_id]
        shown_ids = {item.id for item in whole}
        rest = [item for item in items_by_id.values() if item.id not in shown_ids]
        rendered = provider.render([*rest, *whole], model=model, tools=ask.tools)
        faults = provider.check(rendered.payload, model)
        assert not faults, f"{wire[0]} would refuse the items of all sections together"

    @examples()
    @given(st.data(), OPS, st.integers(0, 1), OPS, st.integers(0, 40))
    def test_a_context_is_within_budget_or_the_sections_to_blame_are_named(
        self, data: st.DataObject, ops: list[Op], now: int, later: list[Op], at: int
    ) -> None:
        template = data.draw(templates(self._other_sections()), "template")
        view, fork = fork_history(ops, later, at)
        ask = ask_for(view, now, fork)
        try:
            context = build_context(template, ask)
        except OverBudget as fault:
            _check_blame(template, ask, fault)
            return
        sizes = sum(context.tokens.values())
        counted = sum(COUNTER.count(item) for item in context.items)
        assert sizes >= counted, "the sections of the receipt have fewer tokens than the items"
        total = COUNTER.total(sizes + context.receipt.schemas)
        assert context.receipt.tokens == total, "the tokens of the receipt are not the sum of its sections"
        assert total <= template.budget.available, "the context is over its budget"
        required: set[str] = set()
        for section in template.sections:
            if isinstance(section, History):
                required |= protected(section, ask.view(section.transcript))
            elif settings_of(section).required:
                required |= {item.id for item in items_from(section, ask)}
        missing = required - {item.id for item in context.items}
        assert not missing, f"required or protected items are left out: {missing}"
        for name, share in ((section.name, settings_of(section).share) for section in template.sections):
            if share is not None and share.maximum is not None and name != "history":
                assert context.tokens[name] <= share.maximum, f"{name} has more than the maximum of its share"

    @examples()
    @given(st.data(), OPS, OPS, st.integers(0, 40))
    def test_every_candidate_is_on_the_receipt_once_with_a_reason(
        self, data: st.DataObject, ops: list[Op], later: list[Op], at: int
    ) -> None:
        template = data.draw(templates(self._other_sections()), "template")
        view, fork = fork_history(ops, later, at)
        ask = ask_for(view, 0.0, fork)
        try:
            context = build_context(template, ask)
        except OverBudget:
            return
        entries = context.receipt.entries
        ids = [entry.item_id for entry in entries]
        assert len(ids) == len(set(ids)), "a candidate is on the receipt twice"
        ledgers = {entry.item_id for entry in entries if entry.rule == "ledger"}
        assert set(ids) - ledgers == candidates(template, ask), (
            "the receipt does not list exactly the candidates"
        )
        shown = {item.id for item in context.items}
        assert len(shown) == len(context.items), "an item is shown twice"
        visible = {
            entry.item_id for entry in entries if entry.fate in ("shown", "shortened", "pinned", "masked")
        }
        assert visible == shown, "the fates of the receipt contradict the shown items"
        sizes = {item.id: COUNTER.count(item) for item in context.items}
        for entry in entries:
            assert entry.reason and entry.rule and entry.section in context.tokens, f"{entry} has no reason"
            assert context.explain(entry.item_id) == entry, "explain() and the receipt differ"
            assert entry.tokens == sizes.get(entry.item_id, entry.tokens), f"{entry} has wrong tokens"

    @examples()
    @given(st.data(), OPS, _FIRST_MODELS, OPS, st.integers(0, 40))
    def test_no_provider_refuses_a_context_and_the_same_ask_gives_the_same_request(
        self, data: st.DataObject, ops: list[Op], wire: tuple[str, str | None], later: list[Op], at: int
    ) -> None:
        template = data.draw(templates(self._other_sections()), "template")
        view, fork = fork_history(ops, later, at)
        ask = ask_for(view, 0.0, fork)
        try:
            context = build_context(template, ask)
        except OverBudget:
            return
        rendered = context.render(wire[0], model=wire[1])
        faults = PROVIDERS[wire[0]].check(rendered.payload, wire[1])
        assert faults == [], f"{wire[0]} would refuse the context"
        again = build_context(template, ask)
        changes = _changes(context.items, again.items)
        assert not changes, f"the same ask gives another context: items have another {' and '.join(changes)}"
        same = again.render(wire[0], model=wire[1]).payload == rendered.payload
        assert same, "the same ask gives another request"

    def _other_sections(self) -> list[Section]:
        """The sections that are not histories: the templates have their own histories."""
        return [section for section in self.sections if not isinstance(section, History)]


def _changes(items: Sequence[Item], others: Sequence[Item]) -> list[str]:
    """The fields in which items differ from others, such as `created_at`."""
    if [type(item) for item in items] != [type(other) for other in others]:
        return ["number or kind"]
    pairs = [
        (item, other, field)
        for item, other in zip(items, others, strict=True)
        for field in item.__struct_fields__
    ]
    return sorted({field for item, other, field in pairs if getattr(item, field) != getattr(other, field)})


def _check_blame(template: Template, ask: Ask, fault: OverBudget) -> None:
    """Check that the same template fits with the missing tokens added."""
    assert fault.over > 0, f"OverBudget by {fault.over} tokens"
    assert fault.parts or template.budget.available < 40, "OverBudget names no section"
    assert set(fault.parts) <= {*names_of(template), "tool definitions"}, "OverBudget names unknown sections"
    if fault.parts:
        window = template.budget.window + fault.over
        context = build_context(Template(*template.sections, budget=Budget(window=window, reserve=1)), ask)
        assert context.receipt.tokens <= window - 1, "OverBudget.over is less than the missing tokens"
        is_needed = context.receipt.tokens > template.budget.available - 1
        assert "fork" in names_of(template) or is_needed, "OverBudget, although the context would have fitted"
