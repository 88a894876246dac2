"""Records as lines of JSON: what PROTOCOL.md, section 3, says. Pure."""

import json
import math
import operator

MAX_LINE = 1 << 20
MAX_NAME = 256
VALUES_PER_RECORD = 500  # 500 names of 256 characters stay well below MAX_LINE
_MAX_CACHED_NAMES = 10000
_MAX_DEPTH = 32

_dumps = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_name_cache = {}


def number(value, what="a value"):
    """An int or float of Python for a number, or anything with item() as numpy and torch have."""
    kind = type(value)
    if kind is float or kind is int:
        return value
    if kind is bool:
        return int(value)
    item = getattr(value, "item", None)
    if item is not None:
        try:
            value = item()
        except (TypeError, ValueError, RuntimeError) as error:
            raise TypeError("%s has to be one number: %s" % (what, error))
    if isinstance(value, int):
        return int(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError("%s has to be a number, not %s" % (what, type(value).__name__))


def number_json(value):
    """JSON text of an int or float; what JSON cannot say becomes a string."""
    if type(value) is int:
        if -(1 << 53) <= value <= (1 << 53):
            return str(value)
        try:
            value = float(value)
        except OverflowError:
            value = math.inf if value > 0 else -math.inf
    if value - value == 0.0:  # finite
        return float.__repr__(value)
    if value != value:
        return '"NaN"'
    return '"Infinity"' if value > 0 else '"-Infinity"'


def name_json(name):
    """A checked name as JSON text; cached, as scripts log the same few names for ever."""
    text = _name_cache.get(name)
    if text is None:
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
            raise ValueError("a name is text of 1 to %d characters, not %.60r" % (MAX_NAME, name))
        text = _dumps(name.encode("utf-8", "replace").decode("utf-8"))
        if len(_name_cache) < _MAX_CACHED_NAMES:
            _name_cache[name] = text
    return text


def whole_step(step):
    """A step as int or None; takes whole floats and numpy or torch scalars."""
    if step is None or type(step) is int:
        whole = step
    else:
        try:
            whole = operator.index(step)
        except TypeError:
            value = number(step, "step")
            if value != value or value in (math.inf, -math.inf) or value != int(value):
                raise ValueError("step has to be a whole number, not %r" % (step,))
            whole = int(value)
    if whole is not None and not -(1 << 63) <= whole < (1 << 63):
        raise ValueError("step is outside 64 bits: %d" % whole)
    return whole


def metric_lines(step, time_us, values):
    """Lines of one log() call; more than one only where it has very many values."""
    head = '{"t":"metric","step":%s,"time_us":%d,"values":{' % (
        "null" if step is None else step, time_us)
    parts = [name_json(name) + ":" + number_json(value) for name, value in values]
    if len(parts) <= VALUES_PER_RECORD:
        return [(head + ",".join(parts) + "}}\n").encode("utf-8")]
    return [(head + ",".join(parts[at:at + VALUES_PER_RECORD]) + "}}\n").encode("utf-8")
            for at in range(0, len(parts), VALUES_PER_RECORD)]


def plain(value, depth=0):
    """Any value as something JSON can say: scalars of numpy and torch as numbers; their arrays,
    sets and tuples as lists; NaN as "NaN", the rest (paths, types...) as its text."""
    if depth > _MAX_DEPTH:
        return "..."
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, int):
        return int(value) if abs(value) < 1 << 63 else str(int(value))
    if isinstance(value, float):
        value = float(value)
        return value if value - value == 0.0 else json.loads(number_json(value))
    if isinstance(value, dict):
        return {plain(str(key)): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, depth + 1) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist(), depth + 1)
    return plain(str(value))


def line(record):
    """One record as bytes; ValueError where it is over a MiB."""
    encoded = (_dumps(plain(record)) + "\n").encode("utf-8")
    if len(encoded) > MAX_LINE:
        raise ValueError("a %s record may have 1 MiB, not %d bytes" % (record["t"], len(encoded)))
    return encoded


def json_bytes(document):
    """A whole JSON file; no bound on its size."""
    return (_dumps(plain(document)) + "\n").encode("utf-8")


def parse(text):
    """The document of a JSON line; ValueError where it is none."""
    return json.loads(text.decode("utf-8"))
