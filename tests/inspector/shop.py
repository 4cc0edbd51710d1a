"""A store with one of everything that the inspector shows, and one that means harm."""

import json
from contextlib import suppress
from itertools import count
from pathlib import Path

from quire import Agent, Budget, Session, Template, ToolCall, tool
from quire.compactors import Offload, Summarize
from quire.errors import ModelFailed
from quire.items import ConfigChange, Handoff, Mask, Message, Note, Reasoning, Span, Summary, now, use_clock
from quire.models import Scripted
from quire.providers import Parsed, Rendered, provider_for
from quire.sections import History, Instructions
from quire.session import parts_of
from quire.stores import Store
from quire.tokens import Usage, counter_for
from tests.session.opened import called

MODEL = "gpt-5.6"
SUMMARY = "The customer waits for three lamps, and wants the money back for return R-2049."
INSTRUCTIONS = "You help the customers of a lamp shop."
OTHERS = "ana/diary"
"""A conversation of another scope."""


@tool(idempotent=True)
def track_parcel(order: str) -> str:
    """Tell where the parcel of an order was seen."""
    return f"order {order}: a reading lamp\n" + "\n".join(f"{hour}:00 Erfurt, belt" for hour in range(6, 24))


@tool(approve=True)
def refund(return_number: str) -> str:
    """Pay back the money for a return."""
    return f"{return_number} is paid"


def fill_shop(path: Path) -> None:
    """Fill a store: lamp-shop/parcels, its branch, calls that wait and are uncertain, and another scope."""
    began, ticks = now() - 7_200, count(0, 3)
    with Store.open(path) as store, use_clock(lambda: began + next(ticks)):
        _play_parcels(store)
        _play_refund(store)
        _play_crash(store)
        diary = Session.open(OTHERS, store=store)
        diary.user("Dear diary, the safe opens with 8-15-47.")
        diary.assistant("I will keep it to myself.")


def _play_parcels(store: Store) -> None:
    """Requests that share their beginning or do not, masked results, summaries kept and not, a branch."""
    session = Session.open("lamp-shop/parcels", store=store)
    for number in range(4711, 4715):
        call = ToolCall(f"call_{number}", "track_parcel", f'{{"order": "{number}"}}')
        _ask(session, f"Where is order {number}?", call, f"Order {number} comes tomorrow.")
    session.compaction.run(by=Offload(larger_than=60, keep=1, ceiling=0))
    assert any(isinstance(item, Mask) for item in session.view().recorded())
    for thing in ("shades", "bulbs", "cables"):
        _ask(session, f"Do you have red {thing}?", f"Yes, we have {thing} in red.")
    _summarise(session, SUMMARY)
    first = next(item for item in session.view() if isinstance(item, Summary))
    _ask(session, "What did I order?", "Three lamps.")
    session.undo(first.id)
    _ask(session, "And what of my return?", "It is R-2049.", instructions="Be brief.")
    with suppress(ModelFailed):
        _summarise(session, ModelFailed("the model is overloaded"))
    _summarise(session, "long " * 2_000)
    _summarise(session, SUMMARY)
    branch = session.fork("angry", at=session.view().recorded()[5].id)
    _ask(branch, "This is too late!", "I am sorry.")


def _summarise(session: Session, written: str | ModelFailed) -> None:
    """Have a summary written now; one that failed or is too long is not kept."""
    parts_of(session).compactions.model = Scripted([written], name=MODEL, repeat=True)
    session.compaction.run(by=Summarize(floor=4, ceiling=8, size=48))


