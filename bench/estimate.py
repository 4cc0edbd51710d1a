"""How near the estimate comes to the exact count, class by class, on files of yours.

Usage: python bench/estimate.py [--encoding o200k_base] [--json] [PATH...]

Folders are walked; what is no text is left out. A file's class is the ending of its name. Kinds of text that
estimates find hard, such as digests and part numbers, are made up and measured with them. `--json` prints one
JSON object instead of the table.
"""

import argparse
import base64
import json
import random
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from quire.tokens import estimate
from quire.tokens.exact import ENCODINGS, exact

MESSAGE = 780
"""Characters of the messages that the times are given for."""

LEAST = 2000
"""Shorter files count in the sum of their class, and not among the single ones."""

TEXTS = 30
"""How many texts of each kind are made up."""

CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def digests(rng: random.Random) -> list[dict[str, object]]:
    return [{"path": f"data/{n}.bin", "sha256": rng.randbytes(32).hex().upper()} for n in range(40)]


def places(rng: random.Random) -> dict[str, object]:
    def feature(number: int) -> dict[str, object]:
        spot = [round(rng.uniform(-180, 180), 6), round(rng.uniform(-90, 90), 6)]
        return {
            "type": "Feature",
            "properties": {"name": f"Station {number}"},
            "geometry": {"type": "Point", "coordinates": spot},
        }

    return {"type": "FeatureCollection", "features": [feature(number) for number in range(50)]}


def part_number(rng: random.Random) -> str:
    first, last = rng.choices(CAPITALS, k=2), rng.choice(CAPITALS)
    return f"{''.join(first)}-{rng.randint(1000, 9999)}-{last}{rng.randint(0, 9)}"


def identifier(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128)))


def logged(rng: random.Random) -> str:
    minute, took = rng.randint(10, 59), rng.randint(1, 9999)
    return f"2026-11-15T02:{minute}:07Z INFO request={identifier(rng)} took {took} ms"


def lines(rng: random.Random, line: Callable[[random.Random], str]) -> str:
    return "\n".join(line(rng) for _ in range(150))


KINDS: dict[str, Callable[[random.Random], str]] = {
    "JSON: digests in capitals": lambda rng: json.dumps(digests(rng), indent=2),
    "JSON: GeoJSON": lambda rng: json.dumps(places(rng), separators=(",", ":")),
    "JSON: numbers": lambda rng: json.dumps([[rng.gauss(0, 1) for _ in range(8)] for _ in range(40)]),
    "JSON: base64": lambda rng: json.dumps([base64.b64encode(rng.randbytes(90)).decode() for _ in range(30)]),
    "base64 of random bytes": lambda rng: base64.b64encode(rng.randbytes(3000)).decode(),
    "base64 of zero bytes": lambda rng: base64.b64encode(bytes(rng.randint(2000, 4000))).decode(),
    "hexadecimal": lambda rng: rng.randbytes(2000).hex(),
    "hexadecimal in capitals": lambda rng: rng.randbytes(2000).hex().upper(),
    "UUIDs": lambda rng: lines(rng, identifier),
    "UUIDs in capitals": lambda rng: lines(rng, identifier).upper(),
    "part numbers": lambda rng: lines(rng, part_number) + "\n" + lines(rng, part_number),
    "log lines": lambda rng: lines(rng, logged),
}


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
    alone = [index for index, text in enumerate(texts) if len(text) >= LEAST] or range(len(texts))
    errors = sorted((percent(ours[index], true[index]) for index in alone), key=abs)
    return {
        "files": len(texts),
        "characters": sum(map(len, texts)),
        "exact": sum(true),
        "estimate_error_percent": percent(sum(ours), sum(true)),
        "quarter_of_characters_error_percent": percent(sum(map(len, texts)) / 4, sum(true)),
        "nine_in_ten_within_percent": abs(errors[int(0.9 * (len(errors) - 1))]),
        "nineteen_in_twenty_within_percent": abs(errors[int(0.95 * (len(errors) - 1))]),
        "worst_percent": errors[-1],
        "within_ten_percent_of_files": round(100 * sum(abs(error) <= 10 for error in errors) / len(errors)),
    }


def microseconds(texts: list[str], function: Callable[[str], int]) -> float:
    messages = [text[at : at + MESSAGE] for text in texts for at in range(0, len(text), MESSAGE)][:5000]
    start = time.perf_counter()
    for message in messages:
        function(message)
    return round((time.perf_counter() - start) / len(messages) * 1e6, 2)


def measured(paths: list[Path], encoding: str) -> dict[str, object]:
    rng = random.Random(encoding)
    classes = {kind: [make(rng) for _ in range(TEXTS)] for kind, make in KINDS.items()}
    for path in files(paths):
        if text := text_of(path):
            classes.setdefault(class_of(path), []).append(text)
    every = [text for texts in classes.values() for text in texts]
    count = exact(encoding)
    # The first counts load the vocabulary and build what is built once; that is not what is measured.
    count(Path(__file__).read_text(encoding="utf-8") * 20)
    # The exact count goes first: it keeps what it has seen, and a second pass would flatter it.
    times = {"exact": microseconds(every, count), "estimate": microseconds(every, estimate)}
    rows = {name: row(texts, count) for name, texts in sorted(classes.items())}
    return {"encoding": encoding, "microseconds_per_message": times, "classes": rows}


def table(result: dict[str, object]) -> str:
    heads = f"{'exact':>10} {'estimate':>9} {'chars/4':>8} {'19 in 20':>9} {'worst':>8} {'in 10 %':>8}"
    printed = [f"{'class':26} {'files':>6} {heads}"]
    rows = result["classes"]
    assert isinstance(rows, dict)
    for name, figures in rows.items():
        printed.append(
            f"{name:26} {figures['files']:>6} {figures['exact']:>10,}"
            f" {figures['estimate_error_percent']:>+8}%"
            f" {figures['quarter_of_characters_error_percent']:>+7}%"
            f" {figures['nineteen_in_twenty_within_percent']:>8}%"
            f" {figures['worst_percent']:>+7}%"
            f" {figures['within_ten_percent_of_files']:>7}%"
        )
    return "\n".join(
        [*printed, f"microseconds per {MESSAGE} characters: {result['microseconds_per_message']}"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--encoding", default="o200k_base", choices=sorted(ENCODINGS))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    result = measured(arguments.paths, arguments.encoding)
    sys.stdout.write((json.dumps(result) if arguments.json else table(result)) + "\n")


if __name__ == "__main__":
    main()
