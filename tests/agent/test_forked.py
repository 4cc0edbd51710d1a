"""Asking where nothing can be awaited, in a process that was forked from one that asked before."""

import os
import signal

import pytest

from tests.agent.answering import agent_of

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def test_a_forked_process_asks_on_a_loop_of_its_own() -> None:
    assert str(agent_of("Hello.").ask_sync("hi")) == "Hello."
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # one that waits for ever ends too
        os._exit(0 if str(agent_of("Hello.").ask_sync("hi")) == "Hello." else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert str(agent_of("Hello.").ask_sync("hi")) == "Hello."
