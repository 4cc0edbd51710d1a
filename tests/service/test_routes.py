"""The routes: messages, approvals, forks, contexts, receipts, erasure, and the description of it all."""

import asyncio
from collections.abc import Generator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families
from starlette.routing import Route

from quire.agent import Agent
from quire.errors import ModelFailed
from quire.integrations.otel import instrument
from quire.node import Node
from quire.providers import Rendered
from quire.reading import Source
from quire.reading.jobs import list_open_jobs
from quire.service import app
from quire.session import Job, Session
from quire.stores import Store
from tests.service.serving import PATIENCE, Gate, Served, serving, support, support_node, until, until_ended


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with support(tmp_path_factory.mktemp("routes") / "store.db") as running:
        yield running


def post(served: Served, rest: str, conversation: str = "c", **options: Any) -> Any:
    return served.client.post(served.path(conversation, rest), **options)


# Messages


def test_a_client_that_waits_gets_the_answer(served: Served) -> None:
    answer = served.send("hello", "waits")
    assert (answer["text"], answer["stop"], answer["error"]) == ("You said: hello", "done", "")
    assert [item["role"] for item in answer["items"]] == ["user", "assistant"]
    assert answer["usage"]["input"] > 0
    assert answer["version"] == served.get(conversation="waits")["version"]


def test_parts_are_a_content_too(served: Served) -> None:
    image = {"part": "image", "url": "https://example.org/a.png"}
    assert served.send(["what is this?", image], "parts")["items"][0]["content"][1] == image


def test_the_same_idempotency_key_is_answered_once(served: Served) -> None:
    def send(content: str = "hello", **headers: str) -> Any:
        told = {"Idempotency-Key": "order 7", **headers}
        return post(served, "/messages", "once", json={"content": content}, headers=told)

    first = send(Prefer="wait=60").json()
    again = send(Prefer="wait=60").json()
    assert (again["job"], again["text"], again["stop"]) == (first["job"], first["text"], "done")
    assert send().status_code == 202
    assert send("something else").status_code == 422
    assert served.get("/items", "once")["length"] == 2


def test_an_idempotency_key_of_the_past_can_be_used_in_a_fork(served: Served) -> None:
    def send(conversation: str) -> Any:
        headers = {"Idempotency-Key": "1", "Prefer": "wait=60"}
        return post(served, "/messages", conversation, json={"content": "hello"}, headers=headers)

    assert send("keyed").status_code == 200
    assert post(served, "/forks", "keyed", json={"name": "fork"}).status_code == 201
    assert send("keyed/fork").json()["stop"] == "done"
    assert served.get("/items", "keyed/fork")["length"] == 4


def test_a_message_can_be_delayed_and_holds_up_no_other(served: Served) -> None:
    def send(content: str, delay: float, wait: int) -> Any:
        body, headers = {"content": content, "delay": delay}, {"Prefer": f"wait={wait}"}
        return post(served, "/messages", "delayed", json=body, headers=headers).json()

    later = send("later", 3_600, 0)["job"]
    assert send("soon", 0.1, 60)["text"] == "You said: soon"
    assert served.get(conversation="delayed")["jobs"] == [later]
    assert served.get("/items", "delayed")["length"] == 2


# Approvals


@pytest.mark.parametrize(
    ("verdict", "told"),
    [(True, "refunded 7"), (False, "it was not approved"), ("the order is too old", "the order is too old")],
)
def test_a_call_that_waits_is_decided(served: Served, verdict: bool | str, told: str) -> None:
    name = f"decided {verdict}"
    answer = served.send("refund 7", name)
    assert answer["stop"] == "waiting"
    assert served.get(conversation=name)["state"] == "waiting"
    (call,) = served.get("/waiting", name)["calls"]
    assert [call["call_id"]] == answer["waiting"]
    body = {"decisions": {call["call_id"]: verdict}}
    decided = post(served, "/decisions", name, json=body, headers={"Prefer": "wait=60"}).json()
    assert decided["stop"] == "done" and told in decided["text"]
    assert served.get("/waiting", name) == {"calls": []}
    again = post(served, "/decisions", name, json=body)
    assert again.status_code == 404


def test_decisions_that_are_sent_again_while_they_run_are_one_job(tmp_path: Path) -> None:
    gate = Gate(lambda rendered: rendered.payload["messages"][-1]["role"] == "tool")
    with support(tmp_path / "store.db", gate) as served:
        (call,) = served.send("refund 7")["waiting"]

        def decide() -> Any:
            headers, body = {"Idempotency-Key": "yes"}, {"decisions": {call: True}}
            return post(served, "/decisions", json=body, headers=headers)

        first = decide()
        assert gate.asked.wait(PATIENCE)
        assert decide().json() == first.json()
        gate.is_open.set()
        with served.stream("GET", first.json()["events"]) as events:
            until_ended(events)
        assert decide().json() == first.json()


