"""Safe by default: this machine, its own page, a token, no writing, one scope, and a strict policy."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings, strategies as st
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from quire.inspector import app
from quire.inspector.application import READS, WRITES
from quire.session import Session
from quire.stores import Store, place_at
from tests.cli.command_line import refused
from tests.inspector.serving import Served, serving

PARCELS = "lamp-shop/parcels"
DIARY = "ana/diary"


@pytest.fixture(scope="module")
def writable(shop_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A copy of the shop, with --write, in which nothing is written by these tests."""
    path = shutil.copy(shop_file, tmp_path_factory.mktemp("safety") / "shop.db")
    with Store.open(path) as store, serving(app(store, write=True), str(path)) as served:
        before = text_of(served)
        yield served
        assert text_of(served) == before


@pytest.fixture(scope="module")
def scoped(shop: Served) -> Iterator[Served]:
    """The scope `lamp-shop` of the shop, with --write."""
    with (
        Store.open(shop.store) as store,
        serving(app(store, scope="lamp-shop", write=True), shop.store) as served,
    ):
        yield served


def text_of(served: Served) -> list[str]:
    """What the store has."""
    with Store.open(served.store) as store:
        places = [(scope, name) for scope in store.scopes() for name in store.conversations(scope)]
        return [
            f"{scope}/{name}: {store.version(place_at(scope=scope, conversation=name))}"
            for scope, name in places
        ]


@pytest.mark.parametrize(
    "path", ["/", "/wrong/", "/wrong/api/sources", "//api/sources", "/%2e%2e/", "/TOKEN"]
)
def test_without_the_token_there_is_nothing(shop: Served, path: str) -> None:
    answer = shop.ask("GET", path.replace("TOKEN", shop.entry.strip("/")[:-1]), cookie=shop.cookie[:-1])
    assert answer.status == 403 and "shop" not in answer.text


def test_the_token_is_exchanged_for_a_cookie_that_scripts_cannot_read(shop: Served) -> None:
    answer = shop.ask("GET", shop.entry, cookie="")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    said = answer.headers["set-cookie"].lower()
    assert "httponly" in said and "samesite=lax" in said and "path=/" in said
    assert shop.ask("GET", f"{shop.entry}api/sources", cookie="").status == 403


PATHS = ["", "page/app.js", "api/sources", "api/store/conversations", "api/store/events"]


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "0.0.0.0", "[::]", "[::1", ""]
)
def test_only_this_machine_is_served(shop: Served, host: str) -> None:
    assert {shop.ask("GET", shop.path + path, host=host).status for path in PATHS} <= {400, 403}
    for name in ("localhost", "127.0.0.1", "[::1]"):
        assert shop.ask("GET", f"{shop.path}api/sources", host=f"{name}:{shop.port}").status == 200


def test_a_port_that_is_taken_is_said_in_a_sentence(shop: Served) -> None:
    said = refused(2, "inspect", shop.store, "--no-browser", "--port", str(shop.port))
    assert said.startswith(f"quire: 127.0.0.1:{shop.port} cannot be used: ")


OTHERS = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:1"},
    {"origin": "https://127.0.0.1"},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site", "sec_fetch_dest": "iframe"},
    {"sec_fetch_site": "cross-site", "sec_fetch_dest": "script"},
]


@pytest.mark.parametrize("headers", OTHERS, ids=lambda headers: " ".join(headers.values()))
def test_pages_of_others_read_and_write_nothing(writable: Served, headers: dict[str, str]) -> None:
    for path in PATHS[1:]:
        assert writable.ask("GET", writable.path + path, **headers).status == 403
    for path in ("files", *(f"store/{name}" for name in WRITES)):
        body = {"address": PARCELS}
        assert writable.ask("POST", f"{writable.path}api/{path}", body, **headers).status == 403


