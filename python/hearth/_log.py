"""hearth.log: metrics, to the shim or, outside Hearth, to stdout."""

import time

from . import _process, _records

_last_step = None


def last_step():
    """Of the last log() that had one: where a change of a live parameter without a step stands."""
    return _last_step


def log(step=None, **metrics):
    """Records numbers at a step: ``log(step=epoch, loss=loss, accuracy=acc)``.

    Never waits for Hearth. A value is an int, float or bool, or one number of numpy or torch (which
    waits for its GPU); NaN and infinities are kept. Names that are no Python names go as
    ``log(step=3, **{"val/loss": 0.2})``. Raises TypeError or ValueError for what is no number.
    Outside Hearth it prints.
    """
    global _last_step
    step = _records.whole_step(step)
    if step is not None:
        _last_step = step
    values = [(name, _records.number(value, name)) for name, value in metrics.items()]
    if not values:
        return
    lines = _records.metric_lines(step, int(time.time() * 1000000), values)
    sender = _process.sender()
    if sender is None:
        shown = ["%s=%.6g" % pair for pair in values]
        print(" ".join(shown if step is None else ["step=%d" % step] + shown), flush=True)
        return
    for line in lines:
        sender.put(line, metric=True)
