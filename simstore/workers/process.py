"""Child processes that run functions and can be ended at any moment.

A worker is a Python program that this process starts. It opens what it needs once, by a context
manager that the caller names, and then runs methods of the object which that yields. A file or a
request that crashes native code, never ends or takes any memory costs one worker, and nothing else.

    worker = Worker()
    worker.begin(opened_reader, path)
    worker.call("count", 7)
    worker.end()

A worker ignores SIGINT and SIGTERM, which are for its parent; has none of the parent's files; and
ends with it, also when the parent is killed: its standard input is a pipe that is never written.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from simstore import compiled, version

# An installation that was replaced is noticed before any of its code runs.
_PROGRAM = """\
import sys
from simstore.version import __version__
if __version__ != sys.argv[1]:
    sys.exit({status})
from simstore.workers.process import serve
serve(sys.argv[2], sys.argv[3:])
"""
OTHER_VERSION = 86
# A worker that answers nothing for so long when it is needed again is replaced.
_ANSWER_SECONDS = 5.0
_MOST_FILES = 256
_PIECE, _END, _FAILED = b"+", b".", b"!"

# Opens what methods need, and yields the object that has them: a function of a module.
Opening = Callable[..., AbstractContextManager[Any]]


class WorkerEnded(Exception):
    """Raised for a worker that gives no answer: it has ended, or was killed as it took too long.

    Attributes:
        status: Its exit status; minus the signal that ended it; None: it was late.
    """

    def __init__(self, status: int | None) -> None:
        how = "it gives no answer" if status is None else f"status {status}"
        super().__init__(f"signal {-status}" if status is not None and status < 0 else how)
        self.status = status


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of a worker while it streams an answer.

    Attributes:
        processor_seconds: Processor time from one piece of the answer to the next.
        memory_bytes: Address space of the process, the interpreter's own 0.3 GB among it.
        piece_seconds: Time by the clock from one piece to the next.
        seconds: Time by the clock for the whole answer; None: any.
        written_bytes: Size of a file that it writes; None: any, and any number of open files.
        piece_bytes: Size of a piece; None: any.
    """

    processor_seconds: int
    memory_bytes: int
    piece_seconds: float
    seconds: float | None = None
    written_bytes: int | None = None
    piece_bytes: int | None = None

    def apply(self) -> None:
        """Set the limits of this process from now on, if the system has them."""
        with suppress(ImportError):
            import resource

            used = resource.getrusage(resource.RUSAGE_SELF)
            limits = {
                resource.RLIMIT_CPU: int(used.ru_utime + used.ru_stime)
                + 1
                + self.processor_seconds,
                resource.RLIMIT_AS: self.memory_bytes,
                # No picture of its memory if it crashes.
                resource.RLIMIT_CORE: 0,
            }
            if self.written_bytes is not None:
                limits[resource.RLIMIT_FSIZE] = self.written_bytes
                limits[resource.RLIMIT_NOFILE] = _MOST_FILES
            for kind, most in limits.items():
                with suppress(ValueError, OSError):
                    resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


