"""A real server under hostile requests: it answers others, keeps what it has, and ends in time."""

from __future__ import annotations

import json
import random
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Any

from forked import Nursery
from served import Served, serve

from .health import Health, connected, judge, received, sent, status_of
from .hostile_texts import damaged, odd, plain
from .worst_requests import DOCUMENTED, HOST, WORST, Worst, request

try:
    import schemathesis
except ImportError:
    schemathesis = None

SKIPPED = "requests left out: schemathesis is not installed"
_DRAIN_SECONDS = 4
# Besides the drain time: its processes end, and the machine may be busy.
_ENDING_SECONDS = 8.0
# An answer ends with its connection, which a server keeps for 30 seconds where a damaged head does
# not ask it to close it.
_ANSWER_SECONDS = 45.0
_LIMITS = (
    "--header-seconds", "1", "--request-seconds", "4", "--body-bytes", "8000000", "--bodies-bytes",
    "20000000", "--batch-documents", "1000", "--drain-seconds", str(_DRAIN_SECONDS),
)  # fmt: skip
_CHECKS = (
    "status_code_conformance", "content_type_conformance", "response_schema_conformance",
)  # fmt: skip
_IDLE_CONNECTIONS = 200
_KEPT = 12
# Of one operation of the described ones at a time.
_EXAMPLES = 8


