#!/usr/bin/env python3
"""A PreVerify hook: an answer that rests on pages of the web names them.

Without any address it fails its check; with one, the judge looks whether the pages say so.
"""

import json
import re
import sys

WEB_TOOLS = {"web_fetch", "web_search"}
ADDRESS = re.compile(r"https?://[^\s<>\"')\]]+", re.IGNORECASE)


def decide(candidate):
    """What one answer must meet beside its request."""
    read = [each for each in candidate["observations"] if each["tool"] in WEB_TOOLS]
    if all(each["is_error"] for each in read):
        return {"decision": "proceed"}
    if ADDRESS.search(candidate["text"]) is None:
        return {
            "decision": "require",
            "misses": ["no_source_link"],
            "reason": "Name the address of each page that the answer rests on.",
        }
    return {
        "decision": "require",
        "requirements": ["Each address in the answer is one that the observations name."],
    }


if __name__ == "__main__":
    # Whatever goes wrong here ends in a traceback and exit code 1: a person must then look.
    json.dump(decide(json.load(sys.stdin)), sys.stdout)
