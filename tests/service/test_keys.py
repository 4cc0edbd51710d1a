"""Keys and scopes: nothing of another scope by any route, limits, and keys that nobody gets to see."""

import hashlib
import logging
import string
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidValue
from quire.service import Key, Keys, new_key
from tests.service.serving import Served, support, until

SECRET = "the secret of the house"
ROUTES = [
    ("GET", ""),
    ("GET", "/items"),
    ("GET", "/waiting"),
    ("GET", "/context"),
    ("GET", "/receipts"),
    ("GET", "/receipts/{version}"),
    ("GET", "/events?after=0"),
    ("GET", "/jobs"),
    ("GET", "/jobs/{job}"),
    ("POST", "/jobs/{job}/cancel"),
    ("POST", "/jobs/{job}/retry"),
    ("POST", "/forks"),
    ("POST", "/decisions"),
    ("DELETE", "/items/{item}"),
    ("DELETE", ""),
]


def key_of(name: str) -> str:
    return f"key-of-{name}"


def row(name: str, **fields: Any) -> Key:
    digest = hashlib.sha256(key_of(name).encode()).hexdigest()
    given: dict[str, Any] = {"name": name, "sha256": digest, "scope": name, **fields}
    return Key(**given)


KEYS = [
    row("house"),
    row("garden"),
    row("hous", scope="hous"),
    row("app", users=True),
    row("narrow", agents=("other",)),
    row("slow", requests_per_minute=3),
    row("single", concurrent=1),
    row("operator", metrics=True),
    row("eraser", users=True, erases=True),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with support(tmp_path_factory.mktemp("keys") / "store.db", keys=Keys(KEYS)) as running:
        yield running


@pytest.fixture(scope="module")
def keyless() -> Generator[Served]:
    with support() as running:
        yield running


@pytest.fixture(scope="module")
def secret(served: Served) -> dict[str, Any]:
    """A conversation of one scope, with a secret and a call that waits."""
    wait, path = {**bearer("house"), "Prefer": "wait=60"}, served.path("private")
    for content in (SECRET, "refund 7"):
        answer = served.client.post(f"{path}/messages", json={"content": content}, headers=wait)
        assert answer.json()["stop"] != "failed"
    body = {"content": SECRET, "delay": 3_600}
    job = served.client.post(f"{path}/messages", json=body, headers=bearer("house")).json()["job"]
    items = served.client.get(f"{path}/items", headers=wait).json()["items"]
    receipts = served.client.get(f"{path}/receipts", headers=wait).json()["receipts"]
    known = {"item": items[0]["id"], "call": items[-1]["call_id"], "job": job}
    return {**known, "version": receipts[0]["version"]}


def bearer(name: str, user: str | None = None) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {key_of(name)}"}
    return headers if user is None else {**headers, "Quire-User": user}


def ask(
    served: Served, method: str, path: str, headers: dict[str, str], secret: dict[str, Any]
) -> httpx.Response:
    bodies = {"/forks": {"name": "x"}, "/decisions": {"decisions": {secret["call"]: True}}}
    body = next((body for end, body in bodies.items() if path.endswith(end)), None)
    return served.client.request(method, path, json=body, headers=headers)


@pytest.mark.parametrize("caller", ["garden", "hous", "app", "narrow"])
@pytest.mark.parametrize(("method", "rest"), ROUTES)
def test_no_route_leads_to_another_scope(
    served: Served, secret: dict[str, Any], method: str, rest: str, caller: str
) -> None:
    headers = bearer(caller, "house" if caller == "app" else None)
    answer = ask(served, method, served.path("private", rest.format(**secret)), headers, secret)
    assert answer.status_code == 404
    assert SECRET not in answer.text
    for listed in ("conversations", "jobs"):
        assert "private" not in served.client.get(f"/agents/support/{listed}", headers=headers).text


def test_no_route_is_left_out(served: Served) -> None:
    paths = served.client.get("/openapi.json").json()["paths"]
    all_of_one = {
        (method.upper(), path.partition("{conversation}")[2])
        for path, methods in paths.items()
        for method in methods
        if "{conversation}" in path
    }
    known = {(method, rest.partition("?")[0].replace("{version}", "{receipt}")) for method, rest in ROUTES}
    assert all_of_one - known == {("POST", "/messages")}  # it begins a conversation where there is none


def test_each_user_has_a_scope_of_their_own_and_a_key_that_may_erases_all_of_it(served: Served) -> None:
    headers = bearer("eraser", "ana")
    for user in ("ana", "ben"):
        path, wait = served.path("notes", "/messages"), {"Prefer": "wait=60"}
        asked = {**bearer("eraser", user), **wait}
        assert served.client.post(path, json={"content": f"I am {user}"}, headers=asked).status_code == 200
    mine = served.client.get(served.path("notes", "/items"), headers=headers).text
    assert "I am ana" in mine and "ben" not in mine
    assert served.client.delete("/scope", headers=bearer("house")).status_code == 403
    erased = served.client.delete("/scope", headers=headers).json()["scopes"]
    assert [(one["scope"], one["conversations"]) for one in erased] == [("support/eraser/ana", 1)]
    assert served.client.get(served.path("notes", "/items"), headers=headers).status_code == 404
    assert served.client.delete("/scope", headers=headers).json() == {"scopes": []}
    theirs = served.client.get(served.path("notes", "/items"), headers=bearer("eraser", "ben"))
    assert "I am ben" in theirs.text


USERS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=8)
PLACES = ["private", "house/private", "../house/private", "support/house/private", "private/", ""]
NAMES = st.sampled_from(PLACES) | st.text(st.sampled_from("./%~house" + string.printable), max_size=12)
AGENTS = st.sampled_from(["support", "support", "support/house", "support%2Fhouse", "../support"]) | NAMES


