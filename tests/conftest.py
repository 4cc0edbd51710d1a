"""Hypothesis without deadlines (machines are shared and noisy), its strength set by QUIRE_EXAMPLES.

It keeps no database: a checkout may be read-only, and a failure prints what reproduces it. Where its strength
is not set it draws the same each time, so that who changed nothing breaks nothing; `make fuzz` draws anew.
"""

import asyncio
import gc
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# Clients read all certificates of the machine when they are made, and no test speaks to a server by TLS.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("nobody.pem"))

gc.disable()  # while tests are collected: nothing of that is garbage

DRAWS_THE_SAME = "QUIRE_EXAMPLES" not in os.environ

settings.register_profile(
    "quire",
    deadline=None,
    database=None,
    derandomize=DRAWS_THE_SAME,
    max_examples=int(os.environ.get("QUIRE_EXAMPLES", "12")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    print_blob=True,
)
settings.load_profile("quire")

if DRAWS_THE_SAME:
    # Hypothesis draws constants of loaded modules, too, and which are loaded depends on the tests before.
    no_constants: Any = vars(providers)["_local_constants"]
    setattr(providers, "_get_local_constants", lambda: no_constants)  # noqa: B010  (it is private)


TOGETHER = ("tests/inspector/", "tests/models/", "tests/clients/", "tests/proxy/")
"""Folders whose tests share a browser, a model, the SDKs or a server: one process runs all of a folder."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process whole files, or whole folders, so that what they share is started once."""
    if config.getoption("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return next((folder for folder in TOGETHER if file.startswith(folder)), file)

    return ByFile(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Names of tests are the same in each process, or those who share the work find that they differ."""
    odd = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if odd:
        raise pytest.UsageError(f"names with addresses: give them ids: {odd}")


def pytest_collection_finish() -> None:
    """What there is by now stays to the end: who collects garbage need not look at it again."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Move the clock of the event loop on by some seconds: a long timeout is over at once."""
    ahead: list[float] = []

    def move(seconds: float) -> None:
        loop = asyncio.get_running_loop()
        time = loop.time
        if not ahead:
            monkeypatch.setattr(loop, "time", lambda: time() + sum(ahead))
        ahead.append(seconds)

    return move
