"""A conversation as one file, which opens without a server and asks for nothing."""

from pathlib import Path

from quire.inspector.export import document
from quire.stores import place_at
from tests.inspector.browsing import Page, expect

ADDRESS = str(place_at(scope="lamp-shop", conversation="</script><script>window.ran=1</script> ~*é"))


def test_a_file_opens_by_itself(page: Page, tmp_path: Path) -> None:
    head = {
        "version": 3,
        "spending": {"tokens": 1_234, "cost": 0.5},
        "counts": {},
        "marks": {"users": [], "edits": [], "requests": []},
    }
    head |= {"branches": [], "transcripts": ["main"]}
    path = tmp_path / "export.html"
    path.write_text(
        document([("conversation", {"address": ADDRESS}, head)], address=ADDRESS, label="shop.db")
    )
    page.goto(path.as_uri())
    expect(page.get_by_role("heading", name="<script>window.ran=1</script>")).to_be_visible()
    expect(page.get_by_text("1,234 tokens spent")).to_be_visible()
    expect(page.get_by_text("export of 20")).to_be_visible()
    assert page.evaluate("window.ran ?? null") is None
