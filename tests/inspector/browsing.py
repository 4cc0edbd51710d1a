"""A real browser: Chromium, driven by Playwright. Without them, tests that import from here are skipped.

While the browser is open, an event loop runs in the thread of the tests: `asyncio.run` does not work there.
The plain verbs of Quire do.
"""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager

import pytest

pytest.importorskip(
    "playwright.sync_api", reason="Playwright is not installed: run the suite with `make test`"
)

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Error,
    Locator,
    Page,
    expect,
    sync_playwright,
)

__all__ = ["Browser", "BrowserContext", "Error", "Locator", "Page", "browsing", "chromium", "expect", "watch"]

expect.set_options(timeout=60_000)  # machines are shared

WIDE, NARROW = (1280, 800), (390, 844)
"""The two sizes of a window that the page is made for."""


def chromium() -> str:
    """The path of Chromium: `CHROMIUM`, or what is on the path; skips the test if there is none."""
    names = "chromium", "chromium-browser", "google-chrome"
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    return found or pytest.skip(
        "Chromium is not installed: apt-get install chromium, or set CHROMIUM to its path"
    )


@contextmanager
def browsing() -> Generator[Browser]:
    """A browser without windows."""
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def watch(context: BrowserContext, faults: list[str]) -> None:
    """Add to `faults` what goes wrong in pages: errors, dialogs, and requests that leave this machine."""

    def check(url: str) -> None:
        if not url.startswith(("http://127.0.0.1:", "data:", "blob:", "about:", "file:")):
            faults.append(f"asked for {url}")

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error" and "net::ERR_" not in message.text:  # a server may end before its page
            faults.append(message.text)

    def dismiss(dialog: Dialog) -> None:
        faults.append(f"opened a dialog: {dialog.message}")
        dialog.dismiss()

    context.on("request", lambda request: check(request.url))
    context.on("weberror", lambda error: faults.append(str(error.error)))
    context.on("console", hear)
    context.on("dialog", dismiss)
