"""Pages: whatever is in a message, its page holds our scripts, our style and our addresses only."""

from __future__ import annotations

import re

import pytest
from bs4 import BeautifulSoup
from bs4.element import Tag
from fakes.page_html import ME, OTHER, THREAD, answer, parse_html, say
from fakes.source_tree import ROOT
from hatchling.builders.wheel import WheelBuilder

from channels.web.pages import STATIC, Pages
from channels.web.views import Report, RoomView, Section, Talk, Viewer
from geode.messages import JsonObject, OutboundFile, Person, Thread
from geode.transcripts import RoomMessage, RoomThread

EVIL = "\"><img src=x onerror=alert(1)><script>alert(1)</script>'"
VIEWER = Viewer("local", "You", is_operator=True, may_sign_out=True)
ROOM = RoomView("home", "Home")
PAGES = Pages("Geode")
CARD: JsonObject = {
    "title": "Did it happen?",
    "body": "The **call** is unknown.",
    "fields": [["Tool", "`write_file`"]],
    "buttons": [
        {"label": "It happened", "nonce": "n1", "style": "primary", "asks": ""},
        {"label": "Answer", "nonce": "n2", "style": "plain", "asks": "What happened?"},
    ],
}


def _card(card: JsonObject) -> RoomMessage:
    return say(1, {"kind": "card", "markdown": "instead", "card": card, "steps": []})


def _tree(message: RoomMessage, *, is_marked: bool = False) -> BeautifulSoup:
    return parse_html(PAGES.show_message(VIEWER, message, is_marked))


def _evil_pages() -> list[str]:
    pages, person = Pages(EVIL), Person(EVIL, EVIL)
    viewer, room = Viewer(EVIL, EVIL, True, True), RoomView(EVIL, EVIL)
    thread = Thread("web", "local", EVIL, EVIL)
    file = OutboundFile(EVIL, "image/png", 1, "0" * 64)
    words: JsonObject = {
        "kind": EVIL,
        "text": EVIL,
        "markdown": EVIL,
        "steps": [{"title": EVIL, "state": EVIL}],
    }
    card: JsonObject = {
        "title": EVIL,
        "body": EVIL,
        "fields": [[EVIL, EVIL]],
        "buttons": [{"label": EVIL, "nonce": EVIL, "style": EVIL, "asks": EVIL}],
    }
    messages = [
        RoomMessage(thread, EVIL, payload, author, EVIL, (file,), EVIL)
        for author in (None, person)
        for payload in (words, {**words, "card": card})
    ]
    threads = [RoomThread(thread, messages[0], 0)]
    section = Section("s", EVIL, (EVIL,), (), EVIL)
    return [
        pages.show_room(viewer, [room, ROOM], room, threads),
        pages.show_thread(viewer, [room], room, threads, Talk(thread, messages, 1, {EVIL}, EVIL)),
        *(pages.show_message(viewer, message) for message in messages),
        pages.show_login(EVIL),
        pages.show_fault(404, EVIL),
        pages.show_operator(viewer, [room], Report((EVIL,), (section,))),
    ]


@pytest.mark.parametrize("html", _evil_pages())
def test_page_runs_and_loads_ours_only_whatever_its_values_hold(html: str) -> None:
    for tag in parse_html(html).find_all(True):
        assert isinstance(tag, Tag)
        assert [name for name in tag.attrs if name.startswith("on") or name == "style"] == []
        if tag.name == "script":
            assert tag["src"] == "/static/page.js"
            assert tag.get_text() == ""
        assert tag.name not in ("iframe", "object", "embed", "base", "style")
        for name in ("src", "action", "data-url"):
            assert re.match(r"/(?!/)|$", str(tag.get(name, "/")))
        if tag.name == "link":
            assert str(tag["href"]).startswith("/static/")


def test_static_files_name_no_other_place() -> None:
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert re.findall(r"https?://|@import|url\(|\beval\b|\.style\s*=", text) == []


def test_own_message_is_told_apart_by_a_word() -> None:
    mine, other = _tree(say(1, {"text": "hi"}, Person("local", "Bo"))), _tree(say(2, {}, OTHER))

    assert mine.select_one("h3 .tag").get_text() == "you"
    assert other.select("h3 .tag") == []
    assert mine.article["aria-labelledby"] == mine.h3["id"]


def test_message_says_its_time_for_machines_and_people() -> None:
    time = _tree(say(1, {"text": "hi"}, ME)).time

    assert time is not None
    assert time["datetime"] == "2026-11-30T00:53:20Z"
    assert time.get_text() == "2026-11-30 00:53 UTC"


def test_private_answer_says_who_sees_it() -> None:
    payload: JsonObject = {"kind": "whisper", "markdown": "x", "card": None, "steps": []}
    message = RoomMessage(THREAD, "k", payload, only_for="local", id="1")

    assert "only you see this" in _tree(message).get_text()


def test_working_mark_is_shown_while_it_is_on() -> None:
    message = say(1, {"text": "hi"}, ME)

    for is_marked in (True, False):
        mark = _tree(message, is_marked=is_marked).select_one(".mark")
        assert mark is not None
        assert mark.has_attr("hidden") is not is_marked


