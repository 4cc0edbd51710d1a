"""How long the inspector takes: the first view of many conversations and of a large request, and a change.

Usage: python bench/inspector.py [--conversations N] [--messages N] [--rounds N] [--folder F] [--page FILE]

Each round starts `quire inspect` anew. The server's time is that of one request over HTTP, as the page makes
it: the first of the process, and those after it. The browser's time is from the start of the navigation, in a
new window of a headless Chromium, until the rows are painted: right after the start of the server, and again.
A change is an append by another process, from its return until it is painted. All figures are the median, and
in brackets the least and the most, in milliseconds.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

import page
from quire import Budget, Message, Session, Template
from quire.items import now, use_clock
from quire.providers import Parsed
from quire.sections import History, Instructions
from quire.stores import Store
from quire.tokens import Usage
from transcript import items, messages

CONVERSATION, REQUEST = "bench/last", "bench/request"
MODEL = "gpt-5.6"
WARM = 10
APPEND = """
import sys, time
from quire import Session
from quire.stores import Store
with Store.open(sys.argv[1]) as store:
    for line in sys.stdin:
        address, words = line.strip().split(" ", 1)
        session = Session.open(address, store=store)
        session.user(words)
        print(time.time(), flush=True)
"""
# Notes the time at which the page has first painted what is waited for.
WATCH = """
window.painted = (isThere) => new Promise((resolve) => {
  const look = () => isThere() && requestAnimationFrame(() => setTimeout(() => resolve(
    { since: performance.now(), at: (performance.timeOrigin + performance.now()) / 1000 }), 0));
  const seen = () => { if (isThere()) { watch.disconnect(); look(); } };
  const watch = new MutationObserver(seen);
  watch.observe(document, { childList: true, subtree: true, characterData: true });
  seen();
});
"""


class View(NamedTuple):
    """A view of the page: what it asks the server for, its address, and when all of it is there."""

    name: str
    store: str
    asked: str
    address: str
    is_there: str


def spread(times: list[float]) -> str:
    return f"{page.number(median(times))} ({page.number(min(times))} to {page.number(max(times))})"


# What is shown


def fill_many(path: Path, count: int, scope: Callable[[int], str]) -> None:
    """Conversations of eight messages and a request, each a minute after the one before."""
    chat = items(messages(8))
    clock, usage = [now() - 60 * count], Usage(1_200, 90, cache_read=1_024)
    with Store.open(path) as store, use_clock(lambda: clock[0]):
        for number in range(count):
            clock[0] += 60
            session = Session.open(scope=scope(number), conversation=f"talk-{number:05}", store=store)
            session.append(*chat)
            session.record(Parsed((Message("assistant", "Two of them are open."),), usage, model=MODEL))
        Session.open(CONVERSATION, store=store).user("Which of them are open?")


def fill_request(path: Path, count: int) -> None:
    """A conversation with two requests, the second of `count` messages, and of more items."""
    template = Template(
        Instructions("You look after orders."), History(), budget=Budget(window=2_000_000), model=MODEL
    )
    with Store.open(path) as store:
        session = Session.open(REQUEST, store=store)
        session.append(*items(messages(count - 3)))
        for question in ("Which of them are open?", "And which are late?"):
            session.user(question)
            context = session.build(template)
            context.render("openai")
            context.sent(parameters={"model": MODEL})
            usage = Usage(context.receipt.tokens, 12, cache_read=context.receipt.tokens // 2)
            session.record(Parsed((Message("assistant", "Two."),), usage, model=MODEL))


# The clock


@contextmanager
def served(store: Path) -> Generator[str]:
    """The address of a server that was just started."""
    command = [sys.executable, "-m", "quire", "inspect", str(store), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def asked(url: str, what: str, count: int) -> Iterator[float]:
    """Milliseconds of requests of the page, one after the other."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port or 0)
    connection.request("GET", parts.path)
    entered = connection.getresponse()
    cookie = {"cookie": (entered.getheader("set-cookie") or "").partition(";")[0]}
    entered.read()
    for _ in range(count):
        start = time.perf_counter()
        connection.request("GET", f"/api/store/{what}", headers=cookie)
        answer = connection.getresponse()
        text = answer.read()
        yield 1e3 * (time.perf_counter() - start)
        assert answer.status == 200, text
    connection.close()


