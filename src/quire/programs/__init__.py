"""Programs: a model answers with code that is checked, priced, run in a sandbox, and kept."""

from quire.programs.calls import INTERMEDIATE, PROGRAM, Finished
from quire.programs.check import check
from quire.programs.coder import Answer, Coder, ProgramFailed, Tried
from quire.programs.kept import KeptProgram
from quire.programs.price import Price, estimate
from quire.programs.replay import REPLAYED
from quire.programs.sandbox import Bounds, Ran, Sandbox
from quire.programs.source import ProgramFault
from quire.programs.task import Task

__all__ = [
    "INTERMEDIATE",
    "PROGRAM",
    "REPLAYED",
    "Answer",
    "Bounds",
    "Coder",
    "Finished",
    "KeptProgram",
    "Price",
    "ProgramFailed",
    "ProgramFault",
    "Ran",
    "Sandbox",
    "Task",
    "Tried",
    "check",
    "estimate",
]
