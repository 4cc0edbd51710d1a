"""The part of `recall_speed.py` that runs where bm25s is installed: texts and questions in, seconds out."""

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
    taken = []
    for question in given["questions"]:
        start = time.perf_counter()
        asked = bm25s.tokenize(question, stopwords="en", show_progress=False)
        index.retrieve(asked, k=most, show_progress=False)
        taken.append(time.perf_counter() - start)
    print(json.dumps({"indexing": [shared], "search": taken}))


if __name__ == "__main__":
    main()
