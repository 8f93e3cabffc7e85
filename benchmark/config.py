"""Check a configuration against its schema; an error is one message that names the key."""

import difflib
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from benchmark.methods import ROOT

SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.yaml"


class ConfigError(ValueError):
    """A configuration that cannot be run; the message names the key and what was expected."""


def check_schema(config: dict[str, Any], schema_file: Path = SCHEMA) -> None:
    """Raise ConfigError for the first key that is unknown, missing, or of a wrong type or value."""
    schema = yaml.safe_load(schema_file.read_text(encoding="utf-8"))
    errors = jsonschema.Draft202012Validator(schema).iter_errors(config)
    first = jsonschema.exceptions.best_match(errors, key=lambda error: (-len(error.path), str(error.path)))
    if first is not None:
        raise ConfigError(_message(first))


def _message(error: jsonschema.ValidationError) -> str:
    key = _key(error.absolute_path)
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        unknown = sorted(set(error.instance) - set(known))[0]
        close = difflib.get_close_matches(unknown, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"the keys here are {', '.join(known)}"
        return f"{_key([*error.absolute_path, unknown])}: this key is not known; {hint}"
    if error.validator == "required":
        return f"{key}: {error.message}"
    description = error.schema.get("description", "")
    if error.validator == "enum":
        expected = f"expected one of {', '.join(map(str, error.validator_value))}"
    elif error.validator == "type":
        wanted = error.validator_value
        expected = f"expected {wanted if isinstance(wanted, str) else ' or '.join(wanted)}"
    else:
        expected = error.message
    return f"{key}: the value {error.instance!r} is not valid; {expected}" + (
        f" ({description})" if description else ""
    )


def _key(path: Any) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".") or "the top level"
