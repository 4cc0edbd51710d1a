"""Makes the pictures of the inspector in docs/images from the store that the demonstration fills.

Run it by `make screenshots`. It needs Chromium, and looks best where the font Inter is installed.
"""

import asyncio
import os
import runpy
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.parse import quote

import uvicorn
from playwright.sync_api import Page, sync_playwright

from quire import Agent, ToolCall, tool
from quire.inspector import app
from quire.items import Summary
from quire.models import Scripted
from quire.session import Job, Session
from quire.stores import Store

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
ADDRESS = "lamp-shop/1"


WIDE = (1280, 800)


class Shot(NamedTuple):
    """One picture: its name, the view, the size of the window, and what it begins with."""

    name: str
    view: str
    size: tuple[int, int] = WIDE
    top: str = ""
    """The label of a panel that is scrolled to the top."""


def shots(session: Session) -> list[Shot]:
    """The pictures of the conversation of the demonstration."""
    receipts = session.receipts
    kept = next(
        (one for one in receipts if "summarised" in {entry.fate for entry in one.entries}), receipts[-1]
    )
    talk = f"store/{quote(str(session.place), safe='')}"
    request = f"{talk}/request?version={kept.version}"
    summary = next(item.id for item in session.view().recorded() if isinstance(item, Summary))
    return [
        Shot("conversations", "", (1280, 520)),
        Shot("transcript", f"{talk}/transcript?at={kept.version}"),
        Shot("requests", f"{talk}/requests"),
        Shot("request", request),
        Shot("candidates", request, (1280, 620), top="Details"),
        Shot("compactions", f"{talk}/compactions?open={summary}"),
        Shot("what-if", f"{talk}/what-if?window=500"),
        Shot("steps", f"{talk}/steps", (1280, 620)),
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
        with Store.open(path) as store:
            session = Session.open(ADDRESS, store=store)
            session.fork("by phone", at=session.receipts[2].version).user("I would rather call you.")
            pictures = shots(session)
            leave_work(store)
        with inspector(path) as address, sync_playwright() as playwright:
            chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for shot in pictures:
                width, height = shot.size
                take(browser.new_page(viewport={"width": width, "height": height}), shot, address)
            browser.close()


def leave_work(store: Store) -> None:
    """A call that waits for a person, and jobs that wait."""

    @tool(approve=True)
    def refund(order: str, amount: float) -> str:
        """Pay back the money for an order."""
        return f"{amount} paid for {order}"

    call = ToolCall("call_pay", "refund", '{"order": "A-1187", "amount": 89.90}')
    session = Session.open("lamp-shop/2", store=store)
    Agent(session, model=Scripted([call]), tools=[refund]).ask_sync("It is broken. I want my money back.")
    for words in ("Where is my order A-1190?", "And can I still change its address?"):
        asyncio.run(Session.open("lamp-shop/3", store=store).jobs.submit(Job.of(words)))


def take(page: Page, shot: Shot, address: str) -> None:
    """Take one picture."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.goto(f"{address}#/{shot.view}")
    page.get_by_role("region").first.wait_for()
    page.get_by_label("loading").first.wait_for(state="detached")
    if shot.top:
        panel = page.get_by_role("region", name=shot.top)
        panel.evaluate("one => scrollTo(0, one.getBoundingClientRect().top + scrollY - 104)")
    target = IMAGES / f"{shot.name}.png"
    page.screenshot(path=target)
    page.close()
    print(f"{target.relative_to(ROOT)}  {target.stat().st_size / 1024:,.0f} KB")


if __name__ == "__main__":
    main()
