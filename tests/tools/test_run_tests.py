"""How test programs are counted: a crash, a hang, an empty run and a lying status are failures."""

import os
import sys

import pytest

REPORT = """<testsuites><testsuite>
<testcase name="a" status="run" result="completed"/>
<testcase name="b" status="run" result="skipped"><skipped message=""/></testcase>
<testcase name="c" status="notrun" result="suppressed"/>
{extra}</testsuite></testsuites>"""
FAILURE = '<testcase name="d" status="run"><failure message="x"/></testcase>'


@pytest.fixture
def run(run_tests, tmp_path):
    """Runs a Python program under the runner; it may write its report to the path `report`."""

    def run(code, text="", output=None):
        report = tmp_path / "report.xml"
        program = f"import os, pathlib, time; report = pathlib.Path({str(report)!r})\n{code}"
        argv = [sys.executable, "-c", program]
        environment = os.environ | {"TEXT": text}
        return run_tests.run_program("program", argv, report, environment, output)

    return run


WRITE = "report.write_text(os.environ['TEXT'])\n"


def test_counts_passed_skipped_and_failed(run_tests, run):
    count = run(WRITE + "raise SystemExit(1)", REPORT.format(extra=FAILURE))
    assert count == run_tests.Count(passed=1, failed=1, skipped=1)
    assert str(count) == "1 passed, 1 failed, 1 skipped"


def test_a_clean_run_names_no_skips(run_tests):
    assert str(run_tests.Count(passed=3)) == "3 passed, 0 failed"


def test_a_crash_before_the_report_fails(run, capfd):
    assert run("os.kill(os.getpid(), 9)").failed == 1
    assert "program ended with status -9 before it reported its tests." in capfd.readouterr().out


def test_a_torn_report_fails(run):
    assert run(WRITE, "<testsuites><testsuite>").failed == 1


def test_a_crash_after_the_report_fails(run, capfd):
    assert run(WRITE + "raise SystemExit(3)", REPORT.format(extra="")).failed == 1
    assert "program ended with status 3 though no test failed." in capfd.readouterr().out


def test_no_test_fails(run):
    assert run(WRITE, "<testsuites/>").failed == 1


def test_a_hang_fails(run, run_tests, monkeypatch, capfd):
    monkeypatch.setattr(run_tests, "TIME_LIMIT", 0.2)
    assert run("time.sleep(30)").failed == 1
    assert "program did not finish in 0.2 seconds." in capfd.readouterr().out


def test_what_runs_aside_prints_to_its_own_file(run, tmp_path, capfd):
    with (tmp_path / "output").open("w+") as output:
        code = "import sys; print('out', flush=True); print('error', file=sys.stderr)"
        assert run(code, output=output).failed == 1
        output.seek(0)
        lines = output.read().splitlines()
    assert lines[:2] == ["out", "error"]
    assert lines[2].endswith("before it reported its tests.")
    assert capfd.readouterr().out == ""


def test_a_program_outside_the_table_fails(run_tests, tmp_path):
    programs = {name: {"a": tmp_path} for name, row in run_tests.SUITES.items() if row.cpp}
    assert run_tests.check_table(programs).failed == 0
    assert run_tests.check_table(programs | {"lost": {"b": tmp_path}}).failed == 1


def test_a_pytest_file_outside_the_table_fails(run_tests, tmp_path):
    for folder in ("tools", "lost"):
        (tmp_path / "tests" / folder).mkdir(parents=True)
        (tmp_path / "tests" / folder / "test_it.py").touch()
    assert run_tests.check_table({}, tmp_path).failed == 1


def test_the_longest_begins_first_and_suites_print_in_order(run_tests, monkeypatch, capsys):
    begun = []

    def job(name):
        def run(output):
            begun.append(name)
            print(name, file=output)
            return run_tests.Count(passed=1)

        return run

    jobs = {"one": [(0, job("short")), (5, job("long"))], "two": [(9, job("longest"))]}
    runner = run_tests.Runner("build", "dev")
    monkeypatch.setattr(run_tests.os, "cpu_count", lambda: 1)
    monkeypatch.setattr(runner, "jobs", lambda name, programs: jobs[name])
    assert runner.run_suites(["one", "two"], {}) == run_tests.Count(passed=3)
    assert begun == ["longest", "long", "short"]
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("(")]
    assert lines == [
        "short",
        "long",
        "one: 2 passed, 0 failed",
        "longest",
        "two: 1 passed, 0 failed",
    ]


def test_sanitized_suites_find_what_they_use_of_the_build(run_tests):
    suites = [row for row in run_tests.SUITES.values() if row.python and row.sanitized]
    assert "shared-library" in {name for row in suites for name in row.targets}
    configured = (run_tests.ROOT / "dev").read_text().partition("configure build-asan")[2]
    assert "-Dlibrary=true" in configured.partition(";;")[0]
    env = run_tests.Runner("build-asan", "dev").env
    assert env["FRAZIL_BUILD"] == str(run_tests.ROOT / "build-asan")