def _ask(session: Session, asked: str, *replies: ToolCall | str, instructions: str = INSTRUCTIONS) -> None:
    """Ask an agent that gives these replies; the cache serves half of each request."""
    left, counter = iter(replies), counter_for(MODEL)

    def reply(sent: Rendered) -> Parsed:
        given = next(left)
        item = Message("assistant", given) if isinstance(given, str) else given
        used = 70 + sum(map(counter.count, provider_for("openai").read_history(sent.payload)))
        return Parsed((item,), Usage(used, counter.count(item), cache_read=used // 2), model=MODEL)

    template = Template(
        Instructions(instructions), History(), budget=Budget(window=600, reserve=60), model=MODEL
    )
    Agent(
        session, template=template, model=Scripted(reply, name=MODEL), tools=[track_parcel, refund]
    ).ask_sync(asked)


def _play_refund(store: Store) -> None:
    """A call that waits for a person."""
    session = Session.open("lamp-shop/refund", store=store)
    _ask(session, "Pay for return R-2049.", ToolCall("call_pay", "refund", '{"return_number": "R-2049"}'))


def _play_crash(store: Store) -> None:
    """A call that was begun and has no result, as after a crash."""
    session = Session.open("lamp-shop/crash", store=store)
    session.user("Pay for return R-2050.")
    session.calls.begin(called(session, "refund", '{"return_number":"R-2050"}'))


# What means harm. A script that runs anywhere sets `window.ran`.

RAN = "window.ran=1"
HOSTILE = {
    "script": f"<script>{RAN}</script><img src=x onerror='{RAN}'><svg onload={RAN}>",
    "attribute": f"\" onmouseover=\"{RAN}\" autofocus onfocus='{RAN}' x='",
    "link": f"[click](javascript:{RAN}) <a href='javascript:{RAN}'>javascript:{RAN}</a>",
    "frame": f"<iframe srcdoc='<script>parent.{RAN}</script>'></iframe><base href='//evil.example/'>",
    "comment": f"--></script></style></title></textarea><script>{RAN}</script><!--",
    "style": "<style>body{display:none}</style><link rel=stylesheet href='http://evil.example/x.css'>",
    "template": "${" + RAN + "} {{" + RAN + "}} `${" + RAN + "}`",
    "terminal": "\x1b[31mred\x1b]8;;http://evil.example\x07link\x9b2J\x1b[?1049h\r\bgone",
    "control": "nul \x00 bell \x07 feed \x0c escape \x1b delete \x7f separators \u2028\u2029",
    "direction": "\u202etxt.exe\u2066 left\u2069 \u202bright \u200fend " + "שלום עולם مرحبا بالعالم",
    "combining": "Z" + "\u0351\u0321" * 300,
    "wide": "W" * 4_000,
    "emoji": "👩‍👩‍👧‍👦" * 50 + "\ufeff\u200b\ud7ff\ue000\uffff",
}
"""Texts by what they try."""

NAMES = {
    "scope": f"<script>{RAN}</script>",
    "conversation": f"<img src=x onerror={RAN}>\"'&amp; javascript:{RAN} שלום 100%",
    "transcript": f'"><script>{RAN}</script>',
    "section": f"<b onclick={RAN}>section</b>",
    "tool": f"<img src=x onerror={RAN}>",
    "agent": f"<svg onload={RAN}>",
    "model": f"<script>{RAN}</script>",
}
LARGE = "hostile/525 kB"


def fill_hostile(path: Path) -> None:
    """Fill a store with a large item and, the latest, a conversation that means harm."""
    with Store.open(path) as store:
        Session.open(LARGE, store=store).user("<script>window.ran=1</script> lamp " * 15_000)
        session = Session.open(scope=NAMES["scope"], conversation=NAMES["conversation"], store=store)
        _play_hostile(session)
        session.fork(NAMES["transcript"], at=session.view().recorded()[5].id).user(HOSTILE["script"])


def _play_hostile(session: Session) -> None:
    """Every kind of item, every text, in requests with receipts."""
    for name, text in HOSTILE.items():
        session.user(text)
        call = called(session, NAMES["tool"], json.dumps({name: text}))
        session.tool(text, call_id=call.call_id)
        session.append(Reasoning(text), Message("assistant", text, agent_id=NAMES["agent"]))
    session.user(HOSTILE["direction"], to=NAMES["transcript"])
    template = Template(
        Instructions(HOSTILE["script"], NAMES["section"]), History(), budget=Budget(window=8_000), model=MODEL
    )
    for text in (HOSTILE["link"], HOSTILE["terminal"]):
        session.user(text)
        context = session.build(template)
        context.render("openai")
        context.sent("openai", parameters={"model": NAMES["model"], "user": text})
        session.append(Message("assistant", text))
    seen = session.view().recorded()
    session.append(
        Mask(seen[2].id, HOSTILE["script"]), Summary(HOSTILE["link"], (Span(seen[5].id, seen[9].id),))
    )
    session.hide(seen[10].id)
    session.append(
        Handoff(NAMES["agent"], HOSTILE["attribute"][:50]), ConfigChange(HOSTILE["script"], (NAMES["tool"],))
    )
    session.append(Note({"key": HOSTILE["comment"]}, key=NAMES["tool"]))
    session.calls.begin(called(session, NAMES["tool"], json.dumps({"x": HOSTILE["script"]})))
