"""`--policy`: a preset or peer with parameters, several joined by +, `module:object`, or `file.json`."""

import importlib
import inspect
import os
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from refold.events import PolicyError
from refold.lab.peers import PEERS
from refold.reducer import Policy
from refold.reducer.presets import PRESETS

NAMED: Final[MappingProxyType[str, Callable[..., Policy]]] = MappingProxyType({**PRESETS, **PEERS})
"""What a name stands for: refold's own presets, and those of its peers."""


def policy_of(text: str) -> Policy:
    """The policy that `text` names. Raises PolicyError that says what is known or allowed."""
    parts = [_one(part.strip()) for part in text.split("+")]
    policy = parts[0]
    for part in parts[1:]:
        policy = policy + part
    return policy


def _one(text: str) -> Policy:
    name, _, parameters = text.partition(":")
    if name in NAMED:
        return _preset(name, parameters)
    if text.endswith(".json"):
        return _file(Path(text))
    if parameters:
        return _object(name, parameters)
    known = ", ".join(NAMED)
    raise PolicyError(
        f"there is no preset {name!r}; known: {known}; or give module:object or a .json file", field="policy"
    )


def _preset(name: str, text: str) -> Policy:
    make = NAMED[name]
    wanted = inspect.signature(make).parameters
    hints = typing.get_type_hints(make)
    given: dict[str, Any] = {}
    for pair in filter(None, text.split(",")):
        key, equals, value = pair.partition("=")
        key = key.strip()
        if key not in wanted or not equals:
            takes = f"parameters of the form name=value: {', '.join(wanted)}" if wanted else "no parameter"
            raise PolicyError(f"{name} takes {takes}; got {pair!r}", field=key)
        if key in given:
            raise PolicyError("is given twice", field=key)
        given[key] = _value(key, value.strip(), hints[key])
    return make(**given)


def _value(key: str, text: str, hint: Any) -> Any:
    if hint == tuple[str, ...]:
        return tuple(text.split())
    try:
        return msgspec.convert(text, hint, strict=False)
    except msgspec.ValidationError as error:
        raise PolicyError(f"{str(error).partition(', got')[0]}, got {text!r}", field=key) from None


def _object(module: str, name: str) -> Policy:
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # a policy beside the user, as pytest and gunicorn find theirs
    try:
        found = getattr(importlib.import_module(module), name)
        policy = found() if callable(found) else found
    except (Exception, SystemExit) as error:  # whatever foreign code does is an answer here
        raise PolicyError(f"cannot load {module}:{name}: {type(error).__name__}: {error}", field="policy") from None
    if not isinstance(policy, Policy):
        raise PolicyError(f"{module}:{name} is a {type(policy).__name__}, not a refold.reducer.Policy", field="policy")
    return policy


def _file(path: Path) -> Policy:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Policy)
    except OSError as error:
        raise PolicyError(f"cannot read {path}: {error.strerror}", field="policy") from None
    except (msgspec.DecodeError, msgspec.ValidationError, PolicyError) as error:
        raise PolicyError(f"{path}: {error}", field="policy") from None
    except RecursionError:
        raise PolicyError(f"{path}: is nested too deeply", field="policy") from None
