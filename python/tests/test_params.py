import copy
import json
import os
import pickle

import support
import hearth
from hearth import _params


class LikeTest(support.unittest.TestCase):
    def test_a_value_takes_the_type_of_its_default(self):
        for value, default, wanted in (
                (3, 1, 3), ("3", 1, 3), (3.0, 1, 3), ("1e3", 1, 1000),
                (1, 0.5, 1.0), ("0.1", 0.5, 0.1), ("1e-3", 0.5, 0.001),
                (True, False, True), ("true", False, True), ("no", True, False), (0, True, False),
                ("a", "b", "a"), (5, "b", "5"), (0.5, "b", "0.5"), (True, "b", "true"),
                ([1], (2, 3), (1,)), ("[1, 2]", [], [1, 2]), ({"a": 1}, {}, {"a": 1}),
                ("x", None, "x"), (None, None, None)):
            found = _params.like("p", value, default)
            self.assertEqual((found, type(found)), (wanted, type(wanted)), (value, default))

    def test_what_does_not_fit_is_an_error_that_names_it(self):
        for value, default in ((3.5, 1), ("x", 1), (True, 1), (None, 1), ([], 1), ("x", 0.5),
                               (True, 0.5), ("maybe", True), (2, True), (None, True), ([1], "x"),
                               ("x", [1]), ({}, [1]), ([], {}), (float("inf"), 1), ("nan", 1)):
            with self.assertRaises(ValueError, msg=(value, default)) as caught:
                _params.like("width", value, default)
            self.assertIn("parameter width", str(caught.exception))


class ParamsTest(support.Case):
    def params(self, given, **defaults):
        os.environ["HEARTH_PARAMS"] = self.write("params.json", given)
        self.addCleanup(os.environ.pop, "HEARTH_PARAMS", None)
        return hearth.params(**defaults)

    def test_given_over_defaults(self):
        p = self.params({"lr": "0.1", "extra": "x"}, lr=0.01, epochs=3)
        self.assertEqual((p.lr, p["lr"], p.epochs, p.extra), (0.1, 0.1, 3, "x"))
        self.assertEqual(dict(p), {"lr": 0.1, "epochs": 3, "extra": "x"})
        self.assertEqual(dict(**p), dict(p))
        self.assertIn("lr=0.1", repr(p))

    def test_an_unknown_name_says_what_there_is(self):
        p = self.params({}, lr=0.01)
        with self.assertRaisesRegex(AttributeError, "lrr.*there are: lr"):
            p.lrr
        with self.assertRaisesRegex(KeyError, "lrr"):
            p["lrr"]
        self.assertEqual(getattr(p, "lrr", 7), 7)
        self.assertEqual(p.get("lrr", 7), 7)

    def test_read_only_and_copied(self):
        p = self.params({}, lr=0.01)
        with self.assertRaises(AttributeError):
            p.lr = 3
        for other in (copy.deepcopy(p), copy.copy(p), pickle.loads(pickle.dumps(p))):
            self.assertEqual(other.lr, 0.01)

    def test_outside_hearth(self):
        self.assertEqual(dict(hearth.params(a=1, b="x")), {"a": 1, "b": "x"})

    def test_a_broken_file_is_an_error(self):
        with self.assertRaises(ValueError):
            self.params("[1]")
        with self.assertRaises(ValueError):
            self.params("{")

    def test_what_is_used_goes_to_the_shim(self):
        shim = self.shim()
        self.env["HEARTH_PARAMS"] = self.write("params.json", {"lr": "0.1"})
        self.run_script("""
            import hearth, pathlib
            hearth.params(lr=0.5, epochs=3, path=pathlib.Path("/x"), odd=float("nan"),
                          size=(1, 2), kind=int)
            hearth.params(big="x" * (2 << 20))
        """)
        record, = shim.records()
        self.assertEqual(record, {"t": "params", "values": {
            "lr": 0.1, "epochs": 3, "path": "/x", "odd": "NaN", "size": [1, 2],
            "kind": "<class 'int'>"}})
        json.dumps(record)


if __name__ == "__main__":
    support.unittest.main()
