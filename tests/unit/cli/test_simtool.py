"""What the course tool says where it cannot do its work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from simstore.cli import main as simstore
from simstore.cli.simtool import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "article.txt").write_bytes(b"one\nriver\n\ftwo\nstone\n\f")
    (tmp_path / "sample.txt").write_bytes(b"asked\nriver\n\f")
    (tmp_path / "stopwords.txt").write_bytes(b"the of")
    (tmp_path / "hashvalue.txt").write_bytes(b"1010\n0110\n1100\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def simtool(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.mark.slow
def test_results_and_help_without_room_are_an_error_in_one_line(folder: Path) -> None:
    full = Path("/dev/full")
    if not full.is_char_device():
        pytest.skip("there is no device that is always full")
    for arguments in (["3", "4"], ["--help"]):
        with full.open("wb") as output:
            done = subprocess.run(
                [sys.executable, "-m", "simstore.cli.simtool", *arguments],
                cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdout=output, stderr=subprocess.PIPE, check=False, text=True,
            )  # fmt: skip
        assert done.returncode == 6, done.stderr
        assert done.stderr.startswith("Error: no space left"), done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_result_that_cannot_be_written_is_exit_code_six(folder: Path) -> None:
    (folder / "result.txt").mkdir()
    done = simtool(3, 4)
    assert done.exit_code == 6
    assert "result.txt" in done.stderr
    assert done.stdout == ""


def test_no_page_is_too_long_for_the_tool(folder: Path) -> None:
    (folder / "article.txt").write_bytes(b"one\nriver" + b" " * (33 << 20) + b"\ftwo\nstone\n\f")
    assert simtool(3, 4).stdout == "asked\n0:one \n2:two \n"


def test_usage_error_quotes_the_ends_of_a_long_argument() -> None:
    for words in [["three" * 9_000, 4], ["--" + "x" * 70_000], [3, 4, "y" * 70_000]]:
        done = simtool(*words)
        assert done.exit_code == 2
        assert 200 < len(done.stderr) < 1_000
        assert "…" in done.stderr


def test_usage_error_of_any_command_does_so() -> None:
    for words in [["x" * 70_000], ["--" + "x" * 70_000], ["list", "--limit", "x" * 70_000]]:
        done = CliRunner().invoke(simstore, words)
        assert done.exit_code == 2
        assert 200 < len(done.stderr) < 1_000


def test_an_error_leaves_no_result_of_an_earlier_run(folder: Path) -> None:
    assert simtool(3, 4).exit_code == 0
    (folder / "sample.txt").unlink()
    done = simtool(3, 4)
    assert done.exit_code == 3
    assert done.stderr.endswith("; result.txt of an earlier run is result.txt.old now\n")
    assert not (folder / "result.txt").exists()
    assert (folder / "result.txt.old").read_bytes() == b"asked\n0:one \n2:two \n"
    assert "result.txt" not in simtool(3, 4).stderr
    (folder / "result.txt").write_text("of another run")
    assert simtool(3, 4).stderr.endswith("; result.txt of an earlier run is result.txt.old.2 now\n")
    assert (folder / "result.txt.old").read_bytes() == b"asked\n0:one \n2:two \n"
    assert (folder / "result.txt.old.2").read_text() == "of another run"


def test_result_txt_where_none_of_the_files_is_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "result.txt").write_text("of another program")
    monkeypatch.chdir(tmp_path)
    assert simtool(3, 4).exit_code == 3
    assert [one.name for one in tmp_path.iterdir()] == ["result.txt"]
    assert (tmp_path / "result.txt").read_text() == "of another program"


def test_what_is_at_the_end_of_a_link_is_left(folder: Path) -> None:
    (folder / "mine.txt").write_text("mine")
    (folder / "result.txt").symlink_to("mine.txt")
    (folder / "sample.txt").unlink()
    assert simtool(3, 4).exit_code == 3
    assert (folder / "mine.txt").read_text() == "mine"
