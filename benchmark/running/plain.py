"""Plain data: what crosses the border of a process and is written to files, whatever a method put into it."""

import math
import re
from typing import Any

LONGEST_TEXT = 2_000
MOST_ENTRIES = 400_000  # the learning curves of a fit of 10 nodes have 120 every 100 iterations
DEEPEST = 20
_MARK = 200  # characters that a mark, and what stands before the text, can have
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def plain(value: Any, *, finite: bool = True, most: int = MOST_ENTRIES) -> Any:
    """Return what JSON can hold: numbers, text, lists and dicts; with ``finite``, null for NaN and infinite numbers.

    Arrays and tensors become lists, other objects their text. What is too long, too large, too deep or refers to
    itself is cut, with a mark that says so.

    >>> plain({"loss": float("nan"), 1: (2, {3})})
    {'loss': None, '1': [2, '{3}']}
    """
    left = [most]

    def convert(entry: Any, depth: int) -> Any:
        left[0] -= 1
        if entry is None or isinstance(entry, bool):
            return entry
        if isinstance(entry, str):
            return clean(entry)
        if isinstance(entry, int):
            return int(entry) if entry.bit_length() <= 64 else clean(hex(entry))
        if isinstance(entry, float):
            return float(entry) if math.isfinite(entry) or not finite else None
        if not isinstance(entry, dict | list | tuple) and hasattr(entry, "tolist"):
            try:
                entry = entry.tolist()
            except Exception:
                return _text_of(entry)
            return convert(entry, depth) if isinstance(entry, str | int | float | list | None) else _text_of(entry)
        if isinstance(entry, dict | list | tuple):
            if depth >= DEEPEST:
                return "(cut: too deep)"
            return mapped(entry, depth) if isinstance(entry, dict) else listed(entry, depth)
        return _text_of(entry)

    def mapped(entries: dict[Any, Any], depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, entry in entries.items():
            if left[0] <= 0:
                result["(cut)"] = f"{len(entries) - len(result):,} more entries"
                break
            result[key if isinstance(key, str) and key.isprintable() else _text_of(key)] = convert(entry, depth + 1)
        return result

    def listed(entries: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
        result: list[Any] = []
        for entry in entries:
            if left[0] <= 0:
                result.append(f"(cut: {len(entries) - len(result):,} more entries)")
                break
            result.append(convert(entry, depth + 1))
        return result

    return convert(value, 0)


def clean(text: str, longest: int = LONGEST_TEXT) -> str:
    r"""Return text that every file and page can hold, cut where it is long.

    >>> clean("a\x00b \ud800"), clean("x" * 300, longest=5)
    ('a\\x00b \\ud800', 'xxxxx ... (cut: 300 characters)')
    """
    # What was cut before keeps its mark.
    is_long = len(text) > longest + _MARK
    short = (text[:longest] if is_long else text[:]).encode("utf-8", "backslashreplace").decode()
    short = _CONTROL_CHARACTERS.sub(lambda match: f"\\x{ord(match[0]):02x}", short)
    return f"{short} ... (cut: {len(text):,} characters)" if is_long else short


def describe_error(error: BaseException) -> str:
    """Return an error's type and message as a reason.

    >>> describe_error(ValueError("the matrix is singular"))
    'ValueError: the matrix is singular'
    """
    return f"{type(error).__name__}: {_text_of(error)}"


def _text_of(value: Any) -> str:
    try:
        return clean(str(value))
    except Exception:
        return f"({type(value).__name__})"
