"""The workflows for GitHub, read as GitHub reads them: what they may do and use, and that what they run exists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
KEYS = {"runs-on", "timeout-minutes", "strategy", "steps"}  # of a job, those that these two need


class Loader(yaml.SafeLoader):
    """YAML as GitHub reads it, where `on` is a word and not a truth value."""


Loader.yaml_implicit_resolvers = {
    letter: [(tag, rule) for tag, rule in rules if tag != "tag:yaml.org,2002:bool"]
    for letter, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def workflow(request):
    return yaml.load(request.param.read_text(encoding="utf-8"), Loader)


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_there_is_one_that_tests_and_one_that_publishes():
    assert [file.stem for file in FILES] == ["publish", "test"]


def test_it_runs_on_pushes_to_main_and_for_a_limited_time(workflow):
    assert workflow["on"]["push"] == {"branches": ["main"]}
    for job in workflow["jobs"].values():
        assert set(job) <= KEYS and 0 < job["timeout-minutes"] <= 120


def test_only_the_one_that_publishes_may_write(workflow):
    assert workflow["permissions"] == {"contents": "write" if workflow["name"] == "publish" else "read"}


def test_every_action_is_one_of_githubs_own_at_a_version_with_inputs_that_it_has(workflow):
    inputs = {"actions/checkout": set(), "actions/setup-python": {"python-version"}}
    used = [step for step in steps(workflow) if "uses" in step]
    assert len(used) == 2
    for step in used:
        name, _, version = step["uses"].partition("@")
        assert re.fullmatch(r"v\d+", version) and set(step.get("with", {})) == inputs[name]


def test_expressions_name_what_exists(workflow):
    matrix = {
        f"matrix.{name}" for job in workflow["jobs"].values() for name in job.get("strategy", {}).get("matrix", {})
    }
    for expression in re.findall(r"\$\{\{\s*(.*?)\s*\}\}", yaml.dump(workflow)):
        assert expression in matrix or expression == "vars.TORCH_INDEX"


def test_every_command_exists_and_its_shell_reads(workflow):
    commands = [step["run"] for step in steps(workflow) if "run" in step]
    assert commands
    for command in commands:
        subprocess.run(["bash", "-n"], input=command, text=True, check=True)
        for target in re.findall(r"\bmake (\w[\w-]*)", command):
            subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)
        for script in re.findall(r"\bbash (\S+)", command):
            subprocess.run(["bash", "-n", script], cwd=ROOT, check=True)


def test_its_pythons_are_strings_that_the_package_takes(workflow):
    told = [step["with"]["python-version"] for step in steps(workflow) if "python-version" in step.get("with", {})]
    matrices = [job["strategy"]["matrix"]["python"] for job in workflow["jobs"].values() if "strategy" in job]
    versions = [one for one in told if not one.startswith("$")] + [one for some in matrices for one in some]
    assert versions and all(isinstance(one, str) and re.fullmatch(r"3\.1[1-9]", one) for one in versions)