class HostileRequests:
    """Serves stores, and asks in every wrong way.

    Args:
        nursery: Makes the processes of commands.
        folder: Where stores to be copied are made.
    """

    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self._nursery = nursery
        self._store = folder / "served.db"
        self._guarded = folder / "guarded.db"
        self._tokens: dict[str, str] = {}
        if not self._store.exists():
            self._prepare(folder)

    def round(self, chance: Random, folder: Path, size: int) -> Counter[str]:
        """Serve a store, and send so many requests to it; return what was counted."""
        counts: Counter[str] = Counter()
        is_guarded = chance.random() < 0.4
        place = folder / "s.db"
        shutil.copy(self._guarded if is_guarded else self._store, place)
        options = [
            *_LIMITS,
            *chance.choice(((), (), ("--query-processes", "0"), ("--no-writer-process",))),
        ]
        tokens = [None, "wrong", *self._tokens.values()] if is_guarded else [None]
        with serve(place, *options) as served, ExitStack() as held:
            health = Health(served)
            while counts["inputs"] < size:
                kind = chance.random()
                if kind < 0.25 and schemathesis is not None:
                    counts["inputs"] += self._described(chance, served, chance.choice(tokens))
                elif kind < 0.4:
                    self._worst(chance, served, health, chance.choice(tokens))
                    counts["inputs"] += 1
                elif kind < 0.5:
                    counts["inputs"] += self._connections(chance, served, held)
                else:
                    self._broken(chance, served, chance.choice(tokens))
                    counts["inputs"] += 1
                took = health.is_slow()
                if took is not None and (again := health.is_slow()) is not None:
                    raise AssertionError(f"a health check took {took:.1f} s, then {again:.1f} s")
            # It ends though somebody is not done with it.
            self._leave_unfinished(chance, served, held)
            self._end(served)
            errors = [line for line in served.lines if "Traceback" in line]
            if errors:
                said = "\n".join(served.lines)[-6_000:]
                raise AssertionError(f"{said}\nthe server told a traceback")
        self._check_store(folder)
        if schemathesis is None:
            counts[SKIPPED] += 1
        return counts

    def _described(self, chance: Random, served: Served, token: str | None) -> int:
        """Ask as the description says that one may, or may not; return how many requests."""
        from hypothesis import HealthCheck, Phase, given, seed, settings
        from hypothesis.errors import Unsatisfiable

        described = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
        checks = schemathesis.checks.CHECKS.get_by_names(_CHECKS)
        operations = [result.ok() for result in described.get_all_operations()]
        operation = chance.choice([one for one in operations if "backup" not in one.label])
        mode = schemathesis.GenerationMode(chance.choice(("positive", "negative")))
        cases = operation.as_strategy(generation_mode=mode)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        asked = 0

        @seed(chance.getrandbits(32))
        @settings(
            max_examples=_EXAMPLES, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=cases)
        def ask(case: Any) -> None:
            nonlocal asked
            asked += 1
            reply = case.call(headers=headers, timeout=60)
            if reply.status_code not in DOCUMENTED:
                raise AssertionError(
                    f"{operation.label}: {reply.status_code}: {case.as_curl_command()}"
                )
            case.validate_response(reply, checks=checks)

        # The state of Hypothesis's chance is not that of this round's.
        state = random.getstate()
        try:
            # There is nothing that is wrong with a request that has no parameters.
            with suppress(Unsatisfiable):
                ask()
        finally:
            random.setstate(state)
        return max(asked, 1)

    def _worst(self, chance: Random, served: Served, health: Health, token: str | None) -> None:
        """Send one of the worst requests that are known."""
        one = chance.choice(WORST)
        answer = sent(served, with_token(one, token), health)
        judge(one, answer, is_open=token is None and served_openly(answer))

    def _broken(self, chance: Random, served: Served, token: str | None) -> None:
        """Send a request that is damaged somewhere, in pieces perhaps."""
        name, data = chance.choice(list(_requests(chance)))
        data = with_token(Worst(name, (data,)), token).parts[0]
        how = "whole"
        if chance.random() < 0.7:
            head, gap, body = data.partition(b"\r\n\r\n")
            if body and chance.random() < 0.6:
                body, how = damaged(chance, body)
            else:
                head, how = damaged(chance, head)
            data = head + gap + body
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice((0, 0, 1, 4))))
        parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        with connected(served) as made:
            made.settimeout(_ANSWER_SECONDS)
            # The server may have left: a shutdown says so by an error of its own.
            with suppress(OSError):
                for part in parts:
                    made.sendall(part)
                if chance.random() < 0.3:
                    made.shutdown(socket.SHUT_WR)
            if chance.random() < 0.15:
                # It goes without waiting; what was sent may be done or not.
                return
            try:
                answer = received(made)
            except TimeoutError:
                raise AssertionError(
                    f"{name} ({how}): no answer in {_ANSWER_SECONDS:.0f} s to {data[:3_000]!r}"
                ) from None
        status = status_of(answer)
        if status is not None and status not in DOCUMENTED:
            raise AssertionError(
                f"{name} ({how}): {answer[:2_000]!r}\nto {data[:3_000]!r}: {status}"
            )

    def _connections(self, chance: Random, served: Served, held: ExitStack) -> int:
        """Open many connections that say nothing, or not all; some are left open."""
        beginnings = (
            b"", b"G", b"GET /healthz HTTP/1.1\r\n", b"GET /healthz HTTP/1.1\r\n" + HOST + b"x: ",
            request("POST", "/v1/query", b"{", {"Content-Length": "99"}),
        )  # fmt: skip
        count = chance.choice((1, 20, _IDLE_CONNECTIONS))
        with ExitStack() as stack:
            for _ in range(count):
                made = stack.enter_context(connected(served))
                with suppress(ConnectionError):
                    made.sendall(chance.choice(beginnings))
                if chance.random() < 0.1:
                    # Closed without a word of farewell.
                    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            took = Health(served).is_slow()
            if took is not None:
                raise AssertionError(
                    f"with {count} idle connections a health check took {took:.1f} s"
                )
            if chance.random() < 0.2:
                held.enter_context(stack.pop_all())
        return count // 10 + 1

    def _leave_unfinished(self, chance: Random, served: Served, held: ExitStack) -> None:
        """Begin requests that nobody ends."""
        begun: tuple[Callable[[], bytes], ...] = (
            lambda: request("POST", "/v1/documents", b"{", {"Content-Length": "1000"}),
            lambda: request("GET", "/v1/documents", more={"Accept": "application/x-ndjson"}),
            lambda: request("POST", "/v1/query", json.dumps({"text": "a b " * 400_000}).encode()),
            lambda: request(
                "POST", "/v1/compare", json.dumps(
                    {"a": {"text": "a b " * 100_000}, "b": {"text": "b " * 100_000}}
                ).encode(),
            ),
            lambda: b"GET /healthz HTTP/1.1\r\n" + HOST + b"Connection: keep-alive\r\n\r\n",
        )  # fmt: skip
        for make in chance.sample(begun, chance.randrange(len(begun))):
            made = held.enter_context(connected(served))
            made.settimeout(10)
            with suppress(ConnectionError, TimeoutError):
                made.sendall(make())
        time.sleep(chance.choice((0.0, 0.2)))

    def _end(self, served: Served) -> None:
        """End the server by a signal; check that it does."""
        served.process.send_signal(15)
        start = time.monotonic()
        try:
            code = served.process.wait(_DRAIN_SECONDS + _ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"{served.lines[-20:]}\nSIGTERM did not end it in {_DRAIN_SECONDS} s of drain time "
                f"and {_ENDING_SECONDS:.0f} s more"
            ) from None
        if code != 0:
            took = time.monotonic() - start
            raise AssertionError(
                "\n".join(served.lines[-60:])
                + f"\nafter SIGTERM it ended with {code}, {took:.1f} s later"
            )

    def _check_store(self, folder: Path) -> None:
        sound = self._nursery.simstore(folder, "fsck", "--db", "s.db")
        if sound.code != 0:
            raise AssertionError(f"after the server: fsck: {sound.err!r} {sound.out!r}")
        listed = self._nursery.simstore(folder, "export", "--db", "s.db")
        texts = {
            one["key"]: one["text"]
            for one in map(json.loads, listed.out.splitlines())
            if "key" in one
        }
        for key, text in kept().items():
            if texts.get(key) != text:
                raise AssertionError(f"the document {key!r} was {text!r}, is {texts.get(key)!r}")

    def _prepare(self, folder: Path) -> None:
        (folder / "kept.jsonl").write_text(
            "".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in kept().items())
        )
        for words in (
            ["ingest", "--passages", "--on-duplicate", "flag", "kept.jsonl"], ["clusters"],
            ["backup", str(self._guarded)],
        ):  # fmt: skip
            done = self._nursery.simstore(folder, *words, "--db", str(self._store))
            assert done.code == 0, done
        for scope in ("metrics", "read", "write", "admin"):
            added = ["token", "add", scope, "--scope", scope, "--expires", "1d"]
            done = self._nursery.simstore(folder, *added, "--db", str(self._guarded))
            assert done.code == 0, done
            self._tokens[scope] = done.text.split()[0]


