import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import check_layers  # noqa: E402
from tree import Tree  # noqa: E402

kHeader = "#pragma once\n"


def breaches(files):
    with Tree(files) as root:
        return check_layers.Checker(root).run()


class Layers(unittest.TestCase):
    def one(self, files, words):
        found = breaches(files)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_a_lower_room_may_be_included(self):
        self.assertEqual(breaches({
            "src/base/id.h": kHeader + "#include <string>\n#include <sys/stat.h>\n",
            "src/domain/job.cc": '#include "base/id.h"\n'}), [])

    def test_a_higher_room_may_not(self):
        self.one({"src/api/routes.h": kHeader,
                  "src/base/id.cc": '#include "api/routes.h"\n'},
                 "src/base/id.cc:1: the room base may not include")

    def test_a_level_is_not_enough_the_row_must_name_it(self):
        self.one({"src/hw/gpu.h": kHeader, "src/net/server.cc": '// c\n\n#include "hw/gpu.h"\n'},
                 "src/net/server.cc:3")

    def test_a_library_outside_its_row(self):
        self.one({"src/domain/a.cc": "#include <sqlite3.h>\n"},
                 "(sqlite3) is not for the room domain")
        self.one({"src/domain/a.cc": "#include <fmt/format.h>\n"}, "fmt comes by base/format.h")
        self.one({"src/base/a.cc": "#include <openssl/ssl.h>\n"}, "(OpenSSL)")
        self.assertEqual(breaches({"src/base/a.cc": "#include <openssl/evp.h>\n"}), [])

    def test_an_unknown_library_or_room(self):
        self.one({"src/base/a.cc": "#include <tbb/tbb.h>\n"}, "belongs to no library")
        self.one({"src/attic/a.cc": "\n"}, "room 'attic' is not in the table")

    def test_implementations_are_for_app_and_tests(self):
        header = {"src/db/sqlite/sqlite.h": kHeader}
        for path in ("src/app/main.cc", "src/db/sqlite/sqlite.cc", "src/db/store_test.cc",
                     "src/control/jobs/jobs_test.cc", "tests/contract/db_test.cc"):
            found = breaches({**header, path: '#include "db/sqlite/sqlite.h"\n'})
            self.assertEqual(found, [], path)
        for path in ("src/control/jobs/jobs.cc", "src/db/store.cc"):
            self.one({**header, path: '#include "db/sqlite/sqlite.h"\n'}, "is an implementation")

    def test_services_of_control_do_not_know_each_other(self):
        files = {"src/control/jobs/state.h": kHeader, "src/control/shared.h": kHeader}
        self.one({**files, "src/control/ingest/a.cc":
                  '#include "control/jobs/state.h"\n#include "control/shared.h"\n'}, "neighbour")
        self.assertEqual(breaches({"src/control/access/access.h": kHeader, "src/control/jobs/a.cc":
                                   '#include "control/access/access.h"\n'}), [])

    def test_a_header_that_nobody_includes(self):
        self.one({"src/base/lost.h": kHeader}, "nobody includes this header")
        self.one({"src/base/lost.h": kHeader + '#include "base/lost.h"\n'}, "nobody includes")

    def test_a_header_that_is_not_there(self):
        self.one({"src/base/a.cc": '#include "id.h"\n'}, "is not there")

    def test_googletest_is_for_tests(self):
        self.one({"src/base/a.cc": "#include <gtest/gtest.h>\n"}, "GoogleTest outside tests")
        self.assertEqual(breaches({"src/base/a_test.cc": "#include <gtest/gtest.h>\n"}), [])

    def test_linking_follows_the_table(self):
        self.one({"src/track/CMakeLists.txt": "hearth_room(track ROOMS base net LIBRARIES zstd)\n"},
                 "track links the room net")

    def test_the_table_has_no_cycles(self):
        with Tree({}) as root:
            rooms = {"base": (0, "net", ""), "net": (2, "base", "")}
            found = check_layers.Checker(root, rooms).run()
        self.assertEqual(len(found), 1)
        self.assertIn("base names net", found[0])


if __name__ == "__main__":
    unittest.main()