def test_an_agent_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    with support(tmp_path / "store.db") as served:
        served.send("refund 7")

    def make(session: Session) -> Agent:
        raise KeyError("a setting of the operator")

    node = Node(store=tmp_path / "store.db")
    node.add("support", make)
    with serving(app(node)) as served:
        for rest in ("/context", "/waiting", ""):
            answer = served.client.get(served.path(rest=rest))
            told = (answer.status_code, answer.json()["detail"])
            assert told == (500, "the agent cannot be opened: KeyError")


def test_decisions_are_streamed_too(served: Served) -> None:
    (call,) = served.send("refund 7", "streamed decision")["waiting"]
    with served.stream(
        "POST", served.path("streamed decision", "/decisions"), json={"decisions": {call: True}}
    ) as events:
        names = [event.name for event in events]
    assert names[:2] == ["accepted", "begun"] and names[-1] == "ended" and "words" in names


# Jobs


def job_of(served: Served, content: str, conversation: str, **body: Any) -> str:
    answer = post(served, "/messages", conversation, json={"content": content, **body})
    assert answer.status_code == 202, answer.text
    job: str = answer.json()["job"]
    return job


def test_jobs_are_listed_by_state_cancelled_and_tried_again(tmp_path: Path) -> None:
    gate, outcomes = Gate(lambda rendered: "wait" in str(rendered.payload)), iter([ModelFailed("it is down")])

    async def answer(rendered: Rendered) -> Any:
        is_failing = "please" in str(rendered.payload["messages"][-1]["content"])
        return (next(outcomes, None) if is_failing else None) or await gate(rendered)

    with support(tmp_path / "store.db", answer) as served:
        failed = served.send("please", "a")
        assert (failed["stop"], failed["error"]) == ("failed", "it is down")
        running = job_of(served, "wait", "b", delay=0)
        assert gate.asked.wait(PATIENCE)
        waiting, later = job_of(served, "then", "b"), job_of(served, "hello", "c", delay=3_600)

        def listed(path: str, **query: Any) -> list[tuple[str, str]]:
            found, cursor = list[tuple[str, str]](), ""
            while cursor is not None:
                page = served.client.get(path, params={**query, "limit": 1, "cursor": cursor}).json()
                found += [(row["job"], row["state"]) for row in page["jobs"]]
                cursor = page["next"]
            return found

        ours = [(running, "running"), (waiting, "waiting"), (later, "waiting")]
        assert sorted(listed("/agents/support/jobs")) == sorted(ours)
        assert listed("/agents/support/jobs", state="running") == ours[:1]
        assert listed(served.path("a", "/jobs"), state="failed") == [(failed["job"], "failed")]
        assert served.client.get("/agents/support/jobs", params={"state": "odd"}).status_code == 400
        for job, name in ((waiting, "b"), (running, "b"), (later, "c")):
            assert post(served, f"/jobs/{job}/cancel", name).json()["state"] == "cancelled"
        assert until(lambda: not served.get("/jobs", "b", state="running")["jobs"] or None)
        assert {row["stop"] for row in until_none_is_open(served, "b")} == {"cancelled"}
        assert post(served, f"/jobs/{later}/cancel", "c").status_code == 404
        # What failed goes on where it was: the message is not said twice.
        again = post(served, f"/jobs/{failed['job']}/retry", "a")
        assert again.status_code == 202
        with served.stream("GET", again.json()["events"]) as events:
            assert until_ended(events)[-1].data["stop"] == "done"
        assert [one["content"] for one in served.get("/items", "a")["items"]] == [
            "please",
            "You said: please",
        ]
        assert post(served, f"/jobs/{failed['job']}/retry", "a").status_code == 409
        gate.is_open.set()


def test_a_page_of_jobs_without_those_of_a_conversation_that_cannot_be_read(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="needs the extra quire[sealed]")
    path = tmp_path / "store.db"

    with Store.open(path, key=bytes(32)) as store:
        asyncio.run(Session.open("ana/q2", store=store).jobs.submit(Job.of("sealed")))
    with Store.open(path) as store:
        for address, asked in (("ana/q1", "a"), ("ana/q1", "b"), ("ana/q3", "c"), ("bob/q1", "d")):
            asyncio.run(Session.open(address, store=store).jobs.submit(Job.of(asked)))
        source, found = Source(store), list[str]()
        cursor: str | None = ""
        while cursor is not None:
            page = list_open_jobs(source, "ana/", 1, cursor)
            found, cursor = [*found, *(one.question for one in page.jobs)], page.next
    assert found == ["a", "b", "c"]


