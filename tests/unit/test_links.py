"""Links between the documents of the repository lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")

pytestmark = pytest.mark.skipif(
    not (REPOSITORY / "CONTRIBUTING.md").exists(), reason="the documents are not beside the tests"
)


def prose(path: Path) -> str:
    """Return a document without its fenced blocks and code."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", lambda code: "" if "](" in code[0] else code[0], text)


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-") for one in plain}


def test_each_link_leads_to_a_file_and_a_heading_of_it() -> None:
    broken = []
    known: dict[Path, set[str]] = {}
    for path in DOCUMENTS:
        for link in LINK.findall(prose(path)):
            if "://" in link or link.startswith("mailto:"):
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if anchor and target.exists() and target not in known:
                known[target] = anchors(target)
            if not target.exists() or (anchor and anchor not in known[target]):
                broken.append((str(path.relative_to(REPOSITORY)), link))
    assert broken == []


def test_each_page_is_in_the_navigation_of_the_site() -> None:
    shown = set(
        re.findall(r"([\w-]+(?:/[\w.-]+)?\.md)$", (REPOSITORY / "mkdocs.yml").read_text(), re.M)
    )
    there = {str(path.relative_to(REPOSITORY / "docs")) for path in REPOSITORY.glob("docs/**/*.md")}
    assert shown == there, "list each page of docs/ under `nav` in mkdocs.yml"
