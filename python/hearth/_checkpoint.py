"""hearth.checkpoint, resume_from, output_dir and register_model."""

import contextlib
import os
import pathlib
import shutil

from . import _files, _process, _records

FLUSH_WAIT = 10.0  # seconds for the shim to have the record on disk


@contextlib.contextmanager
def checkpoint(step):
    """A directory that becomes a checkpoint, complete or not there at all.

    ``with checkpoint(step=epoch) as d: torch.save(state, d / "model.pt")``. At the end of the block
    its files are synced and it gets its name; when the block raises it is removed. A step that is
    saved again replaces the first. Outside Hearth it lies in ``checkpoints`` beside the script.
    """
    step = _records.whole_step(step)
    if step is None or step < 0:
        raise ValueError("a checkpoint needs a step of 0 or more")
    top = _process.setting("HEARTH_CHECKPOINT_DIR")
    if top is None:
        top = os.path.join(_process.script_dir(), "checkpoints")
    top = os.path.abspath(top)
    _files.make_dirs(top)
    name = "step-%010d" % step
    if _process.rank() > 0:
        name += "-rank-%d" % _process.rank()
    temporary = os.path.join(top, _files.temporary_name(name + "-"))
    os.mkdir(temporary)
    try:
        yield pathlib.Path(temporary)
        _files.sync_tree(temporary)
        final = os.path.join(top, name)
        _replace(temporary, final)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sender = _process.sender()
    if sender is not None:
        sender.put(_records.line({"t": "checkpoint", "step": step, "path": final}))
        sender.flush(FLUSH_WAIT)


def _replace(temporary, final):
    """Gives the directory its name, in place of one that may be there, and syncs the name."""
    top = os.path.dirname(final)
    old = None
    if os.path.lexists(final):
        old = os.path.join(top, _files.temporary_name("old-"))
        os.rename(final, old)
    os.rename(temporary, final)
    _files.sync_path(top)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def resume_from():
    """The directory (a pathlib.Path) of the last whole checkpoint to go on from, or None for a new
    start. Outside Hearth it is None, unless HEARTH_RESUME_FROM names one."""
    path = _process.setting("HEARTH_RESUME_FROM")
    if path is None:
        return None
    if not os.path.isdir(path):
        raise FileNotFoundError("HEARTH_RESUME_FROM is no directory: %s" % path)
    return pathlib.Path(path)


def output_dir():
    """The directory (a pathlib.Path) for files that the run keeps; it is there. Outside Hearth that
    of the script."""
    path = os.path.abspath(_process.setting("HEARTH_OUTPUT_DIR") or _process.script_dir())
    os.makedirs(path, exist_ok=True)
    return pathlib.Path(path)


def _is_model_name(name):
    plain = all(ord(c) < 128 and (c.isalnum() or c in "._-") for c in name)
    return plain and len(name) <= 128 and not name.startswith(".")


def register_model(path, name=None):
    """Makes a version of a model out of this file or directory when the run is saved. name: of the
    model; None for the job's. Outside Hearth it only checks that the path is there."""
    full = os.path.abspath(os.fspath(path))
    if not os.path.exists(full):
        raise FileNotFoundError("there is no %s to register as a model" % full)
    if name is not None:
        _records.name_json(name)
        if not _is_model_name(name):
            raise ValueError("%r is no name of a model: letters, digits and . _ - alone, "
                             "no '.' first, at most 128" % name)
    sender = _process.sender()
    if sender is not None:
        sender.put(_records.line({"t": "model", "path": full, "name": name}))
