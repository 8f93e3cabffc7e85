"""Check a configuration against its schema; an error is one message that names the key."""

import difflib
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from benchmark.methods import ROOT

SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.yaml"


# YAML and JSON Schema take 3.0 for a whole number and NaN for a number; a folder, a range or a limit cannot.
_TYPES = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(
    {
        "integer": lambda checker, value: isinstance(value, int) and not isinstance(value, bool),
        "number": lambda checker, value: (
            isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        ),
    }
)
_Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=_TYPES)

_TYPE_NAMES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "array": "a list",
    "object": "a map",
    "boolean": "true or false",
}
# What each rule of the schema expects, in words; a pattern's are the `title` beside it.
_EXPECTED: dict[str, Callable[[Any, dict[str, Any]], str]] = {
    "type": lambda names, _: " or ".join(_TYPE_NAMES[name] for name in ([names] if isinstance(names, str) else names)),
    "enum": lambda choices, _: f"one of {', '.join(choices)}",
    "const": lambda value, _: str(value).lower(),
    "pattern": lambda _, schema: str(schema["title"]),
    "minimum": lambda limit, _: f"at least {limit}",
    "exclusiveMinimum": lambda limit, _: f"more than {limit}",
    "exclusiveMaximum": lambda limit, _: f"less than {limit}",
    "minItems": lambda count, _: f"at least {count} {'entry' if count == 1 else 'entries'}",
    "maxItems": lambda count, _: f"at most {count} entries",
    "uniqueItems": lambda *_: "entries that differ",
}
_LONGEST_VALUE = 60
MOST_ENTRIES = 100_000


class ConfigError(ValueError):
    """A configuration that cannot be run; the message names the key and what was expected."""


def load_config(preset: str) -> dict[str, Any]:
    """Return ``config.yaml`` with a preset on top, merged as Snakemake merges them; ``paper`` is the former alone."""
    config = _read(ROOT / "config.yaml")
    if preset == "paper":
        return config
    file = ROOT / "presets" / f"{preset}.yaml"
    return _merged(config, _read(file)) | {"preset": preset_of(file)}


def preset_of(file: Path) -> str:
    """Return the name of a preset, that of its file; a key ``preset`` that says another name is refused."""
    named = _read(file).get("preset", file.stem)
    if named != file.stem:
        raise ConfigError(f"preset: {named!r} in {file.name}; a preset has the name of its file, {file.stem!r}")
    return file.stem


def _read(file: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(sorted(path.stem for path in file.parent.glob("*.yaml")))
        raise ConfigError(f"{file}: there is no such file; the presets are paper, {known}") from None
    return content


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def check_schema(config: dict[str, Any], schema_file: Path = SCHEMA) -> None:
    """Raise ConfigError for the first key that is unknown, missing, or of a wrong type or value."""
    _check_size(config)
    errors = _validator(schema_file).iter_errors(config)
    first = min(errors, key=lambda error: (len(error.path), _message(error)), default=None)
    if first is not None:
        raise ConfigError(_message(first))


def _check_size(config: Any) -> None:
    """Refuse a configuration without end, before anything walks through it: an alias of YAML costs one line."""
    waiting = [config]
    for _ in range(MOST_ENTRIES):
        if not waiting:
            return
        entry = waiting.pop()
        if isinstance(entry, dict):
            waiting += [*entry.keys(), *entry.values()]
        elif isinstance(entry, list):
            waiting += entry
        if len(waiting) > MOST_ENTRIES:
            break
    raise ConfigError(
        f"the top level: it has more than {MOST_ENTRIES:,} entries (aliases, *name, repeat what they name)"
    )


@cache
def _validator(schema_file: Path) -> Any:
    return _Validator(yaml.safe_load(schema_file.read_text(encoding="utf-8")))


def _message(error: jsonschema.ValidationError) -> str:
    path = list(error.absolute_path)
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        unknown = min(str(name) for name in error.instance if name not in known)
        close = difflib.get_close_matches(unknown, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"the keys here are {', '.join(known)}"
        return f"{_key([*path, unknown])}: this key is not known; {hint}"
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return f"{_key([*path, missing])}: this key is missing"
    expected = _EXPECTED[error.validator](error.validator_value, error.schema)
    description = error.schema.get("description")
    more = f" ({description})" if description else ""
    return f"{_key(path)}: the value {_shown(error.instance)} is not valid; expected {expected}{more}"


def _shown(value: Any) -> str:
    """Return a value as text, or what it is where it is long."""
    if value is None:
        return "(nothing)"
    text = repr(value)
    if isinstance(value, list | dict):
        kind = "a list" if isinstance(value, list) else "a map"
        return text if len(text) <= _LONGEST_VALUE and "{" not in text else f"({kind})"
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _key(path: Any) -> str:
    names = (f"[{part}]" if isinstance(part, int) else f".{_printable(part)}" for part in path)
    return "".join(names).lstrip(".") or "the top level"


def _printable(part: Any) -> str:
    """Return a key as it is, or quoted where it would break the line of a message."""
    return text if (text := str(part)).isprintable() else repr(text)
