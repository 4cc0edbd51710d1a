"""The part of `recall_speed.py` that runs where bm25s is installed: texts and questions in, seconds out.

All questions are asked in rounds; the seconds are those of the best.
"""

import json
import sys
import time

import bm25s


def main() -> None:
    """Index all texts, then ask each question."""
    given = json.load(sys.stdin)
    start = time.perf_counter()
    index = bm25s.BM25()
    index.index(bm25s.tokenize(given["texts"], stopwords="en", show_progress=False), show_progress=False)
    shared = (time.perf_counter() - start) / len(given["texts"])
    most = min(given["limit"], len(given["texts"]))
    rounds = [
        [_seconds(index, question, most) for question in given["questions"]] for _ in range(given["rounds"])
    ]
    print(json.dumps({"indexing": [shared], "search": min(rounds, key=sum)}))


def _seconds(index: bm25s.BM25, question: str, most: int) -> float:
    start = time.perf_counter()
    asked = bm25s.tokenize(question, stopwords="en", show_progress=False)
    index.retrieve(asked, k=most, show_progress=False)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
