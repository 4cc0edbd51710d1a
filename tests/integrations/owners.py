"""What others wrote, run with ours. It is downloaded by `make integrations`, and is not part of Quire."""

import asyncio
import inspect
import os
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

import pytest

import quire

CACHE = Path(tempfile.gettempdir()) / "quire-owners"
NEEDS_OWNERS = pytest.mark.skipif(
    not os.environ.get("QUIRE_OWNERS"), reason="run by `make integrations`: it downloads what others wrote"
)


def source(package: str) -> Path:
    """The folder of the source distribution of the version that is installed."""
    name = f"{package.replace('-', '_')}-{version(package)}"
    if not (CACHE / name).exists():
        wanted = f"{package}=={version(package)}"
        download = [sys.executable, "-m", "pip", "download", "--no-binary", ":all:", "--no-deps", wanted]
        if subprocess.run([*download, "-d", str(CACHE)], check=False, capture_output=True).returncode:
            pytest.skip(f"{wanted} cannot be downloaded")
        with tarfile.open(CACHE / f"{name}.tar.gz") as archive:
            archive.extractall(CACHE, filter="data")
    return CACHE / name


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker of a plugin that is not needed: this module is one in the runs below."""
    config.addinivalue_line("markers", "asyncio: a test that is awaited")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Await the tests that are coroutines."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames  # pyright: ignore[reportPrivateUsage]
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def run_tests(root: Path, *chosen: str) -> str:
    """Run some of the tests in a source distribution, which must pass, and return what pytest said."""
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(quire.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "owners", *chosen],
        cwd=root,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4_000:]
    return done.stdout
