"""What the tests of recall share: sessions with some talk, contexts, and the block of quotes in them."""

from quire.context import Context, Template
from quire.items import Message
from quire.sections import Section
from quire.session import Session
from quire.stores import MemoryStore, Store
from quire.tokens import Budget

DAY = 86_400.0


def opened(place: str = "ana/one", store: Store | None = None) -> Session:
    return Session.open(place, store=MemoryStore() if store is None else store)


def talk(store: Store | None = None, place: str = "ana/one", days: int = 40) -> Session:
    """A fact, and then so much talk that it leaves a small window."""
    session = opened(place, store)
    session.user("The word for the locker is heliotrope.")
    session.assistant("Noted.")
    for day in range(days):
        session.user(f"How warm was it in Oslo on day {day}, and was there wind?")
        session.assistant(f"Mild on day {day}, with a little wind from the west.")
    return session


def built(session: Session, *sections: Section, window: int = 500, asked: Message | None = None) -> Context:
    template = Template(*sections, budget=Budget(window=window))
    return session.build(template, input=asked)


def texts(context: Context) -> list[str]:
    return [str(message["content"]) for message in context.render("openai")["messages"]]


def quoted(context: Context) -> str:
    """The blocks of quotes in a context."""
    return "\n".join(text for text in texts(context) if "<recalled>" in text)
