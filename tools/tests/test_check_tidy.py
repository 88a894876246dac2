import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import check_tidy  # noqa: E402
import cpp_text  # noqa: E402
from tree import Tree  # noqa: E402


def findings(files, readme=True):
    if readme:
        files = {**files, **{f"src/{p.split('/')[1]}/README.md": "x\n"
                             for p in files if p.startswith("src/")}}
    with Tree(files) as root:
        return check_tidy.Checker(root).run()


class Tidy(unittest.TestCase):
    def clean(self, text, path="src/base/a.cc"):
        self.assertEqual(findings({path: text}), [])

    def one(self, text, words, path="src/base/a.cc"):
        found = findings({path: text})
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_sizes(self):
        self.clean("int a;\n" * 600)
        self.one("int a;\n" * 601, "601 lines, at most 600")
        self.one("a = 1\n" * 601, "601 lines", "tools/x.py")
        self.clean("// " + "x" * 97 + "\n")
        self.one("// " + "x" * 98 + "\n", "101 columns")
        self.one("int a;", "no newline")

    def test_functions(self):
        self.clean("void f() {\n" + "  g();\n" * 68 + "}\n")
        self.one("void f() {\n" + "  g();\n" * 69 + "}\n", "f has 71 lines, at most 70")
        body = "  g();\n" * 69
        self.one("namespace a {\nclass B {\n  int f(int a) const {\n" + body + "  }\n};\n}\n",
                 "f has 71 lines")
        self.clean("namespace a {\n" + "void f() { g(); }\n" * 200 + "}\n")
        self.one("def f():\n" + "    g()\n" * 70, "f has 71 lines", "tools/x.py")

    def test_a_brace_in_a_literal_opens_nothing(self):
        text = 'void f() { g("{", \'{\', R"({{)", 1\'000); }  // {\nvoid h() {\n  k();\n}\n'
        self.assertEqual(cpp_text.functions(cpp_text.strip(text)), [("f", 1, 1), ("h", 2, 4)])

    def test_a_constructor_with_a_list_is_one_function(self):
        text = "A::A(int b)\n    : b_(b),\n      c_(0) {\n  d();\n}\n"
        self.assertEqual(cpp_text.functions(cpp_text.strip(text)), [("A::A", 1, 5)])

    def test_banned_calls(self):
        for call in ("fork()", "vfork()", "system(x)", "std::system(x)", "popen(x, y)",
                     "sprintf(a, b)", "std::sprintf(a, b)", "strcpy(a, b)", "gmtime(&t)",
                     "localtime(&t)", "std::regex r", "sleep(1)",
                     "std::this_thread::sleep_for(x)", "setrlimit(RLIMIT_AS, &x)", "atoi(x)",
                     "std::chrono::steady_clock::now()", "thread.detach()", "time(nullptr)"):
            self.one(f"void f() {{ {call}; }}\n", "banned", "src/control/a.cc")

    def test_what_only_looks_banned(self):
        for call in ("prefork()", "a.system(x)", "a->rand()", "snprintf(a, 1, b)",
                     "gmtime_r(&t, &p)",
                     "start_time(0)", "std::system_error e(x)", 'puts("fork()")', "// sleep(1)\n"):
            self.clean(f"void f() {{ {call}; }}\n", "src/control/a.cc")
        self.clean("void f() { fork(); }\n", "src/os/a.cc")
        self.clean("void f() { sleep_for(x); }\n", "src/os/a_test.cc")

    def test_ownership(self):
        self.one("void f() { auto* a = new B(); }\n", "raw new")
        self.one("void f() { delete a; }\n", "raw delete")
        self.one("void f() { delete[] a; }\n", "raw delete")
        self.clean("struct A {\n  A(const A&) = delete;\n  void operator delete(void*);\n};\n")
        self.clean("void f() { auto a = std::unique_ptr<B>(new B(c)); }\n")
        self.clean("void f() { return std::unique_ptr<B>(new B(c)); }\n")

    def test_coroutines(self):
        one, clean = self.one, self.clean
        one("void f() { co_return; }\n", "a coroutine outside src/net", "src/api/a.cc")
        for statement in ("co_await f();", "const auto x = co_await f(a, b);", "x = co_await f();",
                          "co_return co_await f();", "CO_TRY(auto x, co_await f(a));",
                          "const std::size_t n = co_await s.read(buffer, use_awaitable);"):
            clean(f"A f() {{ {statement} }}\n", "src/net/a.cc")
        for statement in ("if (co_await f()) g();", "g(co_await f());", "x = a ? co_await f() : 0;",
                          "co_await f({1, 2});", "const bool b = co_await f() && c;",
                          "while (co_await f()) {}"):
            one(f"A f() {{ {statement} }}\n", "larger expression", "src/net/a.cc")
        one("A f() { a = co_await f(co_await g()); }\n", "two co_await", "src/net/a.cc")

    def test_words(self):
        self.one("// FIX" + "ME later\n", "leftover")
        self.one('auto p = "/wor' + 'k/x";\n', "path of one machine")
        self.clean('auto p = format("{}/work/{}", a, b);\n')
        self.one("curl https://www.py" + "pi.org/x\n", "package registry", "docs/a.md")

    def test_headers_and_readmes(self):
        self.one("int a;\n", "no #pragma once", "src/base/a.h")
        found = findings({"src/base/a.cc": "int a;\n"}, readme=False)
        self.assertEqual(len(found), 1)
        self.assertIn("no README.md", found[0])


if __name__ == "__main__":
    unittest.main()
