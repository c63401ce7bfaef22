"""For every text, stream, edit and URL: caps hold, what fits is kept, a URL has one reading."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from geode.errors import FetchRefusedError, FileRefusedError
from geode.tools.edit_file import judge_edit, replace_once
from geode.tools.fetch.url import parse_url
from geode.tools.output import OutputWindow, cap_text, decode_text
from geode.tools.urls import find_urls, normalise_url

SHORT = st.text(alphabet="ab\u0308\n ", max_size=12)


@given(st.text(max_size=400), st.integers(0, 300))
def test_cap_text_never_exceeds_its_cap_and_keeps_what_fits(text: str, bytes_max: int):
    capped = cap_text(text, bytes_max)

    assert len(capped.encode()) <= bytes_max
    whole = text.encode("utf-8", "replace").decode()
    if len(whole.encode()) <= bytes_max:
        assert capped == whole
    assert cap_text(capped, bytes_max) == capped


@given(st.lists(st.binary(max_size=90), max_size=12), st.integers(120, 400))
def test_window_over_any_stream_stays_within_its_cap(chunks: list[bytes], bytes_max: int):
    window = OutputWindow(bytes_max)
    for chunk in chunks:
        window.add(chunk)
    stream = b"".join(chunks)

    text = window.text()

    assert window.size == len(stream)
    assert len(text.encode()) <= bytes_max
    assert json.loads(json.dumps(text)) == text
    if len(decode_text(stream).encode()) <= bytes_max:
        assert text == decode_text(stream)


@given(st.text(alphabet="aä語😀", min_size=400, max_size=600), st.integers(120, 400))
def test_window_over_valid_text_shows_no_broken_character(text: str, bytes_max: int):
    window = OutputWindow(bytes_max)
    window.add(text.encode())

    shown = window.text()

    assert "\ufffd" not in shown
    assert shown[0] == text[0]
    assert shown[-1] == text[-1]


@given(SHORT, SHORT.filter(bool), SHORT)
def test_judge_edit_never_contradicts_what_happened(text: str, old: str, new: str):
    try:
        edited = replace_once(text, old, new)
    except FileRefusedError:
        return

    assert judge_edit(edited, old, new) is not False or old in edited
    assert judge_edit(text, old, new) is not True


@given(st.text(max_size=60).map(lambda tail: f"https://a.example/{tail}"))
def test_a_url_has_one_normal_form(text: str):
    normal = normalise_url(text)

    if normal is not None:
        assert normal.isascii()
        assert normalise_url(normal) == normal
        assert find_urls(f"<{normal}>") in {
            (normal,),
            (normal, normal.replace("&amp;", "&")),
        } or any(mark in normal for mark in "()[]'.,;:!?*_~")


@given(st.text(max_size=30))
def test_any_host_is_read_as_itself_or_not_at_all(host: str):
    try:
        url = parse_url(f"http://{host}/")
    except FetchRefusedError:
        return

    assert parse_url(url.text) == url
    assert "@" not in url.host
    assert url.host == url.host.lower()
