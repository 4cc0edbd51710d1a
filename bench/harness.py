"""What Pydantic AI's Harness has beside its loop, run with the peers' Python: a search, and a store.

Usage: python bench/harness.py search < JSON     {"turns": [text, …], "questions": [text, …]}
       python bench/harness.py append N

`search` prints the numbers of the turns that its `ConversationSearch` ranks for each question, best first,
and the milliseconds it takes. `append` prints the microseconds of CPU time, at best, of keeping one message
more after N.
"""

import asyncio
import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

from peers import pydantic_ai
from transcript import ONE_MORE, entries, messages

MOST = 200
ROUNDS = 10


async def search(turns: list[str], questions: list[str]) -> dict[str, list[Any]]:
    from pydantic_ai.messages import ModelRequest, UserPromptPart
    from pydantic_ai_harness.conversation_search import ConversationSearch, SnapshotHistorySource
    from pydantic_ai_harness.step_persistence import ContinuableSnapshot, InMemoryStepStore, RunRecord

    store = InMemoryStepStore()
    said = [ModelRequest(parts=[UserPromptPart(text)]) for text in turns]
    await store.register_run(RunRecord(run_id="one"))
    await store.save_snapshot(ContinuableSnapshot(run_id="one", step_index=1, messages=[*said]))
    source = SnapshotHistorySource(store)
    toolset: Any = ConversationSearch(source, scope="all", max_matches=MOST, context_lines=0).get_toolset()
    found: dict[str, list[Any]] = {"ranked": [], "ms": []}
    for question in questions:
        start = perf_counter()
        text = await toolset.search_conversation_history(None, question)  # a scope of all needs no context
        found["ms"].append(1e3 * (perf_counter() - start))
        found["ranked"].append([int(number) for number in re.findall(r"^\[(\d+)\] ", text, re.MULTILINE)])
    return found


async def append(size: int) -> float:
    from pydantic_ai_harness.step_persistence import ContinuableSnapshot, RunRecord, SqliteStepStore

    library = pydantic_ai()
    history, best = library.filled(entries(messages(size))), float("inf")
    with TemporaryDirectory() as folder:
        store = SqliteStepStore(database=Path(folder, "harness.db"))
        await store.register_run(RunRecord(run_id="one"))
        for step in range(ROUNDS):
            library.add(history, (ONE_MORE,))
            snapshot = ContinuableSnapshot(run_id="one", step_index=step, messages=[*history])
            start = process_time()
            await store.save_snapshot(snapshot)
            best = min(best, 1e6 * (process_time() - start))
    return best


if __name__ == "__main__":
    if sys.argv[1] == "search":
        asked = json.load(sys.stdin)
        print(json.dumps(asyncio.run(search(asked["turns"], asked["questions"]))))
    else:
        print(asyncio.run(append(int(sys.argv[2]))))
