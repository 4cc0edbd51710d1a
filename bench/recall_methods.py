"""Ways to choose turns for a question: the newest, plain BM25, and ours."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import log

from locomo import Conversation
from quire.items import Message
from quire.memory import Memory, recalled
from quire.memory.embedding import Embed
from quire.memory.index import Index
from quire.memory.quotes import Quote
from quire.memory.ranking import Weights
from quire.memory.words import terms
from quire.session import Session
from quire.stores import MemoryStore
from recall_scores import Ranking, quote

Method = Callable[[Conversation], Ranking]


def quire(
    weights: Weights | None = None,
    embedding: Callable[[Conversation], Embed] | None = None,
    *,
    asked_in: bool = False,
) -> Method:
    """The library as it is shipped: a session, its memory, and what the section for recall asks it.

    With `asked_in`, each question is a turn of the conversation when it is asked, as it is in a chat.
    """

    def method(conversation: Conversation) -> Ranking:
        store = MemoryStore()
        session = Session.open(scope="bench", conversation=conversation.name, store=store)
        session.append(*conversation.messages)
        embed = None if embedding is None else embedding(conversation)
        memory = Memory(store, "bench", index=Index(weights), embed=embed)

        def asked(text: str) -> Sequence[Quote]:
            turn = Message("user", text, created_at=conversation.now)
            session.append(turn)
            found = told(text, ((conversation.name, turn.id),))
            session.forget(turn.id)
            return found

        def told(text: str, turns: Iterable[tuple[str, str]] = ()) -> Sequence[Quote]:
            return recalled(
                memory,
                text,
                conversation=conversation.name,
                at=conversation.now,
                asked_in=turns,
                evident=True,
            )

        return asked if asked_in else told

    return method


def last(conversation: Conversation) -> Ranking:
    """The newest turns, whatever is asked."""
    quotes = [quote(conversation, leaf) for leaf in conversation.leaves[::-1]]
    return lambda question: quotes


def bm25(conversation: Conversation) -> Ranking:
    """The textbook, with stop words left out and stems: k1 = 1.2, b = 0.75."""
    bags = [Counter(terms(leaf.text)) for leaf in conversation.leaves]
    frequency = Counter(term for bag in bags for term in bag)
    mean = sum(bag.total() for bag in bags) / len(bags)

    def score(asked: set[str], bag: Counter[str]) -> float:
        long = 1.2 * (0.25 + 0.75 * bag.total() / mean)
        return sum(
            _rarity(term, frequency, len(bags)) * 2.2 * bag[term] / (bag[term] + long)
            for term in asked & bag.keys()
        )

    def ranking(question: str) -> list[Quote]:
        asked = set(terms(question))
        scores = [score(asked, bag) for bag in bags]
        best = sorted(range(len(bags)), key=lambda nth: (-scores[nth], nth))
        return [quote(conversation, conversation.leaves[nth]) for nth in best]

    return ranking


def _rarity(term: str, frequency: Counter[str], count: int) -> float:
    return log(1 + (count - frequency[term] + 0.5) / (frequency[term] + 0.5))


METHODS: dict[str, Method] = {"quire": quire(), "bm25": bm25, "last": last}
