"""Pixels of anything that looks like an image, and PNG files of them; standard library only."""

import struct
import zlib

_COLOURS = {1: 0, 3: 2, 4: 6}  # channels -> colour type of PNG
_MAX_SIDE = 1 << 16


def encode(array):
    """A PNG of 8 bits from HxW, HxWxC or CxHxW with C = 1, 3 or 4: nested lists, numpy arrays or
    torch tensors. Floats run from 0 to 1, ints from 0 to 255; what is outside is cut, NaN is black.
    Where both layouts fit, a torch tensor is CxHxW and all else HxWxC."""
    height, width, channels, pixels = _pixels(array)
    row = width * channels
    raw = b"".join(b"\0" + pixels[at:at + row] for at in range(0, len(pixels), row))
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header)
            + _chunk(b"IDAT", zlib.compress(raw, 6)) + _chunk(b"IEND", b""))


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(
        ">I", zlib.crc32(kind + data) & 0xffffffff)


def _pixels(array):
    """(height, width, channels, bytes in rows)."""
    torch = hasattr(array, "detach")
    if torch:
        array = array.detach().cpu()
        array = (array.float() if array.is_floating_point() else array).numpy()
    if hasattr(array, "astype") and hasattr(array, "transpose"):
        first = _first_is_channels(array.shape, torch)
        return _of_numpy(array.transpose(1, 2, 0) if first else array)
    return _of_lists(array.tolist() if hasattr(array, "tolist") else array)


def _first_is_channels(shape, prefer_first):
    """Whether a shape is CxHxW; ValueError where it is no image."""
    shape = tuple(shape)
    last = len(shape) == 3 and shape[2] in _COLOURS
    first = len(shape) == 3 and shape[0] in _COLOURS
    if not (len(shape) == 2 or first or last) or not all(0 < n <= _MAX_SIDE for n in shape):
        raise ValueError("an image is HxW, HxWxC or CxHxW with 1, 3 or 4 channels, not %s"
                         % "x".join(map(str, shape)))
    return first and (prefer_first or not last)


def _of_numpy(array):
    kind = array.dtype.kind
    if kind == "f":
        array = array.astype("float64")
        array[array != array] = 0.0
        array = (array.clip(0.0, 1.0) * 255.0).round()
    elif kind == "b":
        array = array.astype("uint8") * 255
    elif kind not in "iu":
        raise ValueError("an image holds floats, ints or bools, not %s" % array.dtype)
    channels = array.shape[2] if len(array.shape) == 3 else 1
    return array.shape[0], array.shape[1], channels, array.clip(0, 255).astype("uint8").tobytes()


def _of_lists(array):
    shape = []
    inner = array
    while isinstance(inner, (list, tuple)):
        shape.append(len(inner))
        if not inner or len(shape) > 3:
            break
        inner = inner[0]
    first = _first_is_channels(shape, False)
    flat = _flat(array, shape)
    if first:
        channels, height, width = shape
        plane = height * width
        flat = [flat[c * plane + i] for i in range(plane) for c in range(channels)]
    else:
        height, width, channels = (shape + [1])[:3]
    if any(isinstance(value, float) for value in flat):
        flat = [255.0 * value if value == value else 0.0 for value in flat]
    elif all(isinstance(value, bool) for value in flat):
        flat = [255 * value for value in flat]
    return height, width, channels, bytes(int(min(max(value, 0), 255) + 0.5) for value in flat)


def _flat(array, shape):
    """The numbers of nested lists in order; ValueError where they are ragged."""
    if len(array) != shape[0]:
        raise ValueError("the rows of an image have the same length")
    if len(shape) == 1:
        return list(array)
    return [value for part in array for value in _flat(part, shape[1:])]