def until_none_is_open(served: Served, conversation: str) -> list[Any]:
    def ended() -> list[Any] | None:
        rows: list[Any] = served.get("/jobs", conversation)["jobs"]
        return rows if all("stop" in row for row in rows) else None

    return until(ended)


@pytest.mark.parametrize("how", ["queue", "interrupt", "refuse", "steer"])
def test_a_message_that_comes_while_a_turn_runs(tmp_path: Path, how: str) -> None:
    gate = Gate(lambda rendered: "wait" in str(rendered.payload["messages"][-1]["content"]))
    with support(tmp_path / "store.db", gate) as served:
        first = job_of(served, "wait", "c")
        assert gate.asked.wait(PATIENCE)
        answer = post(served, "/messages", json={"content": "second", "while_busy": how})
        assert answer.status_code == (409 if how == "refuse" else 202)
        gate.is_open.set()
        stops = {row["job"]: row["stop"] for row in until_none_is_open(served, "c")}
        assert stops.pop(first) == ("cancelled" if how == "interrupt" else "done")
        assert list(stops.values()) == {"refuse": [], "steer": ["steered"]}.get(how, ["done"])
        answered = [one["content"] for one in served.get("/items")["items"] if one["role"] == "assistant"]
        assert answered[-1:] == ["You said: wait" if how == "refuse" else "You said: second"]


# Conversations


