"""Ways to choose turns for a question: the newest, plain BM25, and ours."""

from collections import Counter
from collections.abc import Callable
from math import log

from locomo import Conversation
from quire.memory.embedding import Embed, Embedding
from quire.memory.index import InProcess, Question
from quire.memory.index.index import MOST_HITS
from quire.memory.leaf import Leaf
from quire.memory.ranking import Weights
from quire.memory.words import terms
from recall_scores import Ranking

Method = Callable[[Conversation], Ranking]


def quire(weights: Weights | None = None, embed: Embed | None = None) -> Method:
    """The index of the library."""

    def method(conversation: Conversation) -> Ranking:
        index = InProcess(weights)
        index.put(conversation.leaves)
        embedding = Embedding(embed) if embed else None

        def ranking(text: str) -> list[Leaf]:
            question = Question.of(text, conversation.now)
            if embedding is None:
                return [hit.leaf for hit in index.search(question).hits]
            return [hit.leaf for hit in embedding.search(index, question, MOST_HITS, None).hits]

        return ranking

    return method


def last(conversation: Conversation) -> Ranking:
    """The newest turns, whatever is asked."""
    return lambda question: conversation.leaves[::-1]


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

    def ranking(question: str) -> list[Leaf]:
        asked = set(terms(question))
        scores = [score(asked, bag) for bag in bags]
        best = sorted(range(len(bags)), key=lambda nth: (-scores[nth], nth))
        return [conversation.leaves[nth] for nth in best]

    return ranking


def _rarity(term: str, frequency: Counter[str], count: int) -> float:
    return log(1 + (count - frequency[term] + 0.5) / (frequency[term] + 0.5))


METHODS: dict[str, Method] = {"quire": quire(), "bm25": bm25, "last": last}