@pytest.mark.parametrize("name", WRITES)
def test_nothing_is_written_unless_asked_for(shop: Served, name: str) -> None:
    answer = shop.write(name, address=PARCELS)
    assert (answer.status, "--write" in answer.data["error"]) == (403, True)


ESCAPED = st.text("lamp-shop/%2Fana.diary", max_size=20)
ADDRESSES = (
    st.sampled_from([DIARY, "ana/", "ana", "/", "%61na/diary", "lamp-shop%2F..%2Fana/diary"]) | ESCAPED
)


@pytest.mark.parametrize("name", READS)
@given(address=ADDRESSES, other=ADDRESSES, within=ADDRESSES)
@example(DIARY, DIARY, "ana/")
@settings(max_examples=settings().max_examples // 2)
def test_a_scope_hides_the_others_from_reading(
    scoped: Served, name: str, address: str, other: str, within: str
) -> None:
    with Store.open(scoped.store) as store:
        item = Session.open(DIARY, store=store).view()[0].id
    said = {"question": "safe diary", "words": "safe diary", "item": item, "id": item, "by": "summarize"}
    named = {"address": address, "other": other, "within": within, "after": f"0~{other}", "named": other}
    answer = scoped.read(name, **said, **named, version=1)
    assert answer.status in (200, 400, 404)
    assert "8-15-47" not in answer.text and "I will keep it" not in answer.text
    if answer.status == 200:
        assert "ana/diary" not in answer.text


@pytest.mark.parametrize("name", WRITES)
def test_a_scope_hides_the_others_from_writing(scoped: Served, name: str) -> None:
    before = text_of(scoped)
    assert scoped.write(name, address=DIARY).status in (400, 404)
    assert text_of(scoped) == before


def test_a_scope_hides_the_others_from_events(scoped: Served) -> None:
    assert scoped.read("events", address=DIARY).status == 404


BODIES = b"", b"[1]", b'"x"', b"{", b"\xff\xfe", b'{"address": 5}', b"{}", b"[" * 100_000


@pytest.mark.parametrize("name", [*READS, *WRITES, "none", "..%2f..%2fapp", "%00"])
def test_what_makes_no_sense_is_refused_in_a_sentence(writable: Served, name: str) -> None:
    nonsense = "", "/", "a/b/c", "%ff", "\0", "x" * 10_000, "lamp-shop/none", "лампы/🪔"
    answers = [
        writable.ask("GET", f"{writable.path}api/store/{name}?address={quote(one)}&id=x&version=-1")
        for one in nonsense
    ]
    answers += [writable.ask("POST", f"{writable.path}api/store/{name}", body) for body in BODIES]
    for answer in answers:
        assert answer.status in (200, 400, 403, 404, 405, 409, 410, 413), answer
        assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "path", ["", "page/app.js", "page/style.css", "api/sources", "api/store/none", "none"]
)
def test_every_answer_tells_the_browser_what_is_allowed(shop: Served, path: str) -> None:
    headers = shop.ask("GET", shop.path + path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy and "*" not in policy
    assert (
        "frame-ancestors 'none'" in policy and "form-action 'none'" in policy and "base-uri 'none'" in policy
    )
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert not any(name.lower().startswith("access-control") for name in headers)


@pytest.mark.parametrize("token", [None, ""])
def test_it_can_be_mounted_in_another_application(shop: Served, token: str | None) -> None:
    with Store.open(shop.store) as store:
        made = app(store, token=token, hosts=("inspector.example",))
        client = TestClient(Starlette(routes=[Mount("/tools", made)]), base_url="http://inspector.example")
        path = "/tools/"
        assert token == "" or client.get("/tools/api/sources").status_code == 403
        assert client.get(f"/tools{made.state.path}").url.path == path
        assert [client.get(path + one).status_code for one in ("", "page/app.js", "api/sources")] == [200] * 3
        assert client.get(path, headers={"host": "127.0.0.1"}).status_code == 403
        assert client.get(f"{path}api/sources", headers={"origin": "http://127.0.0.1"}).status_code == 403
