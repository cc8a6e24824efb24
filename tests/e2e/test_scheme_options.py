"""Each option of a scheme, from the command line to an answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forked import Finished, Nursery

PAIRS = {
    "scripts": ("圖書館裡的鐘停了，沒有人發現。", "图书馆里的钟停了，没有人发现。"),
    "words": ("用滑鼠打開軟體的資料夾", "用鼠标打开软件的文件夹"),
    "accents": ("Le café à Noël était fermé", "le cafe a noel etait ferme"),
    "case": ("THE BOATS CAME IN", "the boats came in"),
    "width": ("Ｔｈｅ ｂｏａｔｓ ｃａｍｅ ｉｎ", "the boats came in"),
    "forms": ("the boats were running home", "the boat were run homes"),
    "small words": ("der Hafen und die Boote", "Hafen Boote"),
    "order": ("the boats came in with the tide", "the tide came in with the boats"),
    "runs": ("研究 生命 起源", "研究生命起源"),
    "count": ("tide tide tide tide harbour boats", "tide harbour boats"),
}


class Shell:
    """A folder with the pairs as records, and the command line in it."""

    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self._nursery, self._folder = nursery, folder
        for name, (first, second) in PAIRS.items():
            self.write(f"{name}.jsonl", {"id": "stored", "text": first})
            self.write(f"{name}-asked.jsonl", {"id": "asked", "text": second})

    def write(self, name: str, *records: dict[str, object]) -> None:
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (self._folder / name).write_text(lines, "utf-8")

    def __call__(self, *words: str, code: int = 0) -> Finished:
        done = self._nursery.simstore(self._folder, *words)
        assert done.code == code, (done.code, done.errors)
        return done

    def distance(self, store: str, name: str) -> int:
        """Return the distance of the pair's second text from its stored first one."""
        done = self("query", "--db", store, "-k", "64", "--min-features", "0", "--format", "jsonl",
                    f"{name}-asked.jsonl")  # fmt: skip
        (line,) = done.text.splitlines()
        (match,) = json.loads(line)["matches"]
        assert match["key"] == "stored"
        return int(match["distance"])


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    return Shell(nursery, tmp_path)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("scripts", ["--fold-han"]),
        ("words", ["--fold-han-words"]),
        ("accents", ["--strip-accents"]),
        ("forms", ["--stem", "english"]),
        ("small words", ["--stopwords", "builtin:de"]),
        ("count", ["--weights", "uniform"]),
    ],
)
def test_option_makes_two_texts_one(shell: Shell, name: str, options: list[str]) -> None:
    # The scripts of Chinese meet unless they are to differ.
    shell("init", "--db", "plain.db", *(["--keep-han"] if "han" in options[0] else []))
    shell("ingest", "--db", "plain.db", f"{name}.jsonl")
    shell("init", "--db", "chosen.db", *options)
    shell("ingest", "--db", "chosen.db", f"{name}.jsonl")
    assert shell.distance("plain.db", name) > 0
    assert shell.distance("chosen.db", name) == 0
    shell("reindex", "--db", "plain.db", *options)
    assert shell.distance("plain.db", name) == 0
    assert shell("fsck", "--db", "plain.db").text == "sound\n"


@pytest.mark.parametrize(
    ("name", "options"),
    [("width", ["--keep-case", "--keep-width"]), ("order", ["--shingle", "3"])],
)
def test_option_parts_two_texts(shell: Shell, name: str, options: list[str]) -> None:
    shell("ingest", "--db", "plain.db", f"{name}.jsonl")
    assert shell.distance("plain.db", name) == 0
    # The first ingest chooses as init does.
    shell("ingest", "--db", "chosen.db", *options, f"{name}.jsonl")
    assert shell.distance("chosen.db", name) > 0
    assert shell("fsck", "--db", "chosen.db").text == "sound\n"


def test_store_with_any_choice_finds_what_it_holds(shell: Shell) -> None:
    for options in (
        ["--feature-hash", "blake2b"],
        ["--feature-hash", "hanzi", "--segmenter", "chars"],
        ["--segmenter", "min-cut"],
        ["--weights", "tf-idf", "--tie", "one"],
    ):
        place = ("--db", f"{'-'.join(options)}.db")
        shell("init", *place, *options)
        shell("ingest", *place, "order.jsonl")
        (line,) = shell("query", *place, "--format", "jsonl", "order.jsonl").text.splitlines()
        assert [(m["key"], m["distance"]) for m in json.loads(line)["matches"]] == [("stored", 0)]
        assert shell("fsck", *place).text == "sound\n"


