"""What the documents say of running a server for real: its unit, its proxy, its image."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import httpx
import pytest
from served import REPOSITORY, Served, serve

from simstore import Store
from simstore.cli import serve as serve_command

from .processes import until
from .test_readme import blocks_of

pytestmark = pytest.mark.deployment
EXAMPLES = REPOSITORY / "examples" / "serving"
SERVING = REPOSITORY / "docs" / "how-to" / "run-a-server.md"
PATIENCE_SECONDS = 60
HOST = "store.example.org"


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir()))
def test_document_shows_the_file_as_it_is(name: str) -> None:
    shown = [block.code for block in blocks_of(SERVING)]
    assert (EXAMPLES / name).read_text("utf-8") in shown


def test_options_in_the_examples_are_those_of_the_command() -> None:
    unit = (EXAMPLES / "simstore.service").read_text("utf-8")
    words = unit.partition("simstore serve ")[2].splitlines()[0].split()
    assert "--require-tokens" in words
    context = click.Context(serve_command.serve)
    serve_command.serve.parse_args(context, words)
    assert context.params["behind_proxy"] == "127.0.0.1"
    container = (EXAMPLES / "Containerfile").read_text("utf-8")
    extras = re.findall(r"/src\[([a-z,]+)\]", container)[0].split(",")
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(extras) <= set(project["optional-dependencies"])
    assert "USER 10001" in container


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
def test_unit_is_one_that_systemd_takes_and_finds_well_protected(tmp_path: Path) -> None:
    unit = tmp_path / "simstore.service"
    text = (EXAMPLES / unit.name).read_text("utf-8")
    unit.write_text(text.replace("/opt/simstore/bin/simstore", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(unit)],
        capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-300:]


@contextmanager
def nginx(folder: Path, upstream: int) -> Iterator[tuple[int, Path]]:
    """Run nginx with the example's server; yield its port and its certificate."""
    for name in ("body", "proxy", "fastcgi", "uwsgi", "scgi"):
        (folder / name).mkdir()
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
            *("-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True, capture_output=True, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = (EXAMPLES / "nginx.conf").read_text("utf-8")
    for given, here in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/certs/store.example.org.pem", str(certificate)),
        ("/etc/ssl/private/store.example.org.key", str(key)),
        ("http://127.0.0.1:8765", f"http://127.0.0.1:{upstream}"),
    ):
        assert text.count(given) == 1, given
        text = text.replace(given, here)
    temporary = "".join(
        f"{name}_temp_path {folder / part};\n"
        for name, part in (
            ("client_body", "body"), ("proxy", "proxy"), ("fastcgi", "fastcgi"),
            ("uwsgi", "uwsgi"), ("scgi", "scgi"),
        )
    )  # fmt: skip
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"daemon off;\nmaster_process off;\npid {folder / 'pid'};\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{text}}}\n"
    )
    process = subprocess.Popen(
        ["nginx", "-p", str(folder), "-c", str(configuration), "-e", "stderr"],
        stderr=subprocess.PIPE,
    )
    try:
        until(lambda: process.poll() is not None or _listens(port), "nginx to listen")
        assert process.poll() is None, process.communicate()[1]
        yield port, certificate
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


def _listens(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def client_of(port: int, certificate: Path) -> httpx.Client:
    """Return a client that takes the name of the example for this machine."""
    return httpx.Client(
        base_url=f"https://127.0.0.1:{port}",
        verify=ssl.create_default_context(cafile=str(certificate)),
        headers={"Host": HOST},
        timeout=PATIENCE_SECONDS,
    )


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[tuple[Served, httpx.Client, str]]:
    """A server behind nginx, a client of nginx, and a token."""
    path = tmp_path / "store.db"
    with Store.create(path) as store:
        secret = store.tokens.add("one", "admin")
    folder = tmp_path / "nginx"
    folder.mkdir()
    with (
        serve(path, "--require-tokens", "--behind-proxy", "127.0.0.1", fresh=True) as served,
        nginx(folder, served.port) as (port, certificate),
        client_of(port, certificate) as client,
    ):
        yield served, client, secret


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("nginx") and shutil.which("openssl")), reason="no nginx, or no openssl"
)
def test_server_behind_a_proxy_with_tls_does_all_it_does_without(
    proxied: tuple[Served, httpx.Client, str],
) -> None:
    served, client, secret = proxied

    def ask(method: str, path: str, **options: object) -> httpx.Response:
        headers = {"Authorization": f"Bearer {secret}", **options.pop("headers", {})}  # type: ignore[dict-item]
        extensions = {"sni_hostname": HOST}
        return client.request(method, path, headers=headers, extensions=extensions, **options)  # type: ignore[arg-type]

    document = {"key": "https://a.example/é b?c=d", "text": "The ferry leaves at noon."}
    assert ask("POST", "/v1/documents", json=document).status_code == 200
    lines = "".join(
        f'{{"key": "{n}", "text": "The ferry leaves at noon, it is number {n}."}}\n'
        for n in range(2_500)
    )
    reply = ask(
        "POST", "/v1/documents", content=lines, headers={"Content-Type": "application/x-ndjson"}
    )
    assert reply.status_code == 200
    assert len(reply.text.splitlines()) == 2_500 + 1, "a line each, and the counts"
    found = ask("POST", "/v1/query", json={"text": document["text"]}).json()
    assert document["key"] in {match["key"] for match in found["samples"][0]["matches"]}
    assert ask("GET", "/v1/documents/https%3A%2F%2Fa.example%2F%C3%A9%20b%3Fc%3Dd").is_success
    assert ask("POST", "/v1/backup").content.startswith(b"SQLite format 3\0")
    reply = ask("GET", "/healthz")
    assert reply.headers["strict-transport-security"] == "max-age=31536000"
    extensions = {"sni_hostname": HOST}
    assert client.get("/v1/documents", extensions=extensions).status_code == 401
    # Wrong tokens are counted by who really sends them, whatever they say of themselves.
    statuses = [
        client.get(
            "/v1/documents",
            headers={"Authorization": "Bearer sst_wrong", "X-Forwarded-For": f"192.0.2.{n}"},
            extensions=extensions,
        ).status_code
        for n in range(12)
    ]
    assert statuses == [401] * 10 + [429] * 2
    signed = client.post(
        "/login",
        data={"token": secret},
        headers={"Origin": f"https://{HOST}"},
        extensions=extensions,
    )
    assert signed.status_code in (200, 303)
    cookie = signed.headers["set-cookie"]
    assert cookie.startswith("__Host-simstore_session=")
    for attribute in ("Secure", "HttpOnly", "SameSite=strict"):
        assert attribute in cookie
    assert served.stop() == 0
