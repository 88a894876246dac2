"""A small source tree in a temporary folder, for the tests of the checks."""
import os
import tempfile


class Tree:
    def __init__(self, files):
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        for path, text in files.items():
            full = os.path.join(self.root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)

    def __enter__(self):
        return self.root

    def __exit__(self, *_):
        self.folder.cleanup()
