"""hearth.log_image, log_table, log_curve: small files that the page shows.

Their formats: PROTOCOL.md, section 7.
"""

import os

from . import _checkpoint, _files, _png, _process, _records


def log_image(name, image, step=None):
    """Keeps an image: HxW, HxWx3 or 3xHxW (1 and 4 channels too) of floats from 0 to 1 or of bytes,
    as nested lists, numpy array or torch tensor."""
    _save("image", name, step, ".png", _png.encode(image))


def log_table(name, rows, columns=None, step=None):
    """Keeps a table: rows as lists, or as dicts whose keys are the columns, or a 2-d array."""
    rows = rows.tolist() if hasattr(rows, "tolist") else list(rows)
    if columns is None and rows and all(isinstance(row, dict) for row in rows):
        columns = list(dict.fromkeys(key for row in rows for key in row))
    if columns is not None:
        columns = list(columns)
        rows = [[row.get(key) for key in columns] if isinstance(row, dict) else row for row in rows]
    rows = [row.tolist() if hasattr(row, "tolist") else list(row) for row in rows]
    if columns is not None and any(len(row) != len(columns) for row in rows):
        raise ValueError("table %s has a row that has not %d columns" % (name, len(columns)))
    _save_json("table", name, step, {"columns": columns, "rows": rows})


def log_curve(name, x, y, step=None):
    """Keeps a curve: two lists or 1-d arrays of the same length."""
    x, y = _numbers(x), _numbers(y)
    if len(x) != len(y):
        raise ValueError("curve %s has %d x and %d y" % (name, len(x), len(y)))
    _save_json("curve", name, step, {"x": x, "y": y})


def _numbers(values):
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    return [_records.number(value, "a point of a curve") for value in values]


def _save_json(kind, name, step, document):
    step = _records.whole_step(step)
    data = _records.json_bytes(dict(document, name=name, step=step))
    _save(kind, name, step, ".%s.json" % kind, data)


def _save(kind, name, step, ending, data):
    step = _records.whole_step(step)
    _records.name_json(name)
    path = "plots/" + _files.file_name(name)
    if step is not None:
        path += "-%010d" % step
    path += ending
    _files.write_whole(os.path.join(str(_checkpoint.output_dir()), path), data)
    sender = _process.sender()
    if sender is not None:
        sender.put(_records.line(
            {"t": "artifact", "path": path, "kind": kind, "name": name, "step": step}))
