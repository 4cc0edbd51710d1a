"""A page of HTML is read as its reader sees it: what names a part names it, and a line is one block."""

import pytest

from quire.memory.documents import Document, read_document


def read(page: str) -> Document:
    return read_document(page, name="a.html")


def told(page: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in read(page).blocks]


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("<h2><button>How do I pay?</button></h2><div>By card.</div>", ("heading", "How do I pay?")),
        (
            "<h3 class=a><span><button>How do I pay?</button></span></h3>By card.",
            ("heading", "How do I pay?"),
        ),
        ("<h2>How<button>do I pay?</button></h2><p>By card.</p>", ("heading", "How do I pay?")),
        (
            "<details><summary><button>How do I pay?</button></summary>By card.</details>",
            ("paragraph", "How do I pay?"),
        ),
    ],
)
def test_a_button_that_shows_what_it_names_is_read(page: str, name: tuple[str, str]) -> None:
    assert told(page) == [name, ("paragraph", "By card.")]


def test_a_button_is_read_in_no_other_place() -> None:
    assert told("<dl><dt><button>Term</button><dd>Means <button>Copy</button></dl><button>Save</button>") == [
        ("item", "Term"),
        ("item", "Means"),
    ]
    assert told("<h2 hidden><button>No</button></h2><h2>Yes</h2><button>No</button>") == [("heading", "Yes")]
    assert told("<h2>One</h2><p>Two <button><div>No</button> three") == [
        ("heading", "One"),
        ("paragraph", "Two"),
        ("paragraph", "three"),
    ]


@pytest.mark.parametrize(
    "empty",
    [
        "<h1><img src=logo.svg></h1>",
        "<h2 id=x></h2>",
        "<h2><a class=headerlink>¶</a></h2>",
        "<ul><li></li></ul>",
        "<ol><li></ol>",
        "<dl><dt></dt><dd></dl>",
        "<pre></pre>",
    ],
)
def test_what_says_nothing_gives_its_kind_to_nobody(empty: str) -> None:
    assert told(f"{empty}<p>Words.</p>") == [("paragraph", "Words.")]


def test_an_empty_list_takes_no_number_from_the_item_it_is_in() -> None:
    assert told("<ol><li><ul></ul>one<li><ul><li></ul>two</ol>") == [("item", "1. one"), ("paragraph", "two")]


@pytest.mark.parametrize("mark", ["<br>", "<br/>", "<br />", "<BR clear=all />", "</br>"])
def test_a_line_break_ends_a_line_and_no_block(mark: str) -> None:
    assert told(
        f"<h1>Annual{mark}Report</h1><p>One{mark}two</p><ol><li>a{mark}b</ol><pre>x{mark}y</pre>"
    ) == [
        ("heading", "Annual Report"),
        ("paragraph", "One\ntwo"),
        ("item", "1. a\nb"),
        ("code", "x\ny"),
    ]
    assert told(f"<table><tr><td>a{mark}b<td>c</table>") == [("row", "a b | c")]


@pytest.mark.parametrize("tag", ["acronym", "big", "nobr", "output", "picture", "ruby", "rt", "meter"])
def test_what_stands_in_a_line_does_not_cut_it(tag: str) -> None:
    assert told(f"<p>One <{tag}>tw</{tag}>o, three.</p>") == [("paragraph", "One two, three.")]


def test_a_picture_of_several_sources_does_not_cut_a_line() -> None:
    page = "<p>See <picture><source srcset=x><source srcset=y /><img alt=this></picture> here.</p>"
    assert told(page) == [("paragraph", "See this here.")]


def test_the_link_to_a_heading_is_none_of_its_words() -> None:
    assert told("<h1>Install<a class=headerlink href='#i'>¶</a></h1><p>A ¶</p>") == [
        ("heading", "Install"),
        ("paragraph", "A ¶"),
    ]


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<title>Array<T> in Java</title><p>x", "Array<T> in Java"),
        ("<title>a < b &amp; <!-- c --> </TITLE ><p>x", "a < b & <!-- c -->"),
        ("<title></title><p>x", "a.html"),
        ("<title>One</title><svg><title>Two</title></svg><p>x", "One"),
        ("<svg><title><b>Two</b></title></svg><title>One</title><p>x", "One"),
    ],
)
def test_a_title_is_text_up_to_its_end(page: str, title: str) -> None:
    document = read(page)
    assert document.title == title
    assert [block.text for block in document.blocks] == ["x"]


def test_what_goes_on_without_end_is_read_once() -> None:
    assert read("<h1>a" + "&nbsp;" * 200_000 + "b</h1><p>x").blocks[-1].text == "x"
    assert read("<p>x</p>" + "<title>" * 100_000).blocks[0].text == "x"


@pytest.mark.parametrize("label", ["iso-8859-1", "latin1", "ISO_8859-1", "windows-1252", "us-ascii"])
def test_a_page_that_says_latin_1_has_the_signs_of_windows(label: str) -> None:
    page = f'<html><meta charset="{label}"><p>'.encode() + b"\x935 \x80\x94 caf\xe9 \x81"
    document = read_document(page)
    assert document.blocks[0].text == "“5 €” café \ufffd"
    assert "cp1252" in document.notes[0]


def test_a_text_of_windows_has_its_signs() -> None:
    document = read_document(b"5 \x80 \x96 \x84Gr\xfc\xdfe\x93 \x8d", name="a.txt")
    assert document.blocks[0].text == "5 € – „Grüße“ \ufffd"  # noqa: RUF001
    assert document.notes == (
        "not UTF-8: read as latin-1 in the manner of Windows (cp1252), which may be wrong",
    )


@pytest.mark.parametrize("name", ["a.md", "a.html", "a.txt"])
def test_a_byte_order_mark_is_no_text(name: str) -> None:
    text = "\ufeff# Guide\n\nWords."
    assert read_document(text, name=name) == read_document(text.encode(), name=name)
    assert "\ufeff" not in read_document(text, name=name).blocks[0].text
