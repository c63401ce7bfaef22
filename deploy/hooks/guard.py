#!/usr/bin/env python3
"""A PreToolUse hook: web_fetch opens no address of the hosts below, nor of their subdomains.

It sees the address that was asked for; where a page redirects to is the fetch function's affair.
"""

import json
import re
import sys

REFUSED_HOSTS = {"intranet.example.org", "wiki.example.org"}

# An address in any other shape (a login, a host in other letters) might be read differently by
# whoever opens it, so it is refused as well.
ADDRESS = re.compile(r"https?://([a-z0-9.-]+)(?::[0-9]+)?(?:[/?#].*)?", re.DOTALL)


def decide(call):
    """The decision about one proposed call."""
    address = ADDRESS.fullmatch(call["arguments"]["url"].lower())
    if address is None:
        return {"decision": "block", "reason": "The address is not written plainly."}
    labels = address[1].strip(".").split(".")
    parents = {".".join(labels[start:]) for start in range(len(labels))}
    for host in sorted(parents & REFUSED_HOSTS):
        return {"decision": "block", "reason": f"{host} is not to be fetched."}
    return {"decision": "proceed"}


if __name__ == "__main__":
    # Whatever goes wrong here ends in a traceback and exit code 1, and that denies the call.
    json.dump(decide(json.load(sys.stdin)), sys.stdout)
