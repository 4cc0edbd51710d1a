"""Record golden corpora anew, or print how the present outcomes differ from them, by category.

    python -m tests.goldens.record                        # record all corpora
    python -m tests.goldens.record render views --diff    # differences of two corpora, with one example each
    python -m tests.goldens.record providers --diff --ignore prefix --only 'gemini changed payload'
    python -m tests.goldens.record tools --diff --only 'added downgrades' --show 2    # two whole rows of each
    python -m tests.goldens.record --case render-0123     # one row: its input and its outcomes
    python -m tests.goldens.record parse --only state-data  # record only rows that differ in nothing else

`--only` and `--ignore` are regular expressions, searched in "wire kind path" or "category kind path".
"""

import argparse
import json
import logging
import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tests.goldens.corpus import CORPORA, Difference, Row, differences, outcome_of, read, write
from tests.goldens.providers import CORPORA as PROVIDERS

_SHORT = 100


def summary(
    corpus: str, matches: Callable[[Difference], bool] = lambda _: True, show: int = 0, every: int = 1
) -> list[str]:
    """Lines that say by category how outcomes differ, the most frequent first; none if they do not.

    With `every`, only one row in so many is compared.
    """
    groups = defaultdict[str, list[Difference]](list)
    for one in filter(matches, differences(read(corpus)[::every])):
        groups[one.title].append(one)
    rows = {one.row.name for found in groups.values() for one in found}
    lines = [f"{corpus}: {len(rows)} rows differ, in {len(groups)} ways"] if groups else []
    for title, found in sorted(groups.items(), key=lambda group: -len(group[1])):
        lines += [f"{len(found):6} times {title}", f"         {_example(found[0])}"]
        for row in list({one.row.name: one.row for one in found}.values())[:show]:
            lines += case(row)
    return lines


def case(row: Row) -> list[str]:
    """All of one row: its input, what is expected, and where the present outcome differs."""
    parts = {"input": row.input, "expected": row.expected, "present": outcome_of(row)}
    lines = [f"--- {row.name} {name}\n{json.dumps(value, indent=1)}" for name, value in parts.items()]
    return [*lines, "--- differences", *(f"{one.kind} {_example(one)}" for one in differences([row]))]


def record(corpus: str, matches: Callable[[Difference], bool]) -> str:
    """Write a corpus anew; a row that also differs otherwise than `matches` says is left as it is."""
    rows, changed = read(corpus), 0
    for number, row in enumerate(rows):
        found = list(differences([row]))
        if found and all(map(matches, found)):
            rows[number], changed = row._replace(expected=outcome_of(row)), changed + 1
    if changed:
        write(corpus, rows)
    return f"{corpus}: {len(rows)} rows, {changed} changed"


def _example(one: Difference) -> str:
    return f"{one.row.name} {one.path}: {_short(one.expected)} → {_short(one.found)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return ascii(text)[1:-1] if len(text) <= _SHORT else f"{ascii(text[:_SHORT])[1:-1]}… ({len(text)})"


def main() -> None:
    """Read the arguments, and print or write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", help=f"of {', '.join(CORPORA)}, or providers")
    parser.add_argument("--corpus", action="append", default=[], choices=CORPORA, help="the same")
    parser.add_argument("--diff", action="store_true", help="print differences, write nothing")
    parser.add_argument("--only", action="append", default=[], help="only categories that match")
    parser.add_argument("--ignore", action="append", default=[], help="no categories that match")
    parser.add_argument("--show", type=int, default=0, help="print so many whole rows of each category")
    parser.add_argument("--case", help="print one row by its name")
    options = parser.parse_args()
    logging.disable()

    def matches(one: Difference) -> bool:
        wanted = not options.only or any(re.search(only, one.title) for only in options.only)
        return wanted and not any(re.search(ignored, one.title) for ignored in options.ignore)

    if options.case:
        rows = [row for row in read(options.case.partition("-")[0]) if row.name == options.case]
        print(*(line for row in rows for line in case(row)), sep="\n")
        return
    named = options.corpus or [
        corpus
        for name in options.corpora or CORPORA
        for corpus in (PROVIDERS if name == "providers" else [name])
    ]
    for corpus in named:
        lines = summary(corpus, matches, options.show) if options.diff else [record(corpus, matches)]
        print(*(lines or [f"{corpus}: no differences"]), sep="\n", flush=True)


if __name__ == "__main__":
    main()
