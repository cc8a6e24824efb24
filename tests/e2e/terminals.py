"""A pseudo-terminal to run commands on, and what a person would see on it."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from forked import PATIENCE_SECONDS

from .processes import REPOSITORY

_TOKENS = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+")

_CUT = re.compile(r"\x1b(\[[?0-9;]*)?$")


class Screen:
    """Lines as a terminal holds them: text, line ends, cursor up, erase a line, show the cursor."""

    def __init__(self) -> None:
        self.lines = [""]
        self.cursor_is_shown = True
        self._row = self._column = 0

    def write(self, piece: str) -> None:
        """Write text, a line end, or a control sequence."""
        if piece == "\r":
            self._column = 0
        elif piece == "\n":
            self._row += 1
            if self._row == len(self.lines):
                self.lines.append("")
        elif piece in ("\x1b[?25h", "\x1b[?25l"):
            self.cursor_is_shown = piece.endswith("h")
        elif piece == "\x1b[2K":
            self.lines[self._row] = ""
        elif piece.startswith("\x1b") and piece.endswith("A"):
            self._row = max(self._row - int(piece[2:-1] or 1), 0)
        elif piece.startswith("\x1b"):
            assert piece.endswith("m"), f"a terminal was sent {piece!r}"
        else:
            before = self.lines[self._row].ljust(self._column)
            end = self._column + len(piece)
            self.lines[self._row] = before[: self._column] + piece + before[end:]
            self._column = end

    @property
    def text(self) -> str:
        return "\n".join(self.lines).rstrip()


class Terminal:
    """A command whose standard error is a terminal, and standard output a file.

    Attributes:
        sent: All that the command sent to the terminal.
        screens: What stood there after each piece of text.
    """

    def __init__(
        self,
        folder: Path,
        *words: str,
        columns: int = 100,
        term: str = "xterm",
        stdin: bool = False,
        program: Path = REPOSITORY / "cli.py",
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        left_out = ("SIMSTORE_DB", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
        environment = {k: v for k, v in os.environ.items() if k not in left_out}
        self._out = folder / "stdout.txt"
        with self._out.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, str(program), *words],
                cwd=folder,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=out,
                stderr=theirs,
                env=environment | {"TERM": term},
            )
        os.close(theirs)
        self.sent = ""
        self.screens: list[str] = []
        self.screen = Screen()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._rest = ""
        self._feeding: list[threading.Thread] = []

    def feed(self, data: bytes, *, ends: bool = False) -> None:
        """Write to the command's standard input, while what it sends is read."""
        stdin = self.process.stdin
        assert stdin is not None

        def write() -> None:
            with suppress(BrokenPipeError):
                stdin.write(data)
                stdin.flush()
                if ends:
                    stdin.close()

        self._feeding.append(threading.Thread(target=write))
        self._feeding[-1].start()

    @property
    def out(self) -> str:
        return self._out.read_text("utf-8")

    def read(self, until: Callable[[str], bool] = lambda _screen: False) -> None:
        """Read what is sent, to the end of the command or until a screen is wanted."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            if (
                time.monotonic() > deadline
                or not select.select([self._ours], [], [], PATIENCE_SECONDS)[0]
            ):
                raise TimeoutError(f"nothing came after {self.screen.text!r}")
            try:
                data = os.read(self._ours, 65_536)
            except OSError:
                # Linux ends a terminal that nobody writes to so.
                data = b""
            if not data:
                return
            # A character or a sequence may be cut between two readings.
            text = self._rest + self._decoder.decode(data)
            cut = _CUT.search(text)
            self._rest = cut[0] if cut else ""
            if self._show(text.removesuffix(self._rest), until):
                return

    def _show(self, text: str, until: Callable[[str], bool]) -> bool:
        self.sent += text
        found = False
        for token in _TOKENS.findall(text):
            self.screen.write(token)
            if not token.startswith("\x1b"):
                self.screens.append(self.screen.text)
                found = found or until(self.screen.text)
        return found

    def wait(self) -> int:
        """Read to the end; return the exit code."""
        self.read()
        return self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        """End what still runs."""
        self.process.kill()
        self.process.wait()
        for thread in self._feeding:
            thread.join()
        if self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()
        os.close(self._ours)