def test_progress_says_the_state_of_each_step_and_is_not_read_out() -> None:
    steps: list[JsonObject] = [
        {"title": "read_file", "state": "done"},
        {"title": "web_fetch", "state": "failed"},
        {"title": "web_search", "state": "running"},
    ]
    tree = _tree(say(1, {"kind": "progress", "markdown": "12 s", "card": None, "steps": [*steps]}))

    assert [" ".join(row.get_text().split()) for row in tree.select(".steps li")] == [
        "read_file done",
        "web_fetch failed",
        "web_search running",
    ]
    assert tree.article["aria-live"] == "off"
    assert not _tree(answer(1, "done")).article.has_attr("aria-live")


def test_card_has_one_form_for_each_button() -> None:
    forms = _tree(_card(CARD)).select("form[action='/press'][method='post']")

    sent = [{str(i["name"]): str(i["value"]) for i in form.select("input")} for form in forms]
    assert [row["nonce"] for row in sent] == ["n1", "n2"]
    assert all(
        (row["room"], row["thread"], row["message"]) == ("home", "0001", "0001") for row in sent
    )
    assert len({row["key"] for row in sent}) == 2
    assert all(len(row["key"]) >= 16 for row in sent)


def test_button_that_asks_opens_a_labelled_field() -> None:
    tree = _tree(_card(CARD))
    (field,) = tree.select("details form textarea[name='words']")

    (label,) = tree.select(f"label[for='{field['id']}']")
    assert label.get_text() == "What happened?"


def test_decided_card_has_no_form_and_says_who_decided() -> None:
    tree = _tree(_card({**CARD, "body": "Ana decided: it happened.", "buttons": []}))

    assert tree.select("form") == []
    assert "Ana decided" in tree.get_text()
    assert [tree.dt.get_text(), tree.dd.get_text()] == ["Tool", "write_file"]


def test_files_are_counted_from_zero_and_their_names_are_quoted() -> None:
    file = OutboundFile("a/b ü?.pdf", "application/pdf", 182_345, "0" * 64)
    links = _tree(answer(7, "here", file, file)).select(".files a")

    assert [link["href"] for link in links] == [
        "/files/0007/0/a%2Fb%20%C3%BC%3F.pdf",
        "/files/0007/1/a%2Fb%20%C3%BC%3F.pdf",
    ]
    assert "182 kB" in links[0].get_text()


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"kind": "card", "card": {}},
        {"kind": 1, "markdown": None, "steps": "x", "card": []},
        {"kind": "card", "card": {"fields": [["one"], 2], "buttons": [None, {}]}},
    ],
)
def test_payload_of_another_version_is_shown_as_far_as_it_goes(payload: JsonObject) -> None:
    assert _tree(say(1, payload)).article is not None
    assert _tree(say(1, payload, ME)).article is not None


def _thread_page(**fields: object) -> BeautifulSoup:
    messages = [say(1, {"text": "first words"}, ME), answer(2, "second")]
    talk = Talk(THREAD, messages, 5, **fields)
    threads = [RoomThread(THREAD, messages[0], 0)]
    return parse_html(PAGES.show_thread(VIEWER, [ROOM], ROOM, threads, talk))


def test_conversation_is_a_log_with_all_that_the_script_goes_on_from() -> None:
    tree = _thread_page()
    (main,) = tree.select("main[data-talk]")

    assert (main["data-url"], main["data-revision"]) == ("/rooms/home/0001", "5")
    assert [a["id"] for a in tree.select("[role='log'][aria-live='polite'] > article")] == [
        "m-0001",
        "m-0002",
    ]
    assert tree.title is not None
    assert tree.title.get_text() == "first words · Geode"
    assert tree.select_one("nav a[aria-current='page']")["href"] == "/rooms/home/0001"


def test_stop_button_is_there_while_something_runs() -> None:
    for status in ("thinking · 3 s", ""):
        (working,) = _thread_page(status=status).select("[data-working]")
        assert working.has_attr("hidden") is (status == "")
        assert working.select_one("input[name='text']")["value"] == "/stop"


def test_every_field_has_a_label_and_every_page_one_first_heading() -> None:
    for html in [*_evil_pages()[:2], *_evil_pages()[-3:]]:
        tree = parse_html(html)
        assert len(tree.select("h1")) == 1
        labelled = {label.get("for") for label in tree.select("label")}
        for field in tree.select("textarea, input:not([type='hidden'])"):
            assert field.get("id", "") in labelled or field.find_parent("label") is not None


def test_composer_sends_words_files_and_a_key_of_its_own() -> None:
    keys: set[str] = set()
    for _ in range(2):
        (form,) = parse_html(PAGES.show_room(VIEWER, [ROOM], ROOM, [])).select("[data-composer]")
        assert (form["action"], form["enctype"]) == ("/rooms/home", "multipart/form-data")
        assert [f["name"] for f in form.select("[name]")] == ["text", "files", "key"]
        keys.add(str(form.select("[name='key']")[0]["value"]))
    assert len(keys) == 2


def test_wheel_holds_templates_and_static_files() -> None:
    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    ours = {
        path.relative_to(ROOT).as_posix()
        for folder in ("templates", "static")
        for path in (STATIC.parent / folder).iterdir()
    }

    assert ours
    assert ours <= packed