@given(AGENTS, NAMES, USERS, st.sampled_from(ROUTES), st.sampled_from(["", "/.%"]))
def test_no_name_leads_to_another_scope(
    served: Served,
    secret: dict[str, Any],
    agent: str,
    name: str,
    user: str,
    route: tuple[str, str],
    safe: str,
) -> None:
    path = f"/agents/{quote(agent, safe=safe)}/conversations/{quote(name, safe=safe)}"
    for headers in (bearer("garden"), bearer("app", user)):
        answer = ask(served, route[0], path + route[1].format(**secret), headers, secret)
        assert 400 <= answer.status_code < 500 or "conversations" in answer.json()
        assert SECRET not in answer.text and secret["item"] not in answer.text


@given(users=st.lists(USERS, min_size=2, max_size=2, unique=True))
def test_no_two_users_share_a_scope(users: list[str]) -> None:
    scopes = list[str]()
    for user in users:
        with Keys(KEYS).admit(bearer("app")["Authorization"], user) as caller:
            scopes.append(caller.scope)
    assert scopes[0] != scopes[1]
    assert all(scope.startswith("app/") and scope.count("/") == 1 for scope in scopes)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Basic {key_of('house')}"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": b"Bearer \xff\xfe"}, 401),
        ({**bearer("house"), "Quire-User": "ana"}, 400),
        (bearer("app"), 400),
        ({**bearer("app"), "Quire-User": ""}, 400),
        ({**bearer("app"), "Quire-User": "x" * 101}, 400),
        ({**bearer("app"), "Quire-User": b"\xfc"}, 400),
        ([*bearer("house").items(), *bearer("garden").items()], 400),
        ([*bearer("app", "ana").items(), ("Quire-User", "ben")], 400),
    ],
)
def test_who_does_not_say_who_asks_is_refused(served: Served, headers: Any, status: int) -> None:
    answer = served.client.get("/agents/support/conversations", headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert ("www-authenticate" in answer.headers) == (status == 401)


def test_a_key_is_in_no_log_no_error_and_no_answer(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for headers in (bearer("house"), {"Authorization": f"Bearer {key_of('house')} and more"}):
        for path in ("/agents/support/conversations", served.path("private", "/messages"), "/metrics"):
            answers = [served.client.request(method, path, headers=headers) for method in ("GET", "POST")]
            assert not any(key_of("house") in answer.text for answer in answers)
    logged = "\n".join(
        f"{record.getMessage()} {record.args}" for record in caplog.records if record.name.startswith("quire")
    )
    assert "house" in logged  # the name of the key
    assert key_of("house") not in logged and "private" not in logged


def test_limits_of_a_key(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire.service.keys.time", SimpleNamespace(monotonic=lambda: 1e9))  # it stands still
    answers = [served.client.get("/agents/support/conversations", headers=bearer("slow")) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert answers[-1].headers["retry-after"] == "21"
    headers, path = bearer("single"), served.path("one", "/messages")
    sent = served.client.post(path, json={"content": "x"}, headers={**headers, "Prefer": "wait=60"})
    assert sent.status_code == 200
    with served.stream("GET", served.path("one", "/events"), headers):
        busy = served.client.get("/agents/support/conversations", headers=headers)
        assert (busy.status_code, busy.headers["retry-after"]) == (429, "1")
        assert served.client.get("/agents/support/conversations", headers=bearer("house")).status_code == 200
    until(lambda: served.client.get("/agents/support/conversations", headers=headers).status_code == 200)


def test_metrics_are_for_keys_that_may_read_them(served: Served) -> None:
    assert served.client.get("/metrics", headers=bearer("house")).status_code == 403
    assert served.client.get("/metrics", headers=bearer("operator")).status_code == 200
    assert served.client.get("/metrics").status_code == 401
    for path in ("/health", "/ready", "/openapi.json"):
        assert served.client.get(path).status_code == 200


def test_a_new_key_opens_its_row() -> None:
    key, text = new_key('the "app"')
    with Keys.read(text.encode()).admit(f"Bearer {key}", None) as caller:
        assert (caller.key, caller.scope) == ('the "app"', 'the "app"')
    assert key not in text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[[keys]]\nname = 'a'",
        "not toml",
        "[[keys]]\nname = 'a'\nscope = 'a'\nsha256 = 'abc'",
        f"[[keys]]\nname = 'a'\nscope = 'a'\nsha256 = '{'0' * 64}'\nconcurrent = 0",
        f"[[keys]]\nname = 'a'\nscope = 'a'\nsha256 = '{'0' * 64}'\nsurprise = 1",
        f"[[keys]]\nname = 'a'\nscope = 'a'\nusers = true\nsha256 = '{'0' * 64}'\n"
        f"[[keys]]\nname = 'b'\nscope = 'a/ana'\nsha256 = '{'1' * 64}'",
        f"[[keys]]\nname = 'a'\nscope = 'a'\nsha256 = '{'0' * 64}'\n"
        f"[[keys]]\nname = 'b'\nscope = 'b'\nsha256 = '{'0' * 64}'",
    ],
)
def test_a_file_of_keys_that_is_wrong_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        Keys.read(text.encode())


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "[::1"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
def test_without_keys_only_programs_of_this_machine_are_answered(
    keyless: Served, headers: dict[str, str]
) -> None:
    assert keyless.client.get("/health", headers=headers).status_code == 403
    own = {"Origin": f"http://127.0.0.1:{keyless.port}"}
    assert keyless.client.get("/health", headers=own).status_code == 200


@pytest.mark.parametrize(
    ("peer", "status"),
    [
        (("192.0.2.7", 7), 403),
        (("::ffff:192.0.2.7", 7), 403),
        (None, 403),
        (("127.0.0.2", 7), 200),
        (("::1", 7), 200),
        (("::ffff:127.0.0.1", 7), 200),
    ],
)
async def test_without_keys_the_peer_is_what_counts(keyless: Served, peer: Any, status: int) -> None:
    transport = httpx.ASGITransport(keyless.application, client=peer)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        assert (await client.get("/health")).status_code == status
