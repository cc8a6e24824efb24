"""A repository in a temporary folder, and the tools that check it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
OWNER = {"NAME": "A", "EMAIL": "a@example.org"}
ENVIRONMENT = {f"GIT_{who}_{key}": OWNER[key] for who in ("AUTHOR", "COMMITTER") for key in OWNER}
ENVIRONMENT |= os.environ | {"GIT_CONFIG_GLOBAL": os.devnull}


class Repository:
    """A git repository and the commit that the tools start from."""

    def __init__(self, folder: Path, start: str = "") -> None:
        self.folder = folder
        self.start = start

    def _output(self, *command: str, status: int = 0) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=ENVIRONMENT, capture_output=True, encoding="utf-8"
        )
        assert (done.returncode, done.stderr) == (status, ""), done.stdout
        return done.stdout

    def git(self, *arguments: str) -> str:
        return self._output("git", *arguments)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def commit(self, subject: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "--short", "HEAD").strip()

    def passes(self, tool: str, *arguments: str) -> list[str]:
        return self._run(tool, 0, *arguments)

    def fails(self, tool: str) -> list[str]:
        return self._run(tool, 1)

    def _run(self, tool: str, status: int, *arguments: str) -> list[str]:
        command = [sys.executable, str(ROOT / "tools" / tool), "--repository", str(self.folder)]
        command += ["--since", self.start] if self.start else []
        return self._output(*command, *arguments, status=status).splitlines()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path)
    made.git("init", "-q", "-b", "main")
    made.start = made.commit("Tell of what was before there were rules, in more than 72 characters")
    return made
