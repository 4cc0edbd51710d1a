"""Write golden corpora anew, or print how the present outcomes differ from them, by category.

    python -m tests.goldens.record providers                     # write all corpora of the package anew
    python -m tests.goldens.record providers --diff              # differences by category, with one example
    python -m tests.goldens.record providers --diff --corpus render --wire gemini --ignore prefix
    python -m tests.goldens.record providers --diff --only 'changed payload.messages' --values
    python -m tests.goldens.record providers --diff --only 'added downgrades' --show 2   # whole cases
    python -m tests.goldens.record providers --case render-0123  # one row: its input and its outcomes
    python -m tests.goldens.record providers --only state-data   # write only rows that differ in nothing else

`--only` and `--ignore` are regular expressions, searched in "wire kind path".
"""

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tests.goldens.providers import CORPORA, Difference, Row, differences, outcome_of, read, write

_SHORT = 100


class Group(NamedTuple):
    """Differences of one category."""

    title: str
    found: list[Difference]


def grouped(found: Iterator[Difference], *, values: bool = False) -> list[Group]:
    """Differences by wire and category, the most frequent first."""
    groups = defaultdict[str, list[Difference]](list)
    for one in found:
        title = f"{one.wire} {one.category}"
        groups[f"{title}: {_short(one.expected)} → {_short(one.found)}" if values else title].append(one)
    return sorted((Group(*pair) for pair in groups.items()), key=lambda group: -len(group.found))


def summary(
    corpora: Sequence[str],
    *,
    most: int | None = None,
    matches: Callable[[Difference], bool] = lambda _: True,
    values: bool = False,
    show: int = 0,
) -> list[str]:
    """Lines that say by category how outcomes differ; none if they do not."""
    lines = list[str]()
    for corpus in corpora:
        groups = grouped(filter(matches, differences(corpus)), values=values)
        rows = {one.row.name for group in groups for one in group.found}
        if groups:
            lines.append(f"{corpus}: {len(rows)} rows differ, in {len(groups)} ways")
        for title, found in groups[:most]:
            lines.append(f"{len(found):6} times {title}")
            lines.append(f"         {_example(found[0])}")
            cases = {one.row.name: one.row for one in found}
            for row in list(cases.values())[:show]:
                lines += case(corpus, row)
        if most is not None and len(groups) > most:
            lines.append(f"         … and {len(groups) - most} more; see tests/goldens/record.py")
    return lines


def case(corpus: str, row: Row) -> list[str]:
    """All of one row: what is put in, what comes out, and where that differs from what is expected."""
    told = [f"--- {row.name}: input", _long(row.input), "--- expected", _long(row.expected)]
    found = outcome_of(corpus, row.input)
    if found == row.expected:
        return [*told, "--- the present outcome is the same"]
    changes = (f"{one.kind} {one.path}: {_example(one)}" for one in differences(corpus, [row]))
    return [*told, "--- present outcome", _long(found), "--- differences", *changes]


def record(corpus: str, matches: Callable[[Difference], bool]) -> str:
    """Write a corpus anew; a row that also differs otherwise than `matches` says is left as it is."""
    rows, changed = list[Row](), 0
    for row in read(corpus):
        found = list(differences(corpus, [row]))
        if found and all(map(matches, found)):
            row, changed = row._replace(expected=outcome_of(corpus, row.input)), changed + 1
        rows.append(row)
    return f"{corpus}: {len(rows)} rows, {changed} changed, {write(corpus, rows):,} bytes"


def _example(one: Difference) -> str:
    return f"{one.row.name} {one.path}: {_short(one.expected)} → {_short(one.found)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return ascii(text)[1:-1] if len(text) <= _SHORT else f"{ascii(text[:_SHORT])[1:-1]}… ({len(text)})"


def _long(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True)


def _matching(options: argparse.Namespace) -> Callable[[Difference], bool]:
    def matches(one: Difference) -> bool:
        title = f"{one.wire} {one.category}"
        if options.wire and options.wire != one.wire:
            return False
        wanted = not options.only or any(re.search(only, title) for only in options.only)
        return wanted and not any(re.search(ignored, title) for ignored in options.ignore)

    return matches


def main() -> None:
    """Read the arguments, and print or write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", choices=["providers"])
    parser.add_argument("--corpus", choices=CORPORA, help="one corpus instead of all")
    parser.add_argument("--diff", action="store_true", help="print differences, write nothing")
    parser.add_argument("--wire", help="only differences of one wire")
    parser.add_argument("--only", action="append", default=[], help="only categories that match")
    parser.add_argument("--ignore", action="append", default=[], help="no categories that match")
    parser.add_argument("--values", action="store_true", help="make old and new value part of a category")
    parser.add_argument("--show", type=int, default=0, help="print so many whole cases of each category")
    parser.add_argument("--most", type=int, help="print at most so many categories of each corpus")
    parser.add_argument("--case", help="print one row by its name")
    options = parser.parse_args()
    corpora: list[str] = [options.corpus] if options.corpus else list(CORPORA)
    if options.case:
        corpus = options.case.partition("-")[0]
        rows = [row for row in read(corpus) if row.name == options.case]
        print(*(line for row in rows for line in case(corpus, row)), sep="\n")
        return
    matches = _matching(options)
    if options.diff:
        lines = summary(corpora, most=options.most, matches=matches, values=options.values, show=options.show)
        print(*(lines or ["no differences"]), sep="\n")
    else:
        print(*(record(corpus, matches) for corpus in corpora), sep="\n")


if __name__ == "__main__":
    main()