def test_conversations_are_listed_by_last_activity_page_by_page(served: Served) -> None:
    for name in ("one", "two/with a slash", "three"):
        served.send("hello", f"listed {name}")
    found, cursor = list[str](), None
    while True:
        query = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = served.client.get("/agents/support/conversations", params=query).json()
        found += [row["conversation"] for row in page["conversations"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert found[:3] == ["listed three", "listed two/with a slash", "listed one"]
    assert len(found) == len(set(found))


def test_items_come_page_by_page(served: Served) -> None:
    for turn in range(3):
        served.send(f"hello {turn}", "pages")
    first = served.get("/items", "pages", limit=4)
    rest = served.get("/items", "pages", after=first["next"])
    assert [len(first["items"]), len(rest["items"]), rest["next"]] == [4, 2, None]
    assert served.get("/items", "pages", after=10**14)["items"] == []


@pytest.mark.parametrize("name", ["a/b", "%2F", "ü ☂", "a?b#c", "a~b", "  "])
def test_a_name_may_be_any_printable_text(served: Served, name: str) -> None:
    assert served.send("hello", name)["stop"] == "done"
    assert served.get(conversation=name)["conversation"] == name


def test_a_fork_has_the_past_and_goes_its_own_way(served: Served) -> None:
    served.send("one", "trunk")
    version = served.get(conversation="trunk")["version"]
    served.send("two", "trunk")
    made = post(served, "/forks", "trunk", json={"name": "branch", "at": version})
    assert (made.status_code, made.json()["conversation"]) == (201, "trunk/branch")
    assert [i["content"] for i in served.get("/items", "trunk/branch")["items"]] == ["one", "You said: one"]
    assert served.send("three", "trunk/branch")["stop"] == "done"
    assert served.get("/items", "trunk")["length"] == served.get("/items", "trunk/branch")["length"] == 4
    assert post(served, "/forks", "trunk", json={"name": "branch"}).status_code == 400


def test_what_the_model_sees_is_told_before_and_after(served: Served) -> None:
    served.send("hello", "seen")
    seen = served.get("/context", "seen")
    assert [item["content"] for item in seen["items"]] == ["hello", "You said: hello"]
    assert {entry["fate"] for entry in seen["entries"]} == {"shown"}
    (row,) = served.get("/receipts", "seen")["receipts"]
    kept = served.get(f"/receipts/{row['version']}", "seen")
    assert kept["digest"] and kept["usage"]["output"] > 0 and row["question"] == "hello"
    assert [entry["item_id"] for entry in kept["entries"]] == [seen["items"][0]["id"]]
    assert served.client.get(served.path("seen", "/receipts/0")).status_code == 404


def test_an_item_and_a_conversation_are_forgotten(served: Served) -> None:
    served.send("my name is Ana", "erased")
    item = served.get("/items", "erased")["items"][0]["id"]
    assert served.client.delete(served.path("erased", f"/items/{item}")).status_code == 204
    assert "my name is Ana" not in str(served.get("/items", "erased")["items"][0])
    assert served.client.delete(served.path("erased", f"/items/{item}x")).status_code == 404
    assert served.client.delete(served.path("erased")).status_code == 204
    assert "Ana" not in str(served.get("/items", "erased"))


def test_words_of_what_was_forgotten_are_not_told_again(served: Served) -> None:
    events = served.streamed("my name is Ana", "erased words")
    assert "Ana" in "".join(event.data["text"] for event in events if event.name == "words")
    assert served.client.delete(served.path("erased words")).status_code == 204
    with served.stream("GET", served.path("erased words", "/events"), params={"after": "0"}) as again:
        told = until_ended(again)
    assert told[-1].name == "ended" and "Ana" not in str(told)


# The service itself


def test_health_readiness_and_metrics(served: Served) -> None:
    assert served.client.get("/health").json() == {"status": "ok"}
    assert served.client.get("/ready").json() == {"status": "ready"}
    served.send("hello", "measured")
    text = served.client.get("/metrics").text
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert {"quire_request_seconds", "quire_jobs", "quire_streams", "quire_cost_usd"} <= set(families)
    routes = {sample.labels["route"] for sample in families["quire_request_seconds"].samples}
    assert {"message", "health"} <= routes
    counted = [(one.name, one.labels, one.value) for one in families["quire_tokens"].samples]
    assert any(labels.get("kind") == "input" and value > 0 for _, labels, value in counted)
    served.send("look 7", "measured")
    served.send("fail now", "measured")
    lines = "\n" + served.client.get("/metrics").text
    assert '\nquire_model_seconds_count{fault="ModelFailed"' in lines
    assert '\nquire_tool_seconds_count{fault="",tool="look_up"' in lines
    assert "measured" not in text


def test_a_turn_is_a_part_of_the_trace_of_who_asks(tmp_path: Path) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    node = support_node(tmp_path / "store.db")
    node.add_hooks(instrument(tracer_provider=provider))
    with serving(app(node)) as served:
        for number in "12":
            headers = {"traceparent": f"00-{number * 32}-{number * 16}-01", "Prefer": "wait=60"}
            assert post(served, "/messages", json={"content": "hello"}, headers=headers).status_code == 200
    turns = [one for one in spans.get_finished_spans() if one.name.startswith("invoke_agent")]
    found = [
        (one.context and format(one.context.trace_id, "x"), one.parent and format(one.parent.span_id, "x"))
        for one in turns
    ]
    assert found == [("1" * 32, "1" * 16), ("2" * 32, "2" * 16)]


def test_the_description_is_valid_and_names_every_route(served: Served) -> None:
    told = served.client.get("/openapi.json").json()
    OpenAPIV31SpecValidator(told).validate()
    served_here = {
        (route.path, method.lower())
        for route in served.application.routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert {(path, method) for path, of in told["paths"].items() for method in of} == served_here
    names = [operation["operationId"] for of in told["paths"].values() for operation in of.values()]
    assert len(names) == len(set(names))
    message = {"$ref": "#/components/schemas/NewMessage", "components": told["components"]}
    jsonschema.validate({"content": ["hello", {"part": "image", "url": "https://a"}]}, message)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"content": 7}, message)


def test_every_answer_is_as_it_is_described(served: Served) -> None:
    answer = served.send("refund 7", "described")
    version, item = answer["version"], answer["items"][0]["id"]
    receipt = served.get("/receipts", "described")["receipts"][0]["version"]
    response = served.client.post("/v1/responses", json={"model": "support", "input": "hello"}).json()
    told = served.client.get("/openapi.json").json()
    known = {"agent": "support", "conversation": "described", "item": item, "receipt": receipt}
    known |= {"response": response["id"], "job": answer["job"]}
    bodies: dict[str, Any] = {
        "message": {"content": "refund 8"},
        "fork": {"name": "b", "at": version},
        "respond": {"model": "support", "input": "hello"},
        "complete": {"model": "support", "messages": [{"role": "user", "content": "hello"}]},
    }
    operations = [(path, method, one) for path, of in told["paths"].items() for method, one in of.items()]
    for path, method, operation in sorted(operations, key=lambda one: one[1] == "delete"):
        if (name := operation["operationId"]) in ("events", "metrics"):
            continue
        headers = {"Prefer": "wait=60"} if name == "message" else {}
        sent = served.client.request(method, path.format(**known), json=bodies.get(name), headers=headers)
        if name in ("cancel", "retry", "erase"):  # it has ended, and has not failed; and there is no key
            assert sent.status_code in (403, 404, 409)
            continue
        if name == "message":
            bodies["decide"] = {"decisions": dict.fromkeys(sent.json()["waiting"], True)}
        described = operation["responses"].get(str(sent.status_code))
        assert described is not None, (name, sent.text)
        if sent.content:
            schema = described["content"]["application/json"]["schema"]
            jsonschema.validate(sent.json(), {**schema, "components": told["components"]})
    refused = served.client.get("/v1/responses/nothing")
    problem = {"$ref": "#/components/schemas/ProblemDocument", "components": told["components"]}
    assert refused.json()["error"] and jsonschema.validate(refused.json(), problem) is None
