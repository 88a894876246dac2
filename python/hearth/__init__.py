"""Hearth in a training script: parameters, metrics, live changes, checkpoints, files.

    import hearth
    p = hearth.params(epochs=3)
    for epoch in range(p.epochs):
        lr = hearth.live("lr", 0.01)
        hearth.log(step=epoch, loss=loss, accuracy=acc)
        with hearth.checkpoint(step=epoch) as d:
            torch.save(model.state_dict(), d / "model.pt")

The same script runs outside Hearth: log prints, params are the defaults, checkpoint writes beside
the script. Needs Python 3.6 or later and nothing else; safe with threads, forks and signals.
"""

from ._artifacts import log_curve, log_image, log_table
from ._checkpoint import checkpoint, output_dir, register_model, resume_from
from ._live import live
from ._log import log
from ._params import Params, params

__version__ = "0.1.0"
__all__ = ["Params", "checkpoint", "live", "log", "log_curve", "log_image", "log_table",
           "output_dir", "params", "register_model", "resume_from"]
