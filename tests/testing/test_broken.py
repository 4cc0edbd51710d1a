"""Broken implementations fail the law that they break; without its extra the package says what to install."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "broken"
LAWS = {
    "SwallowsConflicts": (
        "test_concurrent_writers_lose_nothing_and_duplicate_nothing",
        "entries were appended",
    ),
    "LosesAppends": (
        "test_an_append_that_expects_another_version_conflicts_and_adds_nothing",
        "DID NOT RAISE",
    ),
    "IgnoresCase": ("test_nothing_of_one_scope_is_readable_from_another", "ana/q3 was read at Ana/q3"),
    "ReplacesHalf": ("test_wrong_arguments_are_refused_and_change_nothing", "a refused call changed entries"),
    "KeepsWhatWasReplaced": ("test_scrubbed_content_is_in_no_file", "content that was replaced or removed"),
    "KeepsStaleCheckpoints": ("test_replaced_and_removed_entries_are_gone_for_every_opening", "a checkpoint"),
    "ForgetsAtRestart": (
        "test_it_behaves_like_a_dictionary_of_lists",
        "TestForgetsAtRestart.is_lasting = False",
    ),
    "HalfOfAPair": ("test_protected_items_stay_and_groups_stay_whole", "the edit takes part of the group"),
    "HidesQuestions": ("test_compacting_twice_changes_nothing", "is the last message of the user"),
    "PromisesTooMuch": ("test_a_plan_does_exactly_what_it_says", "plan.after is"),
    "DoesNothing": ("test_it_has_a_plan_for_some_history", "has no plan for any of"),
    "NewIds": ("test_the_same_ask_gets_the_same_items", "new ids returns other items to the same ask"),
    "EmptiesThePool": ("test_an_ask_is_not_changed", "changed its ask"),
    "StaticClock": (
        "test_a_static_section_never_changes_and_a_slow_one_only_grows",
        "clock is static and changed",
    ),
    "LastItem": ("test_no_call_is_shown_without_its_result", "splits a call from its result"),
    "Drops": ("test_every_text_is_in_the_payload_or_a_downgrade_names_its_item", "AssertionError: "),
    "Numbers": ("test_rendering_is_deterministic", "the same items are rendered in two ways"),
}
"""Each broken implementation with the law that it breaks, and words of the failure."""


@pytest.fixture(scope="module")
def output() -> str:
    """What pytest prints of the broken implementations, each tested with its law alone."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", "-c", os.devnull]
    laws = [f"{FOLDER}/broken.py::Test{name}::{law}" for name, (law, _) in LAWS.items()]
    where = ["--rootdir", str(FOLDER), "--confcutdir", str(FOLDER)]
    wide = {**os.environ, "COLUMNS": "500"}  # no line of the summary is cut
    run = subprocess.run([*command, *where, *laws], capture_output=True, text=True, env=wide)
    assert run.returncode == 1, run.stdout + run.stderr
    return run.stdout


@pytest.mark.parametrize("name", LAWS)
def test_a_broken_implementation_fails_the_law_that_it_breaks_and_reads_why(name: str, output: str) -> None:
    law, words = LAWS[name]
    summary = output[output.index("short test summary") :].splitlines()
    assert any(f"::Test{name}::{law}" in line and words in line for line in summary)


def test_without_its_libraries_the_extra_is_named() -> None:
    code = "import sys; sys.modules['hypothesis'] = None; import quire.testing"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "hypothesis is not installed; add it with: pip install 'quire[testing]'" in run.stderr
