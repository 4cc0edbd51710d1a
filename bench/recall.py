"""Whether the right turns come back: shares of the turns that hold an answer, within a budget of tokens.

Usage: python bench/recall.py PATH [--budget N ...] [--json] [--leave-one-out] [--embed KIND]
                              [--asked-in] [--speed [--sizes N ...] [--peers PYTHON]]
                              [--record FILE | --compare FILE | --unrelated PROMPTS]

The file is in the format of LoCoMo. ER@B is the mean share of a question's evidence turns that are in what is
told within B tokens (cl100k; the block as the section for recall tells it), All@B the share of questions with
all of them there, R@k the mean share among the first k that were found, and MRR the mean of one by the rank
of the first evidence turn. Questions without evidence are left
out. `quire` is the library as it is shipped, from a session to the block; `bm25` has stop words and stems,
`last` takes the newest turns. With --leave-one-out each conversation is asked with weights chosen on the
others, by the same search from the same start. With --embed an embedding stands beside the words: `letters`
hashes runs of letters, `noise` is none at all, `knowing` is told which turns answer and `guessing` nearly so,
under much noise. With --asked-in each question is a turn of its conversation when it is asked, as it is in a
chat. --speed measures building and indexing instead, beside peers. --record writes ids and scores of the
first turns found for each question, and no text; --compare tells how many questions have the same first ones
as there. --unrelated reads prompts that have nothing to do with the conversations, one on a line, and tells
how often something is recalled for them all the same.
"""

import argparse
import json
import sys
from pathlib import Path

import recall_frozen
import recall_speed
from choosing import left_out
from locomo import Conversation, conversations
from recall_methods import METHODS, Method, quire
from recall_scores import BUDGETS, CUTS, Row, as_dict, as_text, rows
from recall_vectors import EMBEDDINGS


def main() -> None:
    """Measure what is found again."""
    options = _options()
    found = conversations(options.path)
    if options.speed:
        report = recall_speed.speed(found, options.peers, options.sizes)
        print(json.dumps({"speed": report}) if options.json else recall_speed.as_text(report), flush=True)
        return
    if options.record or options.compare or options.unrelated:
        print(_frozen(options, found), flush=True)
        return
    methods = dict(METHODS)
    embedding = EMBEDDINGS[options.embed] if options.embed else None
    methods["quire"] = quire(embedding=embedding, asked_in=options.asked_in)
    results = {name: _asked(name, method, found, options.budget) for name, method in methods.items()}
    told: dict[str, object] = {"budgets": options.budget, "cuts": CUTS, "questions": len(results["quire"])}
    if options.leave_one_out:
        chosen = left_out(found, options.budget)
        results |= {"quire, left out": chosen.left_out, "quire, chosen on": chosen.train}
        told["weights"] = chosen.weights
    told["methods"] = {name: as_dict(found, options.budget) for name, found in results.items()}
    print(json.dumps(told) if options.json else as_text(results, options.budget), flush=True)


def _frozen(options: argparse.Namespace, found: list[Conversation]) -> str:
    if options.unrelated:
        return recall_frozen.surfaced(found, options.unrelated.read_text(encoding="utf-8").splitlines())
    now = recall_frozen.first_found(found, options.budget)
    if options.compare:
        return recall_frozen.compared(recall_frozen.read(options.compare), now)
    return recall_frozen.written(options.record, now)


def _asked(name: str, method: Method, found: list[Conversation], budgets: list[int]) -> list[Row]:
    asked: list[Row] = []
    for conversation in found:
        print(f"{name}: {conversation.name}, {len(conversation.questions)} questions", file=sys.stderr)
        asked += rows(conversation, method(conversation), budgets)
    return asked


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--budget", type=int, nargs="+", default=list(BUDGETS), metavar="N")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument(
        "--leave-one-out", action="store_true", help="choose weights on the other conversations"
    )
    parser.add_argument("--embed", choices=EMBEDDINGS, help="an embedding beside the words")
    parser.add_argument("--asked-in", action="store_true", help="each question is a turn when it is asked")
    parser.add_argument("--speed", action="store_true", help="measure times instead")
    parser.add_argument("--sizes", type=int, nargs="+", default=recall_speed.SIZES, metavar="N")
    parser.add_argument("--peers", type=Path, metavar="PYTHON", help="the Python that has bm25s")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write what is found first")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="compare with what was found first")
    parser.add_argument("--unrelated", type=Path, metavar="PROMPTS", help="prompts that nothing answers")
    return parser.parse_args()


if __name__ == "__main__":
    main()
