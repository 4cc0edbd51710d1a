"""How large the library is: lines and files of each package beside its budget.

Usage: python bench/size.py [--page FILE]
"""

import argparse
from pathlib import Path

import marked

ROOT = Path(__file__).parent.parent
# Package: lines and files that it may have.
BUDGETS = {
    "items": (700, 5),
    "tokens": (900, 7),
    "state": (1_900, 10),
    "compactors": (900, 6),
    "sections": (650, 4),
    "context": (1_100, 7),
    "providers": (6_000, 38),
    "stores": (2_100, 11),
    "models": (1_800, 9),
    "memory": (4_500, 25),
    "session": (3_200, 15),
    "agent": (3_500, 21),
    "programs": (2_800, 13),
    "node": (400, 3),
    "bridges": (5_000, 23),
    "cli": (2_400, 16),
}
TOTAL = (39_500, 240)


def size_of(folder: Path) -> tuple[int, int]:
    """The lines and the number of Python files in a folder."""
    files = [path for path in folder.rglob("*.py") if "__pycache__" not in path.parts]
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files), len(files)


def table() -> str:
    """The sizes as a table."""
    lines = ["| package | lines | files | budget: lines | files |", "|---|---:|---:|---:|---:|"]
    for package, (most_lines, most_files) in BUDGETS.items():
        length, count = size_of(ROOT / "src" / "quire" / package)
        lines.append(f"| `{package}` | {length:,} | {count} | {most_lines:,} | {most_files} |")
    length, count = size_of(ROOT / "src")
    lines.append(f"| all of `src` | {length:,} | {count} | {TOTAL[0]:,} | {TOTAL[1]} |")
    length, count = size_of(ROOT / "tests")
    lines.append(f"| `tests` | {length:,} | {count} | 32,000 | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    print(table())
    if given.page:
        marked.write(given.page, "size", f"Lines and files per package:\n\n{table()}")


if __name__ == "__main__":
    main()
