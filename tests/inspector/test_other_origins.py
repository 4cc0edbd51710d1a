"""A page of another origin can neither read nor write, even if it knows the address with its token."""

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from quire.session import Session
from quire.stores import Store
from tests.inspector.browsing import Browser, Page, expect
from tests.inspector.serving import Served, serving

PARCELS = "lamp-shop/parcels"

READ = """async url => {
    const outcome = (made, loads, fails) => new Promise(done => {
        made[loads] = () => done("loaded")
        made[fails] = () => done("refused")
        setTimeout(() => done("refused"), 3000)
    })
    const element = (name, fields, loads = "onload") => {
        const made = Object.assign(document.createElement(name), fields)
        const came = outcome(made, loads, "onerror")
        document.body.append(made)
        return came
    }
    const fetched = options => fetch(url, options).then(one => one.text()).then(
        text => text === "" ? "refused" : "loaded", () => "refused")
    const framed = async () => {
        const frame = document.createElement("iframe")
        const came = outcome(frame, "onload", "onerror")
        frame.src = url
        document.body.append(frame)
        await came
        try { return frame.contentWindow.document.body.textContent === "" ? "refused" : "loaded" }
        catch { return "refused" }
    }
    const opened = async () => {
        const other = window.open(url)
        try {
            for (let tries = 0; tries < 60 && !other.document.body?.textContent; tries++)
                await new Promise(done => setTimeout(done, 50))
            return other.document.body.textContent === "" ? "refused" : "loaded"
        } catch { return "refused" } finally { other?.close() }
    }
    const attempts = {
        fetch: fetched({}),
        "fetch with cookies": fetched({credentials: "include"}),
        "fetch without CORS": fetched({mode: "no-cors"}),
        script: element("script", {src: url}),
        module: element("script", {src: url, type: "module"}),
        image: element("img", {src: url}),
        style: element("link", {rel: "stylesheet", href: url}),
        events: outcome(new EventSource(url), "onmessage", "onerror"),
        frame: framed(),
        window: opened(),
    }
    const came = await Promise.all(Object.values(attempts))
    return Object.keys(attempts).filter((_, index) => came[index] === "loaded")
}"""

WRITE = """async ([url, body]) => {
    const post = options => fetch(url, {method: "POST", body, ...options}).then(
        one => one.type === "opaque" ? "opaque" : String(one.status), () => "refused")
    const frame = Object.assign(document.createElement("iframe"), {name: "sink"})
    document.body.append(frame)
    for (const enctype of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
        const fields = {method: "POST", action: url, enctype, target: "sink"}
        const form = Object.assign(document.createElement("form"), fields)
        const [name, value] = [body.slice(0, -1) + ', "x": "', '"}']
        form.append(Object.assign(document.createElement("input"), {name, value}))
        document.body.append(form)
        const came = new Promise(done => { frame.onload = done; setTimeout(done, 3000) })
        form.submit()
        await came
    }
    navigator.sendBeacon(url, body)
    return {
        post: await post({}),
        json: await post({headers: {"content-type": "application/json"}}),
        "without CORS": await post({mode: "no-cors"}),
        put: await post({method: "PUT"}),
    }
}"""


@pytest.fixture(scope="module")
def stranger() -> Iterator[Served]:
    """A page of somebody else on this machine."""

    async def index(request: Request) -> Response:
        return HTMLResponse("<!doctype html><title>A page of somebody else</title><p>Welcome.")

    with serving(Starlette(routes=[Route("/", index)])) as served:
        yield served


@pytest.fixture
def stranger_page(request: pytest.FixtureRequest, browser: Browser, stranger: Served) -> Iterator[Page]:
    """That page, at another port and, if asked, another name of this machine. Refusals are its errors."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"http://{getattr(request, 'param', '127.0.0.1')}:{stranger.port}/")
        yield page


@pytest.mark.parametrize("stranger_page", ["127.0.0.1", "localhost"], indirect=True)
@pytest.mark.parametrize("path", ["", "api/store/conversations"])
def test_another_origin_reads_nothing(stranger_page: Page, shop: Served, path: str) -> None:
    loaded = stranger_page.evaluate(READ, f"{shop.origin}{shop.path}{path}")
    assert loaded == []


def test_what_is_not_protected_could_be_read(stranger_page: Page, stranger: Served) -> None:
    loaded = stranger_page.evaluate(READ, stranger_page.url)
    assert {"fetch", "frame", "window"} <= set(loaded)


def test_another_origin_writes_nothing(stranger_page: Page, own_shop: Served) -> None:
    with Store.open(own_shop.store) as store:
        session = Session.open(PARCELS, store=store)
        edit = next(
            item.id for item in reversed(session.view().recorded()) if type(item).__name__ == "Summary"
        )
        body = f'{{"address": "{PARCELS}", "id": "{edit}"}}'
        outcomes = stranger_page.evaluate(WRITE, [f"{own_shop.origin}{own_shop.path}api/store/undo", body])
        assert set(outcomes.values()) <= {"refused", "opaque"}
        assert session.refresh() == []
    assert own_shop.write("undo", address=PARCELS, id=edit).status == 200  # its own page may


def test_another_origin_cannot_frame_the_page(stranger_page: Page, shop: Served) -> None:
    stranger_page.set_content(f'<iframe src="{shop.url()}"></iframe>')
    expect(stranger_page.frame_locator("iframe").get_by_text("lamp-shop")).to_have_count(0)


def test_a_link_from_elsewhere_opens_the_page_alone(stranger_page: Page, shop: Served) -> None:
    stranger_page.set_content(f'<a href="{shop.url()}" target="_blank" rel="opener">Look at it</a>')
    with stranger_page.expect_popup() as opened:
        stranger_page.get_by_role("link").click()
    expect(opened.value.get_by_role("link", name="All conversations")).to_be_visible()
    assert opened.value.evaluate("window.opener") is None
