import hypothesis
from hypothesis import strategies as st

from simstore.text.quotations import bibliography, in_marks, quotations


def quoted(text):
    return [text[start:end] for start, end in quotations(text)]


def test_quotation_marks_of_many_languages():
    for text in (
        "“so he said”",
        "「他说」",
        "『他说』",
        "«dit-il»",
        "„sagte er“",
        "»sagte er«",
        '"so he said"',
    ):
        assert quoted(f"before, {text}, behind") == [text], text


def test_what_is_no_quotation():
    for text in (
        "it's his, isn't it's",
        "《红楼梦》",
        'a 5" disk and a 3" one',
        "“never closed",
        "rock 'n' roll",
    ):
        assert quoted(text) == [], text


def test_a_quotation_does_not_cross_an_empty_line():
    assert quoted("“one\n\ntwo”") == []
    assert quoted("“one\ntwo”") == ["“one\ntwo”"]


@hypothesis.given(
    st.text(st.sampled_from('aé字 \t\n“”„«»「」『』＂".'), max_size=40),
    st.sampled_from(["", "word " * 1_000, "x" * 9_000, "\n \n"]),
)
@hypothesis.example("“a «b 「c 『d ＂e", "")
@hypothesis.example("“It is said.” By him.", "")
def test_what_is_put_in_marks_is_a_quotation(start, more):
    text = in_marks(start + more + start)
    outside = text
    for begin, end in reversed(quotations(text)):
        outside = outside[:begin] + outside[end:]
    assert not outside.strip()
    assert [one for one in text if one.isalpha()] == [one for one in start + more + start
                                                      if one.isalpha()]  # fmt: skip


def test_what_stands_in_marks_gets_no_others():
    assert in_marks("“It is said.”") == "“It is said.”"
    assert in_marks(" It is said.\n") == " “It is said.”\n"
    assert in_marks("“It” is said.") == "«“It” is said.»"
    assert in_marks(" \n") == " \n"


def test_several_quotations():
    assert quoted('“a” b "c d" e「f」') == ["“a”", '"c d"', "「f」"]


def test_headings_of_a_bibliography():
    for heading in (
        "References",
        "REFERENCES:",
        "## References",
        "7. Bibliography",
        "参考文献",
        "参 考 文 献：",
        "五、参考文献",
        "Works Cited",
        "VI. References",
    ):
        text = f"As the references say.\n{heading}\n[1] A book.\n"
        found = bibliography(text)
        assert text[found[0] : found[1]].strip() == f"{heading}\n[1] A book.", heading


def test_the_last_heading_counts():
    text = "References\nare below\nReferences\n[1]"
    assert bibliography(text) == (text.rindex("References"), len(text))


def test_an_appendix_ends_the_bibliography():
    text = "text\n参考文献\n[1] 书\n附录 A\n表"
    start, end = bibliography(text)
    assert text[start:end] == "参考文献\n[1] 书\n"


def test_many_empty_lines_are_read_once():
    assert bibliography("\n" * 200_000 + "References\n[1]") == (200_000, 200_014)


def test_blanks_behind_a_heading_are_read_once():
    text = "references" + " " * 20_000
    assert bibliography(text + "of a text") is None
    assert bibliography(text + "\n[1] A book") == (0, len(text) + 11)


def test_a_text_without_a_bibliography():
    assert bibliography("The references are good.\nNo heading.") is None
    assert bibliography("") is None
