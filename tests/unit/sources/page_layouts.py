"""One text in the layouts of sites: articles by semantic tags or by ``div`` alone, and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape


def semantic(title: str, paragraphs: Sequence[str], others: Sequence[tuple[str, str]]) -> str:
    """Return an article as a site with semantic elements and names of classes has it."""
    menu = "".join(f'<li><a href="/s/{n}">Section {n}</a></li>' for n in range(12))
    teasers = "".join(
        f'<article class="teaser"><h3><a href="/{n}">{escape(name)}</a></h3><p>{escape(said)}</p>'
        "</article>"
        for n, (name, said) in enumerate(others)
    )
    body = "".join(f"<p>{escape(one)}</p>" for one in paragraphs)
    return (
        f"<!DOCTYPE html><html lang=en><head><title>{escape(title)} - The Site</title><body>"
        '<div class="cookie-banner"><p>We use cookies and other techniques to improve your visit. '
        "By going on you agree to our policy on cookies.</p><button>Yes</button></div>"
        f"<header><nav><ul>{menu}</ul></nav></header><main><article><h1>{escape(title)}</h1>"
        f'<p class="byline">By A. Writer, <time>2024-03-01</time></p>{body}'
        '<div class="view-count">12,345 views</div></article>'
        f'<section class="related"><h2>Related</h2>{teasers}</section></main>'
        "<footer><p>Copyright The Site. All rights reserved. Terms, privacy, imprint.</p></footer>"
        "</body></html>"
    )


def only_divs(title: str, paragraphs: Sequence[str], others: Sequence[tuple[str, str]]) -> str:
    """Return the same article with neither semantic elements nor names of classes."""
    menu = "".join(f'<div><a href="/t/{n}">Topic number {n}</a></div>' for n in range(20))
    teasers = "".join(
        f'<div><div><a href="/x{n}">{escape(name)}</a></div><div>{escape(said)}</div></div>'
        for n, (name, said) in enumerate(reversed(others))
    )
    body = "".join(f"<div>{escape(one)}</div>" for one in paragraphs)
    return (
        f"<html><head><title>{escape(title)}</title></head><body><div><div>{menu}</div>"
        f"<div><div><div>{escape(title)}</div><div>1 March 2024 | 9 comments | 777 views</div>"
        f"<div>{body}</div></div><div><div>More on this</div>{teasers}</div></div>"
        "<div><div>Company</div><div>Contact</div><div>All rights reserved by the company.</div>"
        "</div></div></body></html>"
    )


def _rows(items: Sequence[str], before: str, after: str) -> str:
    return "".join(f"{before}{escape(item)}{after}" for item in items)


def _page(inside: str, title: str = "Page") -> str:
    menu = "".join(f'<li><a href="/{n}">Entry {n}</a></li>' for n in range(8))
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title></head><body>"
        f'<div class="menu"><ul>{menu}</ul></div><div class="page">{inside}</div>'
        '<div class="footer">Imprint</div></body></html>'
    )


# What is to be kept of each are the items that it is made of.
NO_ARTICLES: dict[str, Callable[[Sequence[str]], str]] = {
    "list": lambda items: _page(f"<ul>{_rows(items, '<li>', '</li>')}</ul>"),
    "ordered list": lambda items: _page(f"<ol>{_rows(items, '<li>', '</li>')}</ol>"),
    "definitions": lambda items: _page(f"<dl>{_rows(items, '<dt>Term</dt><dd>', '</dd>')}</dl>"),
    "table": lambda items: _page(
        f"<table>{_rows(items, '<tr><td>7</td><td>', '</td><td>42</td></tr>')}</table>"
    ),
    "table as layout": lambda items: _page(
        f"<table><tr><td>{_rows(items, '<p>', '</p>')}</td><td>Aside</td></tr></table>"
    ),
    "text with breaks": lambda items: _page(_rows(items, "", "<br><br>")),
    "forum of tables": lambda items: _page(
        _rows(items, "<table><tr><td>A user</td><td>", "</td></tr></table>")
    ),
    "forum": lambda items: _page(
        _rows(
            items,
            '<div class="post"><div class="author">user7</div><div class="post-body">',
            "</div></div>",
        )
    ),
    "comments": lambda items: _page(
        '<div id="comments">'
        + _rows(items, '<div class="comment"><a href="/u">user</a><p>', "</p></div>")
        + "</div>"
    ),
    "questions": lambda items: _page(
        _rows(items, '<div class="answer"><div class="votes">12</div><p>', "</p></div>")
    ),
    "shop": lambda items: _page(
        _rows(
            items,
            '<div class="product"><a href="/p">A product</a><span>12.99</span><div>',
            "</div><button>Buy</button></div>",
        )
    ),
    "product": lambda items: _page(
        f"<h1>Product</h1><form><div>{_rows(items, '<p>', '</p>')}</div><input></form>"
    ),
    "page in a form": lambda items: f"<body><form id=f>{_rows(items, '<p>', '</p>')}</form></body>",
    "sections": lambda items: _page(_rows(items, "<section><h2>Title</h2><p>", "</p></section>")),
    "reference": lambda items: _page(
        _rows(items, '<dl class="function"><dt><code>f(x)</code></dt><dd><p>', "</p></dd></dl>")
    ),
    "manual": lambda items: _page(f"<pre>{escape(chr(10).join(items))}</pre>"),
    "portal": lambda items: _page(
        _rows(items, '<div class="col"><h3><a href="/n">Title of it</a></h3><p>', "</p></div>")
    ),
    "portal of links": lambda items: _page(_rows(items, '<li><a href="/n">', "</a></li>")),
    "nested divs": lambda items: _page("<div>" * 30 + _rows(items, "<div>", "</div>")),
    "spans": lambda items: _page(_rows(items, "<div><span>", "</span></div>")),
    "asides": lambda items: _page(_rows(items, "<aside><p>", "</p></aside>")),
    "in a footer": lambda items: f"<body><footer>{_rows(items, '<p>', '</p>')}</footer></body>",
    "quotations": lambda items: _page(_rows(items, "<blockquote><p>", "</p></blockquote>")),
    "timeline": lambda items: _page(_rows(items, "<div><time>12:30</time> ", "</div>")),
    "questions and answers": lambda items: _page(
        _rows(items, "<details open><summary>Why?</summary><p>", "</p></details>")
    ),
}  # fmt: skip
