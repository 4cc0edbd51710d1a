"""Makes the pictures of the inspector in docs/images from the store that the demonstration fills.

Run it by `make screenshots`. It needs Chromium, and looks best where the font Inter is installed.
"""

import os
import runpy
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import uvicorn
from playwright.sync_api import Page, sync_playwright

from quire.inspector import app
from quire.stores import Store

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
TALK = "store/lamp-shop%2F1"


class Shot(NamedTuple):
    """One picture: its name, the view, the size of the window, light or dark, and what is done before."""

    name: str
    view: str
    size: tuple[int, int] = (1280, 800)
    scheme: str = "light"
    prepare: Callable[[Page], object] = lambda page: None


WIDE, NARROW = (1280, 800), (390, 844)
SHOTS = [
    Shot("conversations", ""),
    Shot("transcript", f"{TALK}/transcript"),
    Shot("requests", f"{TALK}/requests"),
    Shot("request", f"{TALK}/request"),
    Shot("request-dark", f"{TALK}/request", scheme="dark"),
    Shot("request-narrow", f"{TALK}/request", NARROW),
    Shot("compactions", f"{TALK}/compactions"),
    Shot("what-if", f"{TALK}/what-if"),
    Shot("steps", f"{TALK}/steps"),
]


@contextmanager
def inspector(path: str) -> Iterator[str]:
    """Serve the inspector of a store; yields its address."""
    with Store.open(path) as store, socket.create_server(("127.0.0.1", 0)) as listening:
        made = app(store, write=True)
        server = uvicorn.Server(uvicorn.Config(made, lifespan="off", log_level="critical"))
        thread = Thread(target=server.run, args=([listening],))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}{made.state.path}"
        server.should_exit = server.force_exit = True
        thread.join()


def main() -> None:
    """Play the demonstration, and take the pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/demo.db"
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            runpy.run_path(str(ROOT / "examples" / "support.py"))["play"](path, seconds=0)
        with inspector(path) as address, sync_playwright() as playwright:
            chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for shot in SHOTS:
                take(
                    browser.new_page(viewport={"width": shot.size[0], "height": shot.size[1]}), shot, address
                )
            browser.close()


def take(page: Page, shot: Shot, address: str) -> None:
    """Take one picture."""
    page.emulate_media(color_scheme="dark" if shot.scheme == "dark" else "light", reduced_motion="reduce")
    page.goto(f"{address}#/{shot.view}")
    page.get_by_label("loading").first.wait_for(state="detached")
    shot.prepare(page)
    target = IMAGES / f"{shot.name}.png"
    page.screenshot(path=target)
    page.close()
    print(f"{target.relative_to(ROOT)}  {target.stat().st_size / 1024:,.0f} KB")


if __name__ == "__main__":
    main()
