"""Random templates with a history, sections before and after it, and shares; and random asks for them."""

import asyncio
import atexit
from collections.abc import Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st

from quire.context import Context, Template
from quire.items import Item, Message, Note, ToolCall
from quire.sections import Ask, Catalogue, Custom, History, Input, Instructions, Pooled, Section, items_of
from quire.state import Pool, Transcript, View
from quire.testing.histories import Author, Op, apply_ops
from quire.testing.plain import FourCharacters, is_edit
from quire.tokens import Budget, Counter, Share

COUNTER = FourCharacters()
TOOLS: list[dict[str, Any]] = [
    {"name": "tool1", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}
]
OTHER = Transcript([Message("user", "elsewhere", id="o1"), Message("assistant", "yes" * 9, id="o2")])
NOTES = [Note(f"note {number}", key=f"k{number}", description="a note") for number in range(3)]


def _is_odd(item: Item) -> bool:
    return len(item.id) % 2 == 1 or item.created_at % 2 == 1


_FILTERED = [
    History(where=lambda item: not isinstance(item, ToolCall)),
    History(where=lambda item: item.created_at % 5 > 1),
]
_HISTORIES = st.sampled_from([*[History()] * 3, History(turns=2), History(messages=4), *_FILTERED])
_BOUNDED = st.sampled_from([History(share=Share(maximum=30)), History(share=Share(minimum=60))])


def _oldest_item(ask: Ask) -> list[Item]:
    """The oldest item, as a search would find it."""
    view = ask.view()
    return view.log.items(0, min(view.end, 1)) if view.end and not is_edit(view.log.item(0)) else []


@st.composite
def templates(draw: st.DrawFn, own: Sequence[Section] = ()) -> Template:
    """A random template, with one of the sections `own` if there are any."""
    share = draw(st.sampled_from([None, Share(maximum=20), Share(minimum=10), Share(weight=9)]))
    words = "x" * draw(st.integers(1, 200))
    sections: list[Any] = [Instructions("Be " + words)] if draw(st.booleans()) else []
    if draw(st.booleans()):
        sections.append(Instructions([{"role": "user", "content": words}] * 3, name="more", required=False))
    if draw(st.booleans()):
        sections.append(Custom("recall", _oldest_item, required=draw(st.booleans())))
    if draw(st.booleans()):
        sections.append(Pooled(share=share, stability="static"))
    sections.append(draw(st.one_of(_HISTORIES, _HISTORIES, _BOUNDED)))
    if draw(st.integers(0, 3)) == 3:
        sections.append(History("other", name="other"))
    if draw(st.integers(0, 2)) == 2:
        fork = History("fork", name="fork", where=draw(st.sampled_from([None, None, _is_odd])))
        sections.insert(draw(st.integers(0, len(sections))), fork)
    if draw(st.booleans()):
        sections.append(Catalogue(share=share))
    if draw(st.booleans()):
        sections.append(Custom("clock", lambda ask: [{"role": "system", "content": f"It is {ask.now}"}]))
    if draw(st.booleans()):
        sections.append(Input())
    if own:
        section = draw(st.sampled_from(own))
        sections = [other for other in sections if other.name != section.name]
        sections.insert(draw(st.integers(0, len(sections))), section)
    return Template(*sections, budget=Budget(window=draw(st.integers(2, 600)), reserve=1))


@cache
def _loop() -> asyncio.Runner:
    """One event loop for all asks: making a loop takes longer than most sections."""
    runner = asyncio.Runner()
    atexit.register(runner.close)
    return runner


def names_of(template: Template) -> list[str]:
    return [section.name for section in template.sections]


def build_context(
    template: Template, ask: Ask, counter: Counter = COUNTER, previous: Context | None = None
) -> Context:
    """The context that a template builds."""
    return _loop().run(template.build(ask, counter=counter, previous=previous))


def items_from(section: Section, ask: Ask) -> list[Item]:
    """The items of a section."""
    return list(items_of(_loop().run(section.items(ask)), section.name))


def ask_for(view: View, now: float = 0.0, fork: View | None = None) -> Ask:
    """An ask with a view, a fork, and the user's last message as the input."""
    views = {"main": view, "other": OTHER.view, "fork": OTHER.view if fork is None else fork}
    users = [item for item in view if isinstance(item, Message) and item.role == "user"]
    last = users[-1] if users else None
    return Ask(views=views, pool=Pool(NOTES), now=now, tools=TOOLS if now % 2 else (), input=last)


def fork_history(ops: list[Op], later: list[Op], at: int) -> tuple[View, View]:
    """A random history, and a fork of it with items of its own."""
    author = Author()
    transcript = apply_ops(ops[:at], Transcript(), author)
    child = apply_ops(later, transcript.fork(), Author("f"))
    return apply_ops(ops[at:], transcript, author).view, child.view


def candidates(template: Template, ask: Ask) -> set[str]:
    """The ids of all items that could be shown."""
    ids: set[str] = set()
    for section in template.sections:
        if isinstance(section, History):
            view = ask.view(section.transcript)
            ids |= {item.id for item in view.log.items(0, view.end) if not is_edit(item)}
            ids |= {item.id for item in view if is_edit(item)}
        else:
            ids |= {item.id for item in items_from(section, ask)}
    return ids


def protected(section: History, view: View) -> set[str]:
    """The ids of the items that a history must show in any room."""
    users = [item for item in view if isinstance(item, Message) and item.role == "user"]
    ids = {item.id for item in users[-1:]}
    if section not in _FILTERED and _is_odd not in vars(section).values():  # a filter leaves out these, too
        ids |= {item.id for item in view if view.fate(item.id).state == "pinned"}
        ids |= {call.id for call in view.pending()}
    return ids
