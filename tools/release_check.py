"""Check that the last commit can be released: `make release-check`. Nothing is uploaded.

The wheel and the sdist are built twice from a clean checkout, looked into, installed as users would install
them, and used. `--quick` takes one Python and the wheel, without extras. What was built stays in `dist/`.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.message import Message
from email.parser import Parser
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

ROOT = Path(__file__).parents[1]
HERE = f"3.{sys.version_info.minor}"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MOST_BYTES = {".whl": 1_500_000, ".gz": 3_500_000}
"""Bounds of what is uploaded: a fifth above version 0.1.0, so that a file that strays in is seen."""

COMPLETE = (
    *("Name", "Version", "Summary", "Author", "License-Expression", "License-File", "Keywords", "Classifier"),
    *("Requires-Python", "Requires-Dist", "Provides-Extra", "Description-Content-Type"),
)
"""What the metadata of a wheel must say."""

_ASK = """
import asyncio, quire
try:
    asyncio.run(quire.Model({!r}).ask([quire.Message("user", "Hi.")]))
except quire.errors.NotAuthorized:  # there is a client, and no key
    pass
"""
_READ = "from quire.memory.documents import read_document as read; read('# A', name='a.md')"
_LOAD = "from pathlib import Path; Path('a').write_bytes(b'GGUF'); from quire.models import Local; Local('a')"
FIRST_USES = {
    "anthropic": _ASK.format("claude-opus-5"),
    "cli": "import sys; sys.argv = ['quire', '--version']; from quire.cli import main; main()",
    "documents": f"{_READ}; read('<p>A', name='a.html'); import pypdf",
    "google": _ASK.format("gemini-3-pro"),
    "local": f"{_LOAD}; import xllamacpp",
    "openai": _ASK.format("gpt-5.6"),
    "programs": "from quire.programs.workers import Workers; Workers(1)",
    "sealed": "from quire import Session; Session.open('a/b', store='memory:', key=bytes(32)).user('Hi.')",
}
"""Programs that use an extra for the first time, where importing a module of Quire does not yet."""

HISTORY = '[{"role": "user", "content": "Hi."}, {"role": "tool", "tool_call_id": "c7", "content": "4 lamps"}]'
STRICT = '{"typeCheckingMode": "strict", "include": ["program.py"]}'


class Failed(Exception):
    """Something is wrong with the package."""


class Open(Exception):
    """Something that a person has to do before the upload."""


class Skipped(Exception):
    """Something that this machine cannot check."""


# Commands and environments

# As on the machine of a user: no pins, no keys, and nothing of this project on the path.
OURS = re.compile(r"PIP_CONSTRAINT|PYTHON.*|VIRTUAL_ENV|QUIRE_.*|.*_API_KEY|MAKE.*")
USERS = {name: value for name, value in os.environ.items() if not OURS.fullmatch(name)}


def run(*command: str | Path, at: Path, status: int = 0, **variables: str) -> str:
    """Run a command in a folder; what it printed, if it ended with this status."""
    words, variables = [str(word) for word in command], USERS | variables
    done = subprocess.run(words, cwd=at, env=variables, capture_output=True, text=True, check=False)
    printed = done.stdout + done.stderr
    if done.returncode != status:
        raise Failed(f"{shlex.join(words)[:200]} ended with {done.returncode}:\n{printed[-3000:]}")
    return printed


def find_python(version: str) -> str:
    """An interpreter of this version that runs, which the shims of pyenv may not, and has `venv`."""
    managed = sorted(map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python")))
    for python in [*([sys.executable] * (version == HERE)), *managed, shutil.which(f"python{version}")]:
        if python and not subprocess.run([python, "-c", "import venv"], capture_output=True).returncode:
            return python
    raise Skipped("this machine has no such Python")


def install(python: Path, *what: str, at: Path) -> None:
    """Install into an environment with the pip of this one: another would take seconds to set up."""
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", *what, at=at)


def environment(interpreter: str, folder: Path, *what: str, at: Path) -> Path:
    """The Python of a new environment in which something is installed."""
    run(interpreter, "-m", "venv", "--without-pip", folder, at=at)
    python = folder / "bin" / "python"
    install(python, *what, at=at)
    return python


# What is checked, each a function that returns what to print


def build_twice(temp: Path) -> str:
    """Build the sdist, and from it the wheel, in two places, and compare the bytes."""
    committed = run("git", "log", "-1", "--format=%ct", at=ROOT).strip()
    for name in ("first", "second"):
        run("git", "archive", "HEAD", f"--output={temp / name}.tar", at=ROOT)
        with tarfile.open(temp / f"{name}.tar") as commit:
            commit.extractall(temp / name, filter="data")
        command = (sys.executable, "-m", "build", "--no-isolation", "--outdir", temp / f"{name}-dist")
        run(*command, at=temp / name, SOURCE_DATE_EPOCH=committed)
    for file in (temp / "first-dist").iterdir():
        if file.read_bytes() != (temp / "second-dist" / file.name).read_bytes():
            raise Failed(f"two builds of {file.name} differ")
    return "the same bytes twice, of the wheel and of the sdist"


def check_files(wheel: Path, checkout: Path) -> str:
    """Check that the wheel has all files of `src`, no others such as tests, and the licences of all code."""
    source = checkout / "src"
    expected = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    expected.add("quire/cli/support.py")  # comes from examples/
    with zipfile.ZipFile(wheel) as opened:
        found = {name for name in opened.namelist() if ".dist-info/" not in name}
        notices = {Path(name).name for name in opened.namelist() if ".dist-info/licenses/" in name}
    if found != expected:
        raise Failed(f"in the sources or in the wheel alone: {sorted(found ^ expected)}")
    if not {"quire/py.typed", "quire/inspector/page/index.html", "quire/tokens/models.toml"} <= found:
        raise Failed("no marker of types, no page of the inspector, or no data")
    vendored = {path.parent for path in source.rglob("vendor/*")}
    licences = [{path.name for path in folder.glob("LICENSE-*")} for folder in vendored]
    if not all(licences) or not {"LICENSE"}.union(*licences) <= notices:
        raise Failed(f"code by others has the licences {licences}, and the wheel {sorted(notices)}")
    data = sum(not name.endswith(".py") for name in found)
    return f"{len(found)} files, {data} of them data, no tests; licences: {', '.join(sorted(notices))}"


def check_size(*files: Path) -> str:
    """Check the sizes of what is uploaded."""
    for file in files:
        if file.stat().st_size > MOST_BYTES[file.suffix]:
            raise Failed(f"{file.name} has {file.stat().st_size} bytes, more than {MOST_BYTES[file.suffix]}")
    return ", ".join(f"{file.name} {file.stat().st_size / 1e6:.2f} MB" for file in files)


def metadata_of(wheel: Path) -> Message:
    """What a wheel says of itself."""
    with zipfile.ZipFile(wheel) as opened:
        name = next(name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(opened.read(name).decode())


def check_metadata(wheel: Path) -> str:
    """Check that nothing is missing in the metadata."""
    metadata = metadata_of(wheel)
    if missing := [name for name in COMPLETE if not metadata[name]]:
        raise Failed(f"no {', '.join(missing)}")
    urls = ", ".join(metadata.get_all("Project-URL") or ["no URLs"])
    return f"{metadata['License-Expression']}; {len(metadata.get_all('Provides-Extra') or [])} extras; {urls}"


def check_version(wheel: Path, checkout: Path) -> str:
    """Check that wheel, package and changelog have one version."""
    package = (checkout / "src" / "quire" / "__init__.py").read_text("utf-8")
    changelog = (checkout / "CHANGELOG.md").read_text("utf-8")
    entry = re.search(r"^## (\S+) \((.+)\)$", changelog, re.M)
    found = re.search(r'^__version__ = "(.+)"$', package, re.M)
    versions = [metadata_of(wheel)["Version"], found and found[1], entry and entry[1]]
    if len(set(versions)) != 1:
        raise Failed(f"wheel, package and changelog have the versions {versions}")
    if entry and entry[2] == "unreleased":
        raise Open(f"{versions[0]}; the changelog says “unreleased” in place of a date")
    return f"{versions[0]} in the wheel, in `quire.__version__` and in the changelog"


def check_name(wheel: Path, temp: Path) -> str:
    """Check that the name on PyPI is free or ours. Nothing of what is found there is run."""
    ours = metadata_of(wheel)
    options = ("--no-deps", "--ignore-requires-python", "--only-binary=:all:", "--dest", temp / "index")
    try:
        run(sys.executable, "-m", "pip", "download", *options, ours["Name"], at=temp)
    except Failed as fault:
        if "No matching distribution" not in str(fault):
            raise Skipped("the index cannot be asked whether the name is free") from None
        return f"PyPI has no wheel of the name {ours['Name']}"
    theirs = metadata_of(next((temp / "index").glob("*.whl")))
    if theirs["Author"] != ours["Author"]:
        about = f"{theirs['Name']} {theirs['Version']}, “{theirs['Summary']}”"
        raise Open(f"taken by {about}: the upload would be refused, and `pip install` would install theirs")
    return f"ours; the latest on PyPI is {theirs['Version']}"


def check_bare(version: str, folder: Path, file: Path, temp: Path) -> str:
    """Run a program where Quire is installed without extras."""
    python = environment(find_python(version), folder, str(file), at=temp)
    run(python, "program.py", at=temp)
    timed = "from time import perf_counter as now; t = now(); import quire; print(now() - t)"
    fastest = min(float(run(python, "-c", timed, at=temp)) for _ in range(5))
    return f"a program runs; `import quire` takes {1000 * fastest:.0f} ms"


def uses(extra: str, source: Path) -> list[str]:
    """Programs that need an extra: its first use, or an import of each module of Quire that needs it."""
    imports = []
    for path in sorted(source.rglob("*.py")):
        if re.search(rf'^    raise MissingExtra\(.+, "{extra}"\)', path.read_text("utf-8"), re.M):
            parts = path.relative_to(source.parent).with_suffix("").parts
            imports.append(f"import {'.'.join(part for part in parts if part != '__init__')}")
    return [*imports, *([FIRST_USES[extra]] if extra in FIRST_USES else [])]


def check_errors(python: Path, extras: dict[str, list[str]], checkout: Path, temp: Path) -> str:
    """Check that each use of an extra that is missing says how to install it, or one that it includes."""
    for extra, requirements in extras.items():
        for program in uses(extra, checkout / "src" / "quire"):
            printed = run(python, "-c", program, at=temp, status=1)
            named = re.findall(r"pip install 'quire\[([\w-]+)\]'$", printed.rstrip())
            if not named or not re.search(rf"\b{named[0]}\b", f"{extra} {requirements}"):
                raise Failed(f"the extra {extra} is missing, and the error is:\n{printed[-1000:]}")
    return f"each of {len(extras)} extras is named by what needs it"


def check_command(folder: Path, what: str, at: Path) -> str:
    """Install what the command `quire` asks for where it is missing, and use it."""
    python = environment(sys.executable, folder, what, at=at)
    quire = folder / "bin" / "quire"
    advice = re.search(r"pip (install '.+')\n$", run(quire, "--version", at=folder, status=1))
    if not advice:
        raise Failed("without the extra, `quire` does not say how to install it")
    install(python, *shlex.split(advice[1])[1:], at=folder)
    if not re.fullmatch(r"quire \d+\.\d+\.\d+\S*\n", printed := run(quire, "--version", at=folder)):
        raise Failed(f"quire --version printed {printed!r}")
    (folder / "history.json").write_text(HISTORY, "utf-8")
    if "orphan_result" not in run(quire, "check", "history.json", "--provider=openai", at=folder, status=1):
        raise Failed("quire check found no fault")
    return f"after `{advice[0].strip()}`: {printed.strip()}, and `quire check` finds a fault"


def check_extras(folder: Path, names: str, what: str, at: Path, checkout: Path) -> str:
    """Install Quire with extras into an environment of its own, and use them."""
    python = environment(sys.executable, folder, what, at=at)
    programs = [each for name in names.split(",") for each in uses(name, checkout / "src" / "quire")]
    for program in programs:
        run(python, "-W", "ignore", "-c", program, at=folder)
    shutil.rmtree(folder)  # all of them together take gigabytes
    return f"first uses that work: {len(programs)}"


def check_types(python: Path, temp: Path) -> str:
    """Check the types of a user's program against the installed wheel."""
    (temp / "pyrightconfig.json").write_text(STRICT, "utf-8")
    options = ("--strict", "--config-file=", f"--cache-dir={temp / 'mypy'}", f"--python-executable={python}")
    run(sys.executable, "-m", "mypy", *options, "program.py", at=temp)
    run(sys.executable, "-m", "basedpyright", "--pythonpath", python, at=temp)
    return "mypy --strict and basedpyright, strict, find nothing"