@contextmanager
def opened(browser: Browser, url: str) -> Generator[Page]:
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        context.add_init_script(WATCH)
        shown = context.new_page()
        shown.goto(url, wait_until="commit")
        yield shown


def painted(browser: Browser, url: str, view: View) -> float:
    """Milliseconds until a new window has painted a view."""
    with opened(browser, f"{url}#/{view.address}") as shown:
        return float(shown.evaluate(f"window.painted(() => {view.is_there}).then((one) => one.since)"))


def appeared(browser: Browser, url: str, store: Path, view: str, written_to: list[str]) -> list[float]:
    """Milliseconds from the return of another process's appends until a page has painted them."""
    times = list[float]()
    with opened(browser, f"{url}#/{view}") as shown:
        shown.evaluate("window.painted(() => document.querySelector('.row-link, [data-id]'))")
        command = [sys.executable, "-c", APPEND, str(store)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        ) as other:
            assert other.stdin is not None and other.stdout is not None
            for number, address in enumerate(written_to):
                words = f"change {number} of {now():.0f}."
                shown.evaluate(f"window.seen = {_told(words)}, 0")
                time.sleep(0.37 * (number % 3))  # not in step with the looks of the server
                print(address, words, file=other.stdin, flush=True)
                written = float(other.stdout.readline())
                times.append(1e3 * (shown.evaluate("window.seen.then((one) => one.at)") - written))
            other.stdin.close()
    return times


def _told(words: str) -> str:
    return f"window.painted(() => document.body.innerText.includes({words!r}))"


def measured(browser: Browser, view: View, store: Path, rounds: int) -> tuple[str, ...]:
    """A row of the table."""
    cold, warm, first, again = (list[float]() for _ in range(4))
    for _ in range(rounds):
        with served(store) as url:
            head, *rest = asked(url, view.asked, WARM)
            cold.append(head)
            warm += rest
        with served(store) as url:
            first.append(painted(browser, url, view))
            again += [painted(browser, url, view) for _ in range(3)]
    row = (view.name, *map(spread, (cold, warm, first, again)))
    page.progress(", ".join(row))
    return row


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where its stores are kept for the next run")
    options = parser.parse_args()
    many, size = options.conversations, options.messages
    a_list = f"document.querySelectorAll('[aria-label=conversations] a').length >= {min(many, 50)}"
    a_request = "document.querySelectorAll('a.candidate').length > 0"
    views = (
        View(f"{many:,} conversations in as many scopes", "scopes.db", "conversations", "", a_list),
        View(f"{many:,} conversations in one scope", "one.db", "conversations", "", a_list),
        View(
            f"a request of {size:,} messages",
            "request.db",
            "request?address=bench%2Frequest",
            "store/bench%2Frequest/request",
            a_request,
        ),
    )
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = options.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        fills: dict[str, Callable[[Path], None]] = {
            "scopes.db": lambda path: fill_many(path, many, "tenant-{:05}".format),
            "one.db": lambda path: fill_many(path, many, lambda _: "acme"),
            "request.db": lambda path: fill_request(path, size),
        }
        for name, fill in fills.items():
            if not (folder / name).exists():
                page.progress(f"fills {name}")
                fill(folder / name)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        rows = [measured(browser, view, folder / view.store, options.rounds) for view in views]
        page.progress("changes")
        begun = [f"bench/{number}" for number in range(int(now()), int(now()) + 3 * options.rounds)]
        followed = {
            views[1].name: ("", begun),
            "a conversation": ("store/bench%2Flast/transcript", [CONVERSATION] * len(begun)),
        }
        with served(folder / "one.db") as url:
            changes = [
                (name, spread(appeared(browser, url, folder / "one.db", *one)))
                for name, one in followed.items()
            ]
        browser.close()
    head = ("first view", "server, first", "server, then", "browser, first", "browser, then")
    parts = [page.table(head, rows), page.table(("a change in the view of", "painted after"), changes)]
    page.report(options, {"inspector": "\n\n".join(parts)}, {"views": rows, "changes": changes})


if __name__ == "__main__":
    main()
