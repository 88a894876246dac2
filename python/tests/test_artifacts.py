import json
import os
import struct
import zlib

import support
import hearth
from hearth import _files, _png

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None


def decode(data):
    """(width, height, colour type, bytes without filters) of a PNG whose rows have no filter."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, body, header = 8, b"", None
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        chunk = data[at + 8:at + 8 + size]
        crc, = struct.unpack(">I", data[at + 8 + size:at + 12 + size])
        assert crc == zlib.crc32(kind + chunk) & 0xffffffff
        at += 12 + size
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", chunk)
        elif kind == b"IDAT":
            body += chunk
    width, height, depth, colour = header[:4]
    assert depth == 8 and kind == b"IEND"
    raw = zlib.decompress(body)
    row = width * {0: 1, 2: 3, 6: 4}[colour]
    rows = [raw[i:i + row + 1] for i in range(0, len(raw), row + 1)]
    assert len(rows) == height and all(r[0] == 0 for r in rows)
    return width, height, colour, b"".join(r[1:] for r in rows)


class PngTest(support.unittest.TestCase):
    def test_lists(self):
        self.assertEqual(decode(_png.encode([[0, 255, 300], [-5, 1, 2]])),
                         (3, 2, 0, bytes([0, 255, 255, 0, 1, 2])))
        self.assertEqual(decode(_png.encode([[0.0, 0.5], [1.0, float("nan")]])),
                         (2, 2, 0, bytes([0, 128, 255, 0])))
        self.assertEqual(decode(_png.encode([[True, False]])), (2, 1, 0, bytes([255, 0])))
        self.assertEqual(decode(_png.encode([[[1, 2, 3], [4, 5, 6]]])),
                         (2, 1, 2, bytes([1, 2, 3, 4, 5, 6])))
        planes = [[[1, 2]], [[3, 4]], [[5, 6]]]  # 3x1x2
        self.assertEqual(decode(_png.encode(planes)), (2, 1, 2, bytes([1, 3, 5, 2, 4, 6])))

    def test_what_is_no_image(self):
        for wrong in ([], [[]], [1, 2], [[1, 2], [3]], [[[1, 2]]] * 5, [[[[1]]]], [["a"]]):
            with self.assertRaises((ValueError, TypeError), msg=wrong):
                _png.encode(wrong)

    @support.unittest.skipUnless(numpy, "no numpy")
    def test_numpy_is_as_lists(self):
        random = numpy.random.RandomState(0)
        for shape in ((5, 7), (5, 7, 3), (3, 5, 7), (1, 5, 7), (5, 7, 1), (4, 5, 7), (3, 5, 3)):
            floats = random.uniform(-0.2, 1.2, shape)
            for array in (floats, (floats > 0.5), random.randint(-9, 300, shape)):
                self.assertEqual(decode(_png.encode(array)), decode(_png.encode(array.tolist())))
        self.assertEqual(decode(_png.encode(numpy.float32([[numpy.nan, 1]])))[3], bytes([0, 255]))
        with self.assertRaises(ValueError):
            _png.encode(numpy.array([["a"]]))

    @support.unittest.skipUnless(torch, "no torch")
    def test_torch(self):
        image = torch.rand(3, 5, 7, requires_grad=True)
        array = image.detach().numpy()
        self.assertEqual(decode(_png.encode(image)), decode(_png.encode(array)))
        self.assertEqual(decode(_png.encode(torch.rand(3, 5, 3)))[:2], (3, 5))
        self.assertEqual(decode(_png.encode(torch.rand(5, 7).bfloat16()))[:2], (7, 5))


class ArtifactTest(support.Case):
    def setUp(self):
        super().setUp()
        self.env["HEARTH_OUTPUT_DIR"] = self.path("out")

    def json(self, *names):
        with open(self.path("out", *names), encoding="utf-8") as file:
            return json.load(file)

    def test_files_and_records(self):
        shim = self.shim()
        self.run_script("""
            import hearth
            hearth.log_image("samples/first", [[0, 255]], step=3)
            hearth.log_table("confusion", [[1, 2], [3, float("nan")]], columns=["a", "b"])
            hearth.log_table("dicts", [{"x": 1}, {"y": 2}], step=1)
            hearth.log_curve("pr", (0, 1), [0.5, float("inf")], step=2)
        """)
        self.assertEqual(shim.records(), [
            {"t": "artifact", "path": "plots/samples/first-0000000003.png", "kind": "image",
             "name": "samples/first", "step": 3},
            {"t": "artifact", "path": "plots/confusion.table.json", "kind": "table",
             "name": "confusion", "step": None},
            {"t": "artifact", "path": "plots/dicts-0000000001.table.json", "kind": "table",
             "name": "dicts", "step": 1},
            {"t": "artifact", "path": "plots/pr-0000000002.curve.json", "kind": "curve",
             "name": "pr", "step": 2}])
        with open(self.path("out", "plots", "samples", "first-0000000003.png"), "rb") as file:
            self.assertEqual(decode(file.read()), (2, 1, 0, bytes([0, 255])))
        self.assertEqual(self.json("plots", "confusion.table.json"), {
            "name": "confusion", "step": None, "columns": ["a", "b"],
            "rows": [[1, 2], [3, "NaN"]]})
        self.assertEqual(self.json("plots", "dicts-0000000001.table.json")["rows"],
                         [[1, None], [None, 2]])
        self.assertEqual(self.json("plots", "pr-0000000002.curve.json"), {
            "name": "pr", "step": 2, "x": [0, 1], "y": [0.5, "Infinity"]})
        self.assertFalse([n for n in os.listdir(self.path("out", "plots")) if n.startswith(".")])

    @support.unittest.skipUnless(numpy, "no numpy")
    def test_arrays(self):
        os.environ["HEARTH_OUTPUT_DIR"] = self.path("out")
        self.addCleanup(os.environ.pop, "HEARTH_OUTPUT_DIR")
        hearth.log_table("t", numpy.arange(4).reshape(2, 2))
        hearth.log_table("u", [{"a": numpy.float32(0.5), "b": numpy.arange(2)}])
        hearth.log_curve("c", numpy.arange(2), numpy.float32([0.5, numpy.nan]))
        self.assertEqual(self.json("plots", "t.table.json")["rows"], [[0, 1], [2, 3]])
        self.assertEqual(self.json("plots", "u.table.json")["rows"], [[0.5, [0, 1]]])
        self.assertEqual(self.json("plots", "c.curve.json")["y"], [0.5, "NaN"])

    def test_what_is_refused(self):
        os.environ["HEARTH_OUTPUT_DIR"] = self.path("out")
        self.addCleanup(os.environ.pop, "HEARTH_OUTPUT_DIR")
        with self.assertRaises(ValueError):
            hearth.log_curve("c", [1], [1, 2])
        with self.assertRaises(ValueError):
            hearth.log_table("t", [[1, 2, 3]], columns=["a", "b"])
        with self.assertRaises(ValueError):
            hearth.log_curve("", [1], [1])
        with self.assertRaises(TypeError):
            hearth.log_curve("c", ["a"], [1])

    def test_names_stay_inside_and_apart(self):
        names = ["a", "a b", "a_b", "../x", "/etc/x", "..", ".", "", "a//b", "\u00e9", "x" * 300,
                 "x" * 299, "a/./b", "a/b", ".hidden", "a/../b"]
        found = [_files.file_name(name) for name in names]
        self.assertEqual(len(set(found)), len(names))
        for path in found:
            self.assertFalse(os.path.normpath(path).startswith(("..", "/")), path)
            self.assertLess(len(path), 200)
        self.assertEqual(found[0], "a")

    def test_outside_hearth(self):
        del self.env["HEARTH_OUTPUT_DIR"]
        out, _ = self.run_script("""
            import hearth
            print(hearth.output_dir())
            hearth.log_curve("c", [1], [2])
        """)
        self.assertEqual(out.strip(), self.dir)
        self.assertTrue(os.path.exists(self.path("plots", "c.curve.json")))


if __name__ == "__main__":
    support.unittest.main()