class Worker:
    """A worker process; nothing is opened in it before :meth:`begin`.

    Args:
        modules: Modules that it imports at once, so that beginning takes less time.
        line_count: Lines by which it is asked; what is asked by different ones runs at once.
        environment: Its environment; None: that of this process.
        folder: Its working directory; None: that of this process.
        errors: Descriptor of its standard error; None: that of this process.

    Raises:
        OSError: No process can be started.
    """

    def __init__(
        self,
        *,
        modules: Sequence[str] = (),
        line_count: int = 1,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        errors: int | None = subprocess.DEVNULL,
    ) -> None:
        self.use_count = 0
        self.is_busy = False
        self._owner = os.getpid()
        self._is_ready = False
        self._locks = [threading.Lock() for _ in range(line_count)]
        pairs = [socket.socketpair() for _ in range(line_count)]
        theirs = [far.fileno() for _, far in pairs]
        lines = ",".join(map(str, theirs))
        try:
            self._process = subprocess.Popen(  # nothing in it is of a file  # noqa: S603  # nosec B603
                # -P: what lies in the working folder is no module.
                [sys.executable, "-P", "-c", _PROGRAM.format(status=OTHER_VERSION),
                 version.__version__, lines, *modules],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd=folder,
                env={
                    **(os.environ if environment is None else environment),
                    # Absolute: what lies in the folder where it works is no module either.
                    "PYTHONPATH": os.pathsep.join(os.path.abspath(one) for one in sys.path if one),
                },
                pass_fds=theirs,
                # An interrupt from the keyboard is for this process.
                start_new_session=True,
            )  # fmt: skip
        except BaseException:
            for near, _ in pairs:
                near.close()
            raise
        finally:
            for _, far in pairs:
                far.close()
        self._lines: list[Connection[Any, Any]] = [Connection(near.detach()) for near, _ in pairs]

    @property
    def pid(self) -> int:
        """The process number."""
        return self._process.pid

    def begin(self, opening: Opening, *arguments: Any) -> None:
        """Have it open what it needs.

        Args:
            opening: A context manager of a module, which yields the object whose methods are run.
            arguments: Its arguments.
        """
        with suppress(OSError):
            # One that has ended never becomes ready.
            self._lines[0].send((compiled.settings(), opening, arguments))

    def wait_until_ready(self) -> None:
        """Wait until it has opened what it needs; the first call does so, too.

        Raises:
            WorkerEnded: It has ended.
            Exception: The error that opening raised.
        """
        if not self._is_ready:
            self._answer(0)
            self._is_ready = True

    def call(
        self,
        method: str,
        *arguments: Any,
        line: int = 0,
        on_wait: Callable[[], None] | None = None,
    ) -> Any:
        """Run a method; return what it returns, raise what it raises.

        Args:
            method: Its name.
            arguments: Its arguments.
            line: The line to ask by; others wait for their turn on it.
            on_wait: Called twice a second meanwhile; after what it raises, the worker is of no use.

        Raises:
            WorkerEnded: It has ended.
        """
        with self._locks[line]:
            if line == 0:
                self.wait_until_ready()
            self.is_busy = True
            try:
                self._lines[line].send((method, arguments, None, False))
            except OSError:
                raise self._ended() from None
            while on_wait is not None and not self._lines[line].poll(0.5):
                on_wait()
            return self._answer(line)

    def stream(
        self, method: str, *arguments: Any, limits: Limits, descriptor: int | None = None
    ) -> Iterator[bytes]:
        """Yield the bytes that a method yields; nothing of what comes is unpickled.

        Args:
            method: Its name; its result is an iterator of bytes.
            arguments: Its arguments.
            limits: What it may take.
            descriptor: An open file, whose descriptor there is its last argument.

        Raises:
            WorkerEnded: It has ended, or was killed as it took too long or answered too much.
        """
        from multiprocessing.reduction import send_handle

        line = self._lines[0]
        self.wait_until_ready()
        self.is_busy = True
        ends = None if limits.seconds is None else time.monotonic() + limits.seconds
        with suppress(OSError):
            # One that has ended gives no answer.
            line.send((method, arguments, limits, descriptor is not None))
            if descriptor is not None:
                send_handle(line, descriptor, self.pid)
        while True:
            left = limits.piece_seconds
            if ends is not None:
                left = min(left, max(ends - time.monotonic(), 0.0))
            try:
                if not line.poll(left):
                    self.end()
                    raise WorkerEnded(None)
                data = line.recv_bytes(limits.piece_bytes)
            except (EOFError, OSError):
                raise self._ended() from None
            if data[:1] != _PIECE:
                break
            yield data[1:]
        self.is_busy = False
        if data != _END:
            raise RuntimeError(data[1:].decode(errors="replace"))

    def is_alive(self) -> bool:
        """Return whether it answers, as one that waits does at once."""
        line = self._lines[0]
        try:
            line.send((None, (), None, False))
            return bool(line.poll(_ANSWER_SECONDS) and line.recv_bytes(1) == _END)
        except (EOFError, OSError):
            return False

    def wait(self) -> int:
        """Wait for its end; return the exit status, minus the signal that ended it."""
        status = self._process.wait()
        self.end()
        return status

    def close(self, seconds: float) -> None:
        """Have it close what it has opened, and end; end it at once after some seconds."""
        for line in self._lines:
            with suppress(OSError):
                line.send(None)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self.end()

    def end(self) -> None:
        """End it at once, and all that it has started; whoever waits for an answer gets none."""
        if os.getpid() != self._owner:
            # This process is a fork: the worker belongs to the other one.
            self._process.returncode = 0
        if self._process.returncode is None:
            # A worker that is about to end by itself keeps its status.
            with suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def _answer(self, line: int) -> Any:
        try:
            is_done, result = self._lines[line].recv()
        except (EOFError, OSError):
            raise self._ended() from None
        self.is_busy = False
        if is_done:
            return result
        raise result

    def _ended(self) -> WorkerEnded:
        self.end()
        return WorkerEnded(self._process.returncode)