# The whole


class Report:
    """What was checked: a table that is printed as it grows."""

    def __init__(self) -> None:
        self.states: list[str] = []

    def check(self, name: str, verb: Callable[..., str], *arguments: object) -> str:
        """Check one thing; what came of it."""
        began = monotonic()
        try:
            state, detail = "passed", verb(*arguments)
        except (Failed, Open, Skipped) as fault:
            state, detail = type(fault).__name__.upper(), str(fault)
        except Exception as fault:
            state, detail = "FAILED", repr(fault)
        self.states.append(state)
        print(f"{state:8}{name:40}{monotonic() - began:4.0f} s  {detail}", flush=True)
        return state


def main() -> int:
    """Check all; the exit status."""
    parser = argparse.ArgumentParser(description="Check that the last commit can be released.")
    parser.add_argument("--quick", action="store_true", help="one Python and the wheel, without extras")
    is_quick = parser.parse_args().quick
    report = Report()
    with TemporaryDirectory(prefix="quire-release-") as folder:
        temp = Path(folder)
        if report.check("build", build_twice, temp) == "passed":
            shutil.rmtree(ROOT / "dist", ignore_errors=True)
            shutil.copytree(temp / "first-dist", ROOT / "dist")
            check_all(report, temp, *sorted((ROOT / "dist").iterdir()), is_quick=is_quick)
    print(", ".join(f"{report.states.count(state)} {state}" for state in sorted(set(report.states))))
    if "FAILED" in report.states:
        return 1
    print("Not run here, this uploads: python -m twine upload dist/*")
    return 0


