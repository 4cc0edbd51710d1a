"""Two threads may render one transcript at the same time, while it grows."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from quire.items import Message, ToolCall, ToolResult
from quire.providers import PROVIDERS
from quire.state import Transcript, View


def test_each_thread_gets_the_payload_of_its_view() -> None:
    transcript = Transcript([Message("user", "Hello.")])
    views: list[View] = []
    for number in range(200):
        transcript.append(Message("assistant", f"answer {number}"))
        transcript.append(Message("user", f"question {number}"))
        transcript.append(ToolCall(f"c{number}", "look_up", "{}"))
        transcript.append(ToolResult(f"c{number}", "look_up", "found"))
        views.append(transcript.view)
    provider = PROVIDERS["anthropic"]

    def rendered(view: View) -> str:
        return json.dumps(provider.render(view, model="claude-sonnet-4-5").payload)

    expected = [json.dumps(provider.render(list(view), model="claude-sonnet-4-5").payload) for view in views]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns all the time
    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(rendered, views)) == expected
    finally:
        sys.setswitchinterval(usual)
