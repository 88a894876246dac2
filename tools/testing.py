"""Words that the test runners share: how counts are printed and read (tests/README.md)."""
import re

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")


class Counts:
    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def __add__(self, other):
        return Counts(self.passed + other.passed, self.failed + other.failed,
                      self.skipped + other.skipped)

    def __eq__(self, other):
        return str(self) == str(other)

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def exit_status(self):
        """0 only when something passed and nothing failed."""
        return 0 if self.passed and not self.failed else 1


def counts_of(line):
    """The counts of a closing line, or None."""
    match = COUNTS.match(line.strip())
    return Counts(*map(int, match.groups())) if match else None
