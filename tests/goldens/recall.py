"""How the golden corpora of documents and recall are computed.

A row of `documents` has a text or bytes and a name; of `recall` the conversations and documents of one scope,
and questions. Scores are rounded to four digits.
"""

from base64 import b64decode
from collections.abc import Callable

from quire.context import Template
from quire.items import Message, use_clock
from quire.memory import Memory, Recall, recalled
from quire.memory.documents import Document, chunks, read_document
from quire.session import Session
from quire.stores import MemoryStore, Store
from quire.tokens import Budget
from tests.goldens.core import Json, attempt, items_of

# What calls the library: only these functions know the names of its verbs.

SCOPE = "ana"
TOLD = Template(Recall("knowledge", tokens=512), budget=Budget(window=4_000))
FOUND = 20


def blocks(document: Document) -> Json:
    return [[one.kind, one.text, one.level, one.is_header, one.page] for one in document.blocks]


def pieces(document: Document, tokens: int) -> Json:
    return [
        [one.text, list(one.path), one.lead, one.own, one.page, one.tokens]
        for one in chunks(document, tokens=tokens)
    ]


def remembered(given: Json) -> Store:
    """A store with conversations and documents."""
    store = MemoryStore()
    for conversation, items in given["conversations"].items():
        Session.open(scope=SCOPE, conversation=conversation, store=store).append(*items_of(items))
    knowledge = Memory.of(store, SCOPE).knowledge
    for source, text in given.get("documents", {}).items():
        knowledge.add_text(text, source=source)
    return store


def found(store: Store, question: str, at: float, conversation: str) -> Json:
    memory = Memory.of(store, SCOPE)
    quotes = recalled(memory, question, conversation=conversation, at=at)
    return [[quote.id, round(quote.score, 4)] for quote in quotes[:FOUND]]


def told(store: Store, question: str, at: float, conversation: str) -> str:
    """The text of the block that a context shows within 512 tokens."""
    session = Session.open(scope=SCOPE, conversation=conversation, store=store)
    asked = Message("user", question, id="asked", created_at=at)
    with use_clock(lambda: at):
        context = session.build(TOLD, input=asked)
    return "".join(item.text for item in context.items if isinstance(item, Message))


# Outcomes


def documents(given: Json) -> Json:
    content = b64decode(given["base64"]) if "base64" in given else given["text"]
    document = read_document(content, name=given["name"], media_type=given.get("media_type"))
    return {
        "title": document.title,
        "media_type": document.media_type,
        "notes": len(document.notes),
        "blocks": blocks(document),
        "chunks": pieces(document, 256),
        "small_chunks": [[one[0], one[5]] for one in pieces(document, 64)],
    }


def answers(given: Json) -> Json:
    store = remembered(given)
    return [
        {
            "found": found(store, question, given["at"], where),
            "told": told(store, question, given["at"], where),
        }
        for question, where in given["questions"]
    ]


CORPORA: dict[str, Callable[[Json], Json]] = {"documents": documents, "recall": answers}


def compute(category: str, given: Json) -> Json:
    """The outcome of a row."""
    return attempt(documents if "name" in given else answers, given)
