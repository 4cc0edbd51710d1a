"""Programs: a model answers with code that is checked, priced, run in a sandbox, and kept."""

from quire.programs.check import check
from quire.programs.coder import Answer, AttemptReport, Coder, ProgramFailed
from quire.programs.library import KeptProgram
from quire.programs.price import Price, estimate
from quire.programs.replay import REPLAYED
from quire.programs.runner import INTERMEDIATE, PROGRAM, FinishedRun
from quire.programs.sandbox import Bounds, Sandbox, SandboxResult
from quire.programs.source import ProgramFault
from quire.programs.task import Task

__all__ = [
    "INTERMEDIATE",
    "PROGRAM",
    "REPLAYED",
    "Answer",
    "AttemptReport",
    "Bounds",
    "Coder",
    "FinishedRun",
    "KeptProgram",
    "Price",
    "ProgramFailed",
    "ProgramFault",
    "Sandbox",
    "SandboxResult",
    "Task",
    "check",
    "estimate",
]
