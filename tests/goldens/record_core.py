"""Record the golden corpora anew from their own inputs, or print what differs from them.

python -m tests.goldens.record_core [--corpus NAME] [--diff]
"""

import argparse
import json
from collections import Counter

from tests.goldens.core import CORPORA, Difference, changes, compute, read_rows, write_rows

_LONGEST = 400


def print_differences(corpus: str) -> None:
    """Print the differences of a corpus by category: how many, in how many rows, and one of them."""
    counts, rows = Counter[str](), dict[str, set[int]]()
    first: dict[str, tuple[int, Difference]] = {}
    for number, found in changes(corpus):
        counts[found[0]] += 1
        rows.setdefault(found[0], set()).add(number)
        first.setdefault(found[0], (number, found))
    print(f"{corpus}: {sum(counts.values())} differences in {len(set[int]().union(*rows.values()))} rows")
    for path, count in counts.most_common():
        number, (_, expected, found_now) = first[path]
        print(f"  {path}: {count} in {len(rows[path])} rows, such as row {number}:")
        print(f"    expected {_short(expected)}\n    found    {_short(found_now)}")


def record(corpus: str) -> None:
    """Compute every row of a corpus again, and write it."""
    rows = read_rows(corpus)
    write_rows(corpus, [{**row, "expected": compute(row)} for row in rows])
    print(f"{corpus}: {len(rows)} rows written")


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", choices=CORPORA, help="only this one")
    parser.add_argument("--diff", action="store_true", help="print the differences, and write nothing")
    options = parser.parse_args()
    for corpus in [options.corpus] if options.corpus else CORPORA:
        (print_differences if options.diff else record)(corpus)


if __name__ == "__main__":
    main()
