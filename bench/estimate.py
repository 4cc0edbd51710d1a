"""How near the estimate comes to the exact count, class by class, on files of yours.

Usage: python bench/estimate.py [--encoding o200k_base] [--json] PATH...

Folders are walked; what is no text is left out. A file's class is the ending of its name. `--json` prints one
JSON object instead of the table.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from quire.tokens import estimate
from quire.tokens.exact import ENCODINGS, exact

MESSAGE = 780
"""Characters of the messages that the times are given for."""


def files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(inner for inner in path.rglob("*") if inner.is_file()) if path.is_dir() else [path]


def text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError):
        return ""


def class_of(path: Path) -> str:
    name = path.name.lower()
    return ".min.js" if name.endswith(".min.js") else path.suffix.lower() or "(none)"


def percent(value: float, true: float) -> float:
    return round(100 * (value / true - 1), 1)


def row(texts: list[str], count: Callable[[str], int]) -> dict[str, float]:
    true = [count(text) for text in texts]
    ours = [estimate(text) for text in texts]
    errors = sorted(abs(guess / exactly - 1) for guess, exactly in zip(ours, true, strict=True) if exactly)
    return {
        "files": len(texts),
        "characters": sum(map(len, texts)),
        "exact": sum(true),
        "estimate_error_percent": percent(sum(ours), sum(true)),
        "quarter_of_characters_error_percent": percent(sum(map(len, texts)) / 4, sum(true)),
        "nine_in_ten_within_percent": round(100 * errors[int(0.9 * (len(errors) - 1))], 1),
    }


def microseconds(texts: list[str], function: Callable[[str], int]) -> float:
    messages = [text[at : at + MESSAGE] for text in texts for at in range(0, len(text), MESSAGE)][:5000]
    start = time.perf_counter()
    for message in messages:
        function(message)
    return round((time.perf_counter() - start) / len(messages) * 1e6, 2)


def measured(paths: list[Path], encoding: str) -> dict[str, object]:
    classes: dict[str, list[str]] = {}
    for path in files(paths):
        if text := text_of(path):
            classes.setdefault(class_of(path), []).append(text)
    if not classes:
        sys.exit("no text was found")
    every = [text for texts in classes.values() for text in texts]
    count = exact(encoding)
    # The first counts load the vocabulary and build what is built once; that is not what is measured.
    count(Path(__file__).read_text(encoding="utf-8") * 20)
    # The exact count goes first: it keeps what it has seen, and a second pass would flatter it.
    times = {"exact": microseconds(every, count), "estimate": microseconds(every, estimate)}
    rows = {name: row(texts, count) for name, texts in sorted(classes.items())}
    return {"encoding": encoding, "microseconds_per_message": times, "classes": rows}


def table(result: dict[str, object]) -> str:
    lines = [f"{'class':10} {'files':>6} {'exact':>10} {'estimate':>9} {'chars/4':>8} {'9 in 10':>8}"]
    rows = result["classes"]
    assert isinstance(rows, dict)
    for name, figures in rows.items():
        lines.append(
            f"{name:10} {figures['files']:>6} {figures['exact']:>10,}"
            f" {figures['estimate_error_percent']:>+8}%"
            f" {figures['quarter_of_characters_error_percent']:>+7}%"
            f" {figures['nine_in_ten_within_percent']:>7}%"
        )
    return "\n".join([*lines, f"microseconds per {MESSAGE} characters: {result['microseconds_per_message']}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--encoding", default="o200k_base", choices=sorted(ENCODINGS))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    result = measured(arguments.paths, arguments.encoding)
    sys.stdout.write((json.dumps(result) if arguments.json else table(result)) + "\n")


if __name__ == "__main__":
    main()
