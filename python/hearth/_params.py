"""hearth.params: what the job file and --set gave, over the script's defaults."""

import collections.abc
import json

from . import _process, _records, _sender

_WORDS = {"true": True, "yes": True, "on": True, "1": True,
          "false": False, "no": False, "off": False, "0": False}


class Params(collections.abc.Mapping):
    """Read-only parameters, as ``p.lr`` and ``p["lr"]``; ``dict(p)`` and ``f(**p)`` work too."""

    def __init__(self, values):
        object.__setattr__(self, "_values", dict(values))

    def __getitem__(self, name):
        try:
            return self._values[name]
        except KeyError:
            raise KeyError("no parameter %r; there are: %s" % (name, ", ".join(self)))

    def __getattr__(self, name):
        if name.startswith("_"):  # copy and pickle ask before there are _values
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0])

    def __setattr__(self, name, value):
        raise AttributeError("parameters are read-only; for one that changes see hearth.live")

    def __reduce__(self):
        return (Params, (self._values,))

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def __dir__(self):
        return sorted(set(super().__dir__()) | set(self._values))

    def __repr__(self):
        return "Params(%s)" % ", ".join("%s=%r" % pair for pair in self._values.items())


def given():
    """The values of the job file, as they stand there; {} outside Hearth."""
    path = _process.setting("HEARTH_PARAMS")
    if path is None:
        return {}
    with open(path, encoding="utf-8") as file:
        values = json.load(file)
    if not isinstance(values, dict):
        raise ValueError("%s holds no JSON object" % path)
    return values


def like(name, value, default):
    """value with the type of default: text becomes a number, 3.0 becomes 3; else ValueError."""
    kind = type(default)
    if default is None or type(value) is kind:
        return value
    try:
        if kind is bool:
            return _truth(value)
        if kind is int:
            return _whole(value)
        if kind is float and not isinstance(value, bool):
            return float(value)
        if kind is str and not isinstance(value, (list, dict)) and value is not None:
            return value if isinstance(value, str) else _records.json_bytes(value).decode().strip()
        if kind in (list, tuple, dict):
            inner = json.loads(value) if isinstance(value, str) else value
            if isinstance(inner, dict if kind is dict else list):
                return kind(inner)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        pass
    raise ValueError("parameter %s: %r does not fit the default %r of type %s"
                     % (name, value, default, kind.__name__))


def params(**defaults):
    """The job's parameters over these defaults, each with its default's type.

    ``p = params(epochs=3, lr=0.01)`` gives p.epochs and p["epochs"]. Parameters of the job file
    that have no default here are there as well. Raises ValueError where a value does not fit.
    """
    values = dict(defaults)
    for name, value in given().items():
        values[name] = like(name, value, defaults.get(name))
    sender = _process.sender()
    if sender is not None:
        try:
            sender.put(_records.line({"t": "params", "values": values}))
        except ValueError as error:  # too large to show is no reason to stop training
            _sender.warn("parameters are not shown: %s" % error)
    return Params(values)


def _truth(value):
    if isinstance(value, (int, float)) and value in (0, 1):
        return bool(value)
    return _WORDS[value.lower()]


def _whole(value):
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            value = float(value)
    if isinstance(value, bool) or int(value) != value:
        raise ValueError(value)
    return int(value)
