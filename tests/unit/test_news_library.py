"""examples/news_library.py: its library and thesis are what its truth says."""

from __future__ import annotations

import importlib.util
import json
import random
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "news_library.py"
SYLLABLES = (
    "江口铁桥周一停用工程师更换中间墩支座潜水员去年秋天检查发现下面圈磨损均匀渡船旧海关每分钟班"
)


@pytest.fixture(scope="module")
def news() -> ModuleType:
    if not SCRIPT.exists():
        pytest.skip("only a checkout or a source archive has examples/")
    spec = importlib.util.spec_from_file_location("news_library", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Paragraphs of invented sentences with a tag behind each word, as the package has them."""
    chance = random.Random(3)
    lines = []
    for _ in range(900):
        words = ["".join(chance.choices(SYLLABLES, k=2)) for _ in range(12 * 3)]
        for end in (11, 23, 35):
            words[end] += "/n  。"
        lines.append("  ".join(f"{word}/v" for word in words))
    lines += ["标题/n  没有/v  句号/n", lines[0], ""]
    path = tmp_path_factory.mktemp("news") / "source.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def made(news: ModuleType, source: Path, folder: Path, count: int, seed: int = 7) -> Path:
    lines = source.read_text(encoding="utf-8").splitlines()
    news.make(folder, news.paragraphs(lines), count, 4, seed)
    return folder


def records(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_truth_names_the_characters_that_were_copied_and_who_has_them(
    news: ModuleType, source: Path, tmp_path: Path
) -> None:
    count = 300
    made(news, source, tmp_path, count)
    texts = {str(one["key"]): str(one["text"]) for one in records(tmp_path / "library.jsonl")}
    thesis = (tmp_path / "thesis.txt").read_text(encoding="utf-8")
    truth = records(tmp_path / "truth.jsonl")
    assert len(texts) == count
    assert Counter(one["kind"] for one in truth) == dict.fromkeys(news.KINDS, 4)
    last = 0
    for copy in truth:
        start, end, sources = copy["start"], copy["end"], copy["sources"]
        assert isinstance(start, int)
        assert isinstance(end, int)
        assert isinstance(sources, list)
        assert last < start < end <= len(thesis)
        last = end
        taken = texts[sources[0]][copy["source_start"] : copy["source_end"]]  # type: ignore[misc]
        holders = {key for key, text in texts.items() if taken in text}
        assert holders == set(sources)
        assert (thesis[start:end] == taken) == (copy["kind"] != "edited")
        if copy["kind"] != "agency":
            assert len(sources) == 1


def test_judge_tells_what_was_missed_and_what_was_not_copied(
    news: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth, found = tmp_path / "truth.jsonl", tmp_path / "found.jsonl"
    of = {"source_start": 0, "source_end": 10}
    places = [
        {"start": 0, "end": 10, "kind": "verbatim", "sources": ["a"], **of},
        {"start": 20, "end": 40, "kind": "edited", "sources": ["b"], **of},
        {"start": 50, "end": 60, "kind": "agency", "sources": ["c", "d"], **of},
    ]
    truth.write_text("\n".join(map(json.dumps, places)), encoding="utf-8")
    copies = [
        {"start": 0, "end": 10, "source": "x"},
        {"start": 20, "end": 30, "source": "b"},
        {"start": 70, "end": 80, "source": "b"},
    ]
    paper = {"copies": copies, "sources": [{"key": "b"}, {"key": "x"}]}
    found.write_text(json.dumps(paper), encoding="utf-8")
    news.judge(truth, found)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "verbatim       1      1            100.0%             0",
        "edited         1      1             50.0%             1",
        "agency         1      0              0.0%             0",
        "30 characters reported, 33.3% of them not copied",
        "2 sources named",
    ]