def test_field_is_part_of_the_fingerprint(shell: Shell) -> None:
    text = "the boats came in"
    shell.write("pages.jsonl", {"id": "en", "text": text, "lang": "en"},
                {"id": "fr", "text": text, "lang": "fr"}, {"id": "none", "text": text})  # fmt: skip
    shell.write("asked.jsonl", {"id": "asked", "text": text, "lang": "fr"})
    shell("init", "--field", "lang:enum:en,fr,zh:9", "--field", "kind:enum:news,blog:1")
    shell("ingest", "pages.jsonl")
    (line,) = shell("query", "--format", "jsonl", "asked.jsonl").text.splitlines()
    near = {m["key"]: m["distance"] for m in json.loads(line)["matches"]}
    assert near["fr"] == 0
    assert near.get("en", 64) > 3
    assert "lang=fr" in shell("vocabulary", "show").text


def test_weights_by_frequency_follow_the_store(shell: Shell) -> None:
    shell("init", "--weights", "tf-idf")
    shell("ingest", "order.jsonl")
    before = shell("list", "--format", "jsonl").text
    shell("ingest", "--no-refresh", "count.jsonl")
    status = json.loads(shell("vocabulary", "status", "--format", "json").text)
    assert not status["fresh"]
    assert status["entering_terms"] == 1
    asked = shell("query", "--format", "jsonl", "order.jsonl")
    assert "the vocabulary has changed" in asked.errors
    shell("vocabulary", "refresh")
    assert json.loads(shell("vocabulary", "status", "--format", "json").text)["fresh"]
    assert shell("list", "--format", "jsonl").text != before
    assert shell("fsck").text == "sound\n"


def test_option_that_does_not_fit_is_one_line_and_makes_no_store(
    shell: Shell, tmp_path: Path
) -> None:
    for options, message in (
        (["--scheme", "simtool", "--fold-han"], "--fold-han is an option of the scheme web"),
        (["--stem", "klingon"], "choose none or one of arabic"),
        (["--field", "lang"], "write it as NAME:enum:VALUE,VALUE,...:WEIGHT"),
        (["--units", "characters", "--segmenter", "jieba"], "needs the units words"),
        (["--weights", "idf", "--no-vocabulary"], "leave out --no-vocabulary"),
    ):
        done = shell("init", *options, code=2)
        assert message in done.errors
        assert len(done.error_lines) == 1
        assert not (tmp_path / "simstore.db").exists()


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--scheme", "simtool", "-N", "3", "-M", "4", "--hash-table", "rows", "--stopwords", "w"],
        ["--units", "characters", "--shingle", "3", "--field", "lang:enum:en,fr:3"],
        ["--passages", "--passage-simhash"],
    ],
    ids=["plain", "simtool", "fields", "passages"],
)
def test_ingest_killed_when_it_has_made_the_store_is_finished_by_the_same_command(
    nursery: Nursery, shell: Shell, tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "rows").write_text("0101\n1100\n1111\n")
    (tmp_path / "w").write_text("and\n")
    words = ["ingest", "--db", "s.db", *options, "case.jsonl"]
    assert nursery.run("simstore_killed_when_it_has_made_a_store", tmp_path, words=words).code == -9
    assert (tmp_path / "s.db").exists()
    assert shell(*words).text.startswith("1 added")
    # And once more, whole as it is.
    assert shell(*words).text.startswith("0 added, 0 updated, 1 unchanged")
    assert shell("fsck", "--db", "s.db").text == "sound\n"


def test_options_that_a_store_has_not_are_refused_and_named(shell: Shell) -> None:
    shell("ingest", "--db", "s.db", "--bits", "100", "case.jsonl")
    for options, said in (
        (["--bits", "64", "--stem", "german"], "--bits is 100, --stem is none"),
        (["--scheme", "simtool"], "--scheme is web"),
        (["--no-text"], "it keeps texts (no --no-text)"),
    ):
        done = shell("ingest", "--db", "s.db", *options, "case.jsonl", code=2)
        assert done.errors == (
            f"Error: s.db exists and has other options: {said}; leave them out, change them by "
            "`simstore reindex`, or make another store by `simstore init --db NEW`\n"
        )


@pytest.mark.slow
def test_store_does_with_duplicates_what_init_was_told(shell: Shell) -> None:
    text = "the boats came in with the tide and the harbour was quiet before the rain"
    turned = " ".join(reversed(text.split()))
    shell.write("a.jsonl", {"id": "a", "text": text})
    shell.write("b.jsonl", {"id": "b", "text": turned}, {"id": "c", "text": text + " again"})
    assert "--on-duplicate" in shell("init", "--radius", "3", code=2).errors
    shell("init", "--on-duplicate", "skip", "--radius", "3")
    shell("ingest", "a.jsonl")
    assert ", 1 skipped, " in shell("ingest", "b.jsonl").text
    facts = json.loads(shell("stats", "--format", "json").text)
    assert (facts["on_duplicate"], facts["duplicate_radius"]) == ("skip", 3)
    assert "skip" in shell("stats").text
    assert shell("ingest", "--on-duplicate", "keep", "b.jsonl").text.startswith("1 added")
    assert shell("fsck").text == "sound\n"