def check_all(report: Report, temp: Path, wheel: Path, sdist: Path, *, is_quick: bool) -> None:
    """Check what was built."""
    checkout = temp / "first"
    shutil.copy(checkout / "examples" / "support.py", temp / "program.py")  # a user's program
    extras = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    report.check("files of the wheel", check_files, wheel, checkout)
    report.check("size", check_size, wheel, sdist)
    report.check("metadata", check_metadata, wheel)
    report.check("version", check_version, wheel, checkout)
    report.check("name on PyPI", check_name, wheel, temp)

    for version in [HERE] if is_quick else PYTHONS:
        for file in [wheel] if is_quick else [wheel, sdist]:
            name, folder = f"Python {version}, {file.suffix}", temp / f"{version}{file.suffix}"
            report.check(name, check_bare, version, folder, file, temp)
    bare = temp / f"{HERE}.whl" / "bin" / "python"
    report.check("types", check_types, bare, temp)
    report.check("errors", check_errors, bare, extras, checkout, temp)
    report.check("command, wheel", check_command, temp / "command", str(wheel), temp)
    if is_quick:
        return
    report.check("command, checkout", check_command, temp / "command-2", ".", checkout)
    pages = ("README.md", "docs/start/install.md")
    texts = "".join((checkout / page).read_text("utf-8") for page in pages)
    promised = sorted(set(re.findall(r"pip install '(?:\.|quire)\[([\w,-]+)\]'", texts)))
    cases = [(f"[{names}] of a checkout", names, f".[{names}]", checkout) for names in promised]
    for names in [*extras, *(names for names in promised if "," in names)]:
        cases.append((f"[{names}] of the wheel", names, f"quire[{names}] @ {wheel.as_uri()}", temp))
    with ThreadPoolExecutor(2) as pool:
        for number, (name, *rest) in enumerate(cases):
            folder = temp / f"extras-{number}"
            pool.submit(report.check, name, check_extras, folder, *rest, checkout)


if __name__ == "__main__":
    sys.exit(main())
