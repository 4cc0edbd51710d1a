"""Options of a container and the container that a program waits in go together."""

from typing import Any

import pytest

from quire.models.requests import request_for
from quire.providers import Rendered

SKILLS = {"skills": [{"type": "anthropic", "skill_id": "xlsx", "version": "latest"}]}


@pytest.mark.parametrize(
    ("payload", "option", "sent"),
    [
        ("container_1", SKILLS, {"id": "container_1", **SKILLS}),
        ("container_1", {"id": "mine"}, {"id": "mine"}),
        ("container_1", "mine", "mine"),
        (None, SKILLS, SKILLS),
    ],
)
def test_what_is_said_of_a_container_goes_with_its_id(payload: str | None, option: Any, sent: Any) -> None:
    waiting = {} if payload is None else {"container": payload}
    rendered = Rendered({"messages": [], **waiting}, (), {}, str)
    made = request_for("anthropic", rendered, "claude-opus-5", {"options": {"container": option}})
    assert made["container"] == sent
