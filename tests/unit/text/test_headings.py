from simstore.text.headings import chapters

BODY = (
    "The water rises twice a day, and nobody in the harbour has ever seen it wait for a boat. " * 2
)
HAN = "小镇的清晨从河边的茶馆开始，老人们带着鸟笼慢慢走来，下雨时桥上的石板像一面镜子。" * 3


def titles(text):
    return [one.title for one in chapters(text)]


def test_marked_numbered_and_named_lines_are_headings():
    for headings in (
        ["# Tides", "# Boats", "# Gulls"],
        ["1 Tides", "2 Boats", "3 Gulls"],
        ["1. Introduction", "2. Method", "3. Results"],
        ["Chapter 1", "Chapter 2. Boats", "CHAPTER III"],
        ["I. The Tide", "II. The Boats"],
        ["Introduction", "Methods", "References"],
        ["ABOUT THE TIDE", "ABOUT THE BOATS"],
        ["第一章 潮水", "第二章 渔船", "第10章 结论"],
        ["一、潮水", "二、渔船"],
        ["摘要", "1 引言", "2 方法", "参考文献"],
    ):
        body = HAN if any("\u4e00" <= sign <= "\u9fff" for sign in headings[0]) else BODY
        text = "\n\n".join(part for heading in headings for part in (heading, body))
        found = chapters(text)
        assert [one.title for one in found] == [
            heading.removeprefix("# ") for heading in headings
        ], headings
        assert found[0].start == 0, headings
        assert [one.end for one in found[:-1]] == [one.start for one in found[1:]], headings
        assert found[-1].end == len(text), headings


def test_what_stands_before_the_first_heading_is_a_part_without_a_title():
    assert titles(f"{BODY}\n\n1 Tides\n\n{BODY}\n\n2 Boats\n\n{BODY}") == ["", "1 Tides", "2 Boats"]


def test_the_highest_level_of_several_headings_counts():
    text = f"1 Tides\n\n1.1 High\n\n{BODY}\n\n1.2 Low\n\n{BODY}\n\n2 Boats\n\n{BODY}"
    assert titles(text) == ["1 Tides", "2 Boats"]
    # One title above all is no level.
    assert titles(f"# All\n## A\n{BODY}\n## B\n{BODY}") == ["", "A", "B"]


def test_a_table_of_contents_is_no_chapter():
    lines = "1 Tides\n\n2 Boats\n\n3 Gulls\n\n"
    parts = "".join(f"{number} {name}\n\n{BODY}\n\n" for number, name in ((1, "A"), (2, "B")))
    assert titles(lines + parts) == ["", "1 A", "2 B"]


def test_texts_without_headings_have_no_chapters():
    for text in (
        "",
        BODY,
        f"Only One\n\n{BODY}",
        f"{BODY}\n\n1 Tides\n\n{BODY}",
        "\n\n".join([f"3 Boats came in today and nobody paid for them, {BODY}"] * 4),
        "\n\n".join(["“MY DEAR FRIEND,--", BODY] * 3),
        # Lines that are wrapped within a paragraph.
        "\n\n".join([f"It was said in\nChapter 3\nof the book. {BODY}"] * 3),
        "\n".join(["- a point", "- another point"] * 20),
    ):
        assert chapters(text) == [], text


def test_lines_are_paragraphs_where_there_are_no_blank_lines():
    assert titles(f"第一章 潮水\n{HAN}\n第二章 渔船\n{HAN}") == ["第一章 潮水", "第二章 渔船"]


def test_a_text_of_headings_alone_is_looked_through_once():
    """Each heading is looked at with the line above it, not with the whole text."""
    text = "1 A\n\n" * 100_000
    assert chapters(text) == []
