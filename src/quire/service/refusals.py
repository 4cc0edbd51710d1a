"""What is raised where a request is refused."""

from collections.abc import Mapping


class Problem(Exception):
    """A request that is refused: its status, one sentence for the client, and headers."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})
