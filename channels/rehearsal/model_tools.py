"""What every model API demands of tools and of images in a request; pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson
from jsonschema import Draft202012Validator, SchemaError

TOOLS_MAX = 128
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_MAGIC = {
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
_DATA_URL = re.compile(r"data:(?P<media>[\w/+.-]+);base64,(?P<content>.*)", re.DOTALL)


def find_tool_fault(names: Sequence[object], schemas: Sequence[object], where: str) -> str:
    """The first tool whose name or JSON Schema the API would refuse."""
    if len(names) > TOOLS_MAX:
        return f"tools: at most {TOOLS_MAX} tools"
    if len(set(map(str, names))) < len(names):
        return "tools: names must be unique"
    for number, (name, schema) in enumerate(zip(names, schemas, strict=True)):
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            return f"tools.{number}.name: must match {_NAME.pattern}"
        if schema is not None and (fault := _find_schema_fault(schema)):
            return f"tools.{number}.{where}: {fault}"
    return ""


def _find_schema_fault(schema: object) -> str:
    if not isinstance(schema, dict):
        return "JSON schema is invalid: not an object"
    return _check_schema(orjson.dumps(schema))


@lru_cache(maxsize=512)
def _check_schema(raw: bytes) -> str:
    schema = orjson.loads(raw)
    if schema and schema.get("type") != "object":
        return "JSON schema is invalid: type must be object"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return f"JSON schema is invalid: {error.message}"
    return ""


def find_image_fault(media_type: object, content: object) -> str:
    """Why the API would refuse a base64 image of that media type."""
    magic = _MAGIC.get(str(media_type))
    if magic is None:
        return f"media type {media_type!r} is not supported"
    try:
        raw = base64.b64decode(str(content), validate=True)
    except (binascii.Error, ValueError):
        return "image is not valid base64"
    if not raw.startswith(magic):
        return f"the image does not match the media type {media_type}"
    return ""


def find_image_url_fault(url: object) -> str:
    """Why OpenAI would refuse an image given by address or as a data URL."""
    if not isinstance(url, str):
        return "image_url: required"
    found = _DATA_URL.fullmatch(url)
    if found is not None:
        return find_image_fault(found["media"], found["content"])
    return "" if url.startswith(("https://", "http://")) else "image_url: not an address"


def count_marks(spots: Sequence[Mapping[str, Any]]) -> int:
    """How many of the objects carry a cache mark."""
    return sum("cache_control" in spot for spot in spots)
