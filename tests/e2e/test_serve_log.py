"""The log of a server: each request is a line, and what was sent is in none of them."""

from __future__ import annotations

import json
import re
import socket
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from forked import Nursery
from served import Served, serve

from simstore import Store

from .processes import until
from .service.asked import TEXT, add

_LINE = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (?P<level>[A-Z]+) (?P<client>\S+) "
    r"(?P<token>\S+) (?P<method>\S+) (?P<path>\S+) (?P<status>\d{3}) [0-9.]+ms "
    r"(?P<request_id>[0-9a-f]{16})(?: (?P<error>\w+)(?:: (?P<reason>.+))?)?"
)


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def logged(served: Served, reply: httpx.Response) -> dict[str, Any]:
    """Return the fields of the line of a request; it is written when the reply has been sent."""
    number = reply.headers["x-request-id"]

    def found() -> list[str]:
        return [line for line in served.lines if number in line]

    (line,) = until(found, "the line of the request")
    if line.startswith("{"):
        told: dict[str, Any] = json.loads(line)
        return told
    fields = _LINE.fullmatch(line)
    assert fields is not None, line
    return fields.groupdict()


def test_each_request_is_a_line_with_who_what_and_how_it_ended(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        secret = store.tokens.add("crawler-1", "write")
    with serve(tmp_path / "s.db") as served, httpx.Client(base_url=served.url) as ask:
        ask.headers = bearer(secret)  # type: ignore[assignment]
        body = {"key": "a page", "text": TEXT}
        line = logged(served, ask.post("/v1/documents?on_duplicate=flag", json=body))
        assert line.pop("time")
        assert line.pop("request_id")
        assert line == {
            "level": "INFO", "client": "127.0.0.1", "token": "crawler-1", "method": "POST",
            "path": "/v1/documents", "status": "200", "error": None, "reason": None,
        }  # fmt: skip
        line = logged(served, ask.get("/v1/documents/a%20page"))
        assert (line["path"], line["status"]) == ("/v1/documents/a%20page", "200")
        line = logged(served, ask.get("/v1/documents/an%0Aother"))
        assert (line["path"], line["error"]) == ("/v1/documents/an%0Aother", "DocumentNotFound")
        # Its message quotes the request.
        assert line["reason"] is None
        assert served.stop() == 0
        until(lambda: "INFO stopped; " in served.lines[-1], "the last line to be read")
    begins = [line.split(" ", 2)[2] for line in (served.lines[0], *served.lines[-2:])]
    assert begins[0].startswith("serving ")
    assert begins[1:] == [
        "SIGTERM: no new requests; what was taken is written",
        "stopped; what was acknowledged is stored",
    ]
    assert "simstore " in begins[0]


def test_refused_requests_say_why_and_never_the_token(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        reader = store.tokens.add("reader-1", "read")
        fast = store.tokens.add("fast", "read")
    with (
        serve(tmp_path / "s.db", "--rate", "0.01") as served,
        httpx.Client(base_url=served.url) as ask,
    ):
        line = logged(served, ask.get("/v1/stats"))
        assert (line["level"], line["status"], line["token"]) == ("WARNING", "401", "-")
        assert line["error"] == "Unauthorized"
        assert line["reason"].startswith("this needs a token")
        wrong = "sst_" + "x" * 43
        line = logged(served, ask.get("/v1/stats", headers=bearer(wrong)))
        assert (line["status"], line["token"]) == ("401", "-")
        assert line["reason"].startswith("the token is not known")
        line = logged(served, ask.post("/v1/documents", headers=bearer(reader), json={"key": "a"}))
        assert (line["status"], line["token"], line["error"]) == ("403", "reader-1", "Forbidden")
        assert "scope" in line["reason"]
        assert ask.get("/v1/stats", headers=bearer(fast)).status_code == 200
        line = logged(served, ask.get("/v1/stats", headers=bearer(fast)))
        assert (line["level"], line["status"], line["token"]) == ("WARNING", "429", "fast")
        assert line["reason"].startswith("too many requests; try again in ")
        for _ in range(10):
            reply = ask.get("/v1/stats", headers=bearer(wrong))
        assert logged(served, reply)["reason"].startswith("too many wrong tokens")
        told = ask.post("/login", data={"token": wrong}, headers={"Origin": served.url})
        assert logged(served, told)["error"] in ("Unauthorized", "RateLimited")
        figures = ask.get("/metrics").status_code
        assert figures == 401
    text = "\n".join(served.lines)
    assert not any(one in text for one in (wrong, reader, fast, "sst_x"))


def test_refused_requests_are_counted_by_why(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        reader = store.tokens.add("reader", "read")
    with serve(tmp_path / "s.db") as served, httpx.Client(base_url=served.url) as ask:
        ask.get("/v1/stats")
        ask.get("/v1/stats", headers=bearer("wrong"))
        ask.delete("/v1/documents/a", headers=bearer(reader))
        with socket.create_connection(("127.0.0.1", served.port)) as made:
            made.sendall(b"no request\r\n\r\n")
            assert b" 400 " in made.recv(4_096)
        figures = ask.get("/metrics", headers=bearer(reader)).text
    for error, count in (("Unauthorized", 2), ("Forbidden", 1), ("ProtocolError", 1)):
        assert f'simstore_http_errors_total{{error="{error}"}} {count}\n' in figures
    # No request that could be read, and a line all the same.
    assert any(re.search(r"WARNING|INFO 127\.0\.0\.1 - - - 400 ", line) for line in served.lines)


def test_what_was_sent_is_in_no_line(tmp_path: Path) -> None:
    word = "Zyzzyva"
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
    with (
        serve(tmp_path / "s.db", "-v", "--log-json") as served,
        httpx.Client(base_url=served.url, timeout=60) as ask,
    ):
        line = logged(served, ask.get("/v1/stats?sizes=1"))
        assert datetime.fromisoformat(line.pop("time")).utcoffset() is not None
        assert line.pop("seconds") > 0
        assert line.pop("request_id")
        assert line == {
            "level": "info", "message": "request", "client": "127.0.0.1", "token": None,
            "method": "GET", "path": "/v1/stats", "status": 200,
        }  # fmt: skip
        text = f"{TEXT} {word}"
        add(ask, ("a", text))
        ask.post("/v1/query", json={"text": text})
        ask.post("/v1/query", json={"text": text, "nothing": word})
        ask.post("/v1/query", content=f'{{"text": "{word}')
        ask.post("/v1/documents", json={"key": "b", "text": text, word: 1})
        ask.get("/search", params={"q": word, word: word})
        ask.get("/v1/documents", params={word: word})
        ask.post("/v1/check", files={"file": (f"{word}.txt", text.encode())})
        reply = ask.post(
            "/check", data={"text": text}, headers={"Origin": served.url}, follow_redirects=True
        )
        report = reply.url.path
        assert report.startswith("/report/"), reply.text
        assert logged(served, reply)["path"] == "/report/..."
        assert served.stop() == 0
    assert all(json.loads(one)["level"] for one in served.lines)
    log = "\n".join(served.lines)
    assert word not in log
    assert report not in log


@pytest.mark.parametrize("proxy", ["127.0.0.1", "192.0.2.1"])
def test_address_behind_a_proxy_is_believed_of_that_proxy_alone(tmp_path: Path, proxy: str) -> None:
    with (
        serve(tmp_path / "s.db", "--behind-proxy", proxy) as served,
        httpx.Client(base_url=served.url) as ask,
    ):
        reply = ask.get("/healthz", headers={"X-Forwarded-For": "198.51.100.7"})
        trusted = proxy == "127.0.0.1"
        assert logged(served, reply)["client"] == ("198.51.100.7" if trusted else "127.0.0.1")
        reply = ask.get("/healthz", headers={"X-Forwarded-For": "a\x01b c"})
        assert logged(served, reply)["client"].isprintable()


def test_a_server_that_does_not_start_says_so_in_its_log(tmp_path: Path, nursery: Nursery) -> None:
    done = nursery.simstore(tmp_path, "serve", "--db", "none.db")
    assert done.code == 3
    assert re.fullmatch(r"\S+Z ERROR no store at none\.db.*", done.errors.rstrip())
    done = nursery.simstore(tmp_path, "serve", "--db", "none.db", "--log-json")
    told = json.loads(done.errors)
    assert (told["level"], told["exit_code"]) == ("error", 3)
    assert "no store at" in told["message"]