class WorkerPool:
    """Workers of one kind, started when they are needed and used again.

    Args:
        opening: What each opens; see :meth:`Worker.begin`.
        arguments: Its arguments.
        most_idle: So many wait for work; others end.
        most_uses: A worker that was used so often is replaced: libraries may keep some memory of
            each file that they read.
    """

    def __init__(
        self, opening: Opening, *arguments: Any, most_idle: int = 4, most_uses: int = 1_000
    ) -> None:
        self.most_uses = most_uses
        self._begun = (opening, *arguments)
        self._most_idle = most_idle
        self._idle: list[Worker] = []
        self._owner = os.getpid()

    @contextmanager
    def worker(self) -> Iterator[Worker]:
        """Yield a worker that nobody else uses; one that is left before its answer is ended.

        Raises:
            OSError: No process can be started.
        """
        worker = self._taken()
        try:
            yield worker
        finally:
            worker.use_count += 1
            is_spent = worker.is_busy or worker.use_count >= self.most_uses
            if is_spent or len(self._idle) >= self._most_idle:
                worker.end()
            else:
                self._idle.append(worker)

    def end(self) -> None:
        """End the workers that wait; others may be started afterwards."""
        while self._idle:
            self._idle.pop().end()

    def _taken(self) -> Worker:
        if os.getpid() != self._owner:
            self._owner = os.getpid()
            self.end()
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive():
                return worker
            worker.end()
        worker = Worker()
        worker.begin(*self._begun)
        return worker


# The worker's side


def serve(lines: str, modules: Sequence[str]) -> None:
    """Be a worker: import modules, open what is wanted, run methods until the lines end.

    Args:
        lines: Descriptors of the lines, separated by commas.
        modules: Names of modules.
    """
    import gc

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    life = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()
    descriptors = [int(number) for number in lines.split(",")]
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    connections = [Connection(descriptor) for descriptor in descriptors]
    first = connections[0]
    # Modules are not garbage: to look for some among them takes a tenth of the start.
    gc.disable()
    try:
        for name in modules:
            import_module(name)
        settings, opening, arguments = first.recv()
        gc.freeze()
        gc.enable()
        compiled.set_up(settings)
        context = opening(*arguments)
        target = context.__enter__()
    except EOFError:
        return
    except Exception as error:
        _send(first, (False, error))
        return
    first.send((True, None))
    threads = [
        threading.Thread(target=_serve, args=(line, target), name=f"line-{place}")
        for place, line in enumerate(connections[1:], start=1)
    ]
    for thread in threads:
        thread.start()
    _serve(first, target)
    for thread in threads:
        thread.join()
    context.__exit__(None, None, None)


def _end_with(life: int) -> None:
    """End this process at once when its parent has ended."""
    os.read(life, 1)
    os._exit(1)


def _serve(line: Connection[Any, Any], target: Any) -> None:
    """Run what comes by a line, until the parent closes this worker or ends."""
    while True:
        try:
            request = line.recv()
            if request is None:
                return
            method, arguments, limits, has_file = request
            if has_file:
                from multiprocessing.reduction import recv_handle

                arguments = (*arguments, recv_handle(line))
        except (EOFError, OSError):
            os._exit(1)
        if method is None:
            line.send_bytes(_END)
        elif limits is not None:
            _stream(line, getattr(target, method), arguments, limits)
        else:
            try:
                answer = True, getattr(target, method)(*arguments)
            except Exception as error:
                answer = False, error
            _send(line, answer)


def _stream(
    line: Connection[Any, Any],
    method: Callable[..., Iterator[bytes]],
    arguments: Sequence[Any],
    limits: Limits,
) -> None:
    try:
        limits.apply()
        for piece in method(*arguments):
            line.send_bytes(_PIECE + piece)
            limits.apply()
        line.send_bytes(_END)
    except OSError:
        os._exit(1)
    except Exception as error:
        line.send_bytes(_FAILED + f"{type(error).__name__}: {error}".encode(errors="replace"))


def _send(line: Connection[Any, Any], answer: tuple[bool, Any]) -> None:
    import pickle  # what goes to the parent is ours  # nosec B403

    is_done, result = answer
    try:
        if not is_done:
            # An error of a library may hold something that is no value.
            pickle.loads(pickle.dumps(result))  # noqa: S301  # nosec B301
        line.send((is_done, result))
    except OSError:
        os._exit(1)
    except Exception as error:
        told = result if isinstance(result, Exception) else error
        line.send((False, RuntimeError(f"{type(told).__name__}: {told}")))