def kept() -> dict[str, str]:
    """Return the documents that no hostile request names."""
    chance = Random(11)
    found = {f"kept/{number}?": plain(chance, 40) for number in range(_KEPT)}
    found["a" * 4_000] = plain(chance, 40)
    found["b" * 4_000] = found["a" * 4_000] + " too"
    return found


def with_token(one: Worst, token: str | None) -> Worst:
    """Return a request that has a token."""
    if token is None or HOST not in one.parts[0]:
        return one
    first = one.parts[0].replace(HOST, HOST + b"Authorization: Bearer " + token.encode() + b"\r\n")
    return Worst(
        one.name, (first, *one.parts[1:]), one.statuses, one.must_answer, one.pause, one.waits
    )


def served_openly(answer: bytes | None) -> bool:
    """Whether an answer is none that asks for a token, or says that it is not for this."""
    return answer is None or status_of(answer) not in (401, 403)


def _requests(chance: Random) -> Iterator[tuple[str, bytes]]:
    """Yield requests that are right, of every kind."""

    def posted(path: str, value: Any, more: Mapping[str, str] | None = None) -> tuple[str, bytes]:
        return path, request("POST", path, json.dumps(value).encode(), more)

    key, text = odd(chance)[:200], odd(chance, lines=True)
    lines = "".join(json.dumps({"key": f"{key}{n}", "text": text}) + "\n" for n in range(5))
    yield posted("/v1/documents", {"key": key, "text": text, "metadata": {"n": [1, None]}})
    yield posted("/v1/documents?on_duplicate=skip", {"documents": [{"key": key, "text": text}] * 3})
    yield (
        "lines",
        request("POST", "/v1/documents", lines.encode(), {"Content-Type": "application/x-ndjson"}),
    )
    yield posted("/v1/query", {"text": text, "limit": 3, "options": {}})
    yield posted(
        "/v1/query", {"samples": [{"key": key, "text": text}], "radius": 3, "explain": True}
    )
    yield posted("/v1/seen", {"keys": [key, "kept/1?"]})
    yield posted("/v1/check", {"text": text, "options": {"by": "window", "window": 30}})
    yield posted("/v1/compare", {"a": {"text": text}, "b": {"stored": "kept/1?"}})
    yield posted("/v1/remove", {"keys": [key]})
    for path in (
        "/v1/documents?limit=3", "/v1/documents/kept%2F1%3F?story=1&original=prefer:x",
        "/v1/clusters", "/v1/clusters/of?key=kept%2F1%3F", "/v1/duplicates", "/v1/rejects",
        "/v1/runs", "/v1/stats?sizes=1", "/v1/scheme", "/v1/known-keys?capacity=10", "/metrics",
        "/openapi.json", "/readyz", "/", "/search", "/document?key=kept%2F1%3F", "/overview",
        "/runs", "/rejects", "/login", "/static/page.css", "/report/x", "/report/x/file",
    ):  # fmt: skip
        more = chance.choice(({}, {"Accept": "application/x-ndjson"}, {"Accept": "text/html"}))
        yield path, request("GET", path, more=more)
    form = (
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        + text.encode("utf-8")
        + b"\r\n--b--\r\n"
    )
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    yield "a file", request("POST", "/v1/check", form, kind)
    yield "a file on the page", request("POST", "/check", form, kind)
    yield "a search", request("POST", "/search", form, kind)
    yield "removal", request("DELETE", "/v1/documents/nobody")
