
import json
from tests.service.serving import support
def test_smoke(tmp_path):
    with support(tmp_path/"a.db") as s:
        print(s.send("hello"))
        for e in s.streamed("look at it"): print(e)
        for r in ("", "/items", "/waiting", "/context", "/receipts"):
            print(r, json.dumps(s.get(r))[:300])
        a = s.send("refund 7"); print(a)
        print(s.get("")["state"], s.get("/waiting"))
        r=s.client.post(s.path("c","/decisions"), json={"decisions": {a["waiting"][0]: True}}, headers={"Prefer":"wait=20"}); print(r.status_code, r.json())
        v=s.get("/receipts")["receipts"][0]["version"]; print(json.dumps(s.get(f"/receipts/{v}"))[:300])
        print(s.client.post(s.path("c","/forks"), json={"name":"x"}).text)
        print(s.get("/items", "c/x")["length"], s.client.get("/agents/support/conversations").text)
        print(s.client.get("/metrics").text[-900:])
        print(s.client.get("/nothing").text, s.client.put("/health").text)
    assert 0
