"""Broken implementations fail the law that they break; without its extra the kit says what to install."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "broken"
LAWS = {
    "SwallowsConflicts": "test_concurrent_writers_lose_nothing_and_duplicate_nothing",
    "LosesAppends": "test_an_append_that_expects_another_version_conflicts_and_adds_nothing",
    "IgnoresCase": "test_nothing_of_one_scope_is_readable_from_another",
    "ReplacesHalf": "test_wrong_arguments_are_refused_and_change_nothing",
    "KeepsWhatWasReplaced": "test_scrubbed_content_is_in_no_file",
    "ForgetsAtRestart": "test_it_holds_what_a_dictionary_of_lists_would",
    "HalfOfAPair": "test_protected_items_stay_and_groups_stay_whole",
    "HidesQuestions": "test_compacting_twice_changes_nothing",
    "DoesNothing": "test_it_has_a_plan_for_some_history",
    "NewIds": "test_the_same_ask_gets_the_same_items",
    "EmptiesThePool": "test_an_ask_is_not_changed",
    "StaticClock": "test_a_static_section_never_changes_and_a_slow_one_only_grows",
    "LastItem": "test_no_call_is_shown_without_its_result",
    "Drops": "test_every_text_is_in_the_payload_or_a_downgrade_names_its_item",
    "Numbers": "test_rendering_is_deterministic",
}


@pytest.fixture(scope="module")
def output() -> str:
    """What pytest prints of the broken implementations, each tested with its law alone."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", "-c", os.devnull]
    laws = [f"{FOLDER}/broken.py::Test{name}::{law}" for name, law in LAWS.items()]
    where = ["--rootdir", str(FOLDER), "--confcutdir", str(FOLDER)]
    run = subprocess.run([*command, *where, *laws], capture_output=True, text=True)
    assert run.returncode == 1, run.stdout + run.stderr
    return run.stdout


@pytest.mark.parametrize("name", LAWS)
def test_a_broken_implementation_fails_the_law_that_it_breaks(name: str, output: str) -> None:
    assert f"::Test{name}::{LAWS[name]}" in output[output.index("short test summary") :]


def test_without_its_libraries_the_extra_is_named() -> None:
    code = "import sys; sys.modules['hypothesis'] = None; import quire.testing"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "hypothesis is not installed; add it with: pip install 'quire[testing]'" in run.stderr
