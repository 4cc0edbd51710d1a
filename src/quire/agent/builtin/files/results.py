"""What a search has found so far, within limits, and what it left out."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from quire.agent.builtin.files.limits import FileLimits
from quire.agent.builtin.files.paths import counted
from quire.agent.builtin.files.searching import Line, Search, Stopped, searching
from quire.agent.builtin.files.walking import Walk
from quire.agent.tools.output import Allowance, fitted
from quire.errors import InvalidValue, QuireError

_LONGEST_LINE = 300


class Results:
    """The lines that a search shows."""

    def __init__(self, limits: FileLimits) -> None:
        self._limits = limits
        self._rows: list[str] = []
        self._characters = 0
        self._skipped = 0
        self._is_cut = False
        self._is_stopped = False

    @contextmanager
    def search(self, expression: str, *, ignore_case: bool) -> Generator[Search]:
        """A search into these results; where it takes too long, what was found before stays."""
        longest = min(_LONGEST_LINE, self._limits.line_characters)
        seconds = self._limits.seconds
        try:
            with searching(expression, ignore_case=ignore_case, longest=longest, seconds=seconds) as search:
                yield search
        except Stopped:
            self._is_stopped = True

    @contextmanager
    def skipping(self) -> Generator[None]:
        """A file that cannot be read does not end a search."""
        try:
            yield
        except Stopped:
            raise
        except QuireError:
            self._skipped += 1

    @property
    def room_left(self) -> int:
        """How many lines more may be shown."""
        return self._limits.matches - len(self._rows)

    @property
    def is_full(self) -> bool:
        """Whether more was found than may be shown."""
        return self._is_cut

    def take(self, path: str, lines: Sequence[Line] | None) -> None:
        """Add what one file had."""
        if lines is None:
            self._skipped += 1
        for line in lines or ():
            row = f"{path}:{line.number}: {line.text}"
            if not self.room_left or self._characters + len(row) > self._limits.shown_characters:
                self._is_cut = True
                return
            self._rows.append(row)
            self._characters += len(row)

    def told(self, walk: Walk, allowance: Allowance | None = None) -> str:
        """All of it, in words, or as much as is shown."""
        if self._is_stopped and not self._rows:
            raise InvalidValue(self._stopping())
        return fitted(lambda few: self._first(few, walk), len(self._rows), allowance)

    def _first(self, few: int, walk: Walk) -> str:
        ending = [counted(few, "matching line")]
        if self._is_cut or few < len(self._rows):
            ending.append("there are more: narrow the expression, the path or the files")
        if self._is_stopped:
            ending.append(self._stopping())
        if self._skipped:
            ending.append(f"files left out (no text, too large, or closed to these tools): {self._skipped:,}")
        return "\n".join((*self._rows[:few], f"[{'; '.join((*ending, *walk.left_out()))}]"))

    def _stopping(self) -> str:
        seconds = self._limits.seconds
        return f"the search was stopped (over {seconds:g} s, or out of memory): use a simpler expression"
