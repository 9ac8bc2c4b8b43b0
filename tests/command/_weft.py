"""What the tests of the command share: running it, and a folder to do it in."""

import json
import os
import subprocess
import tempfile
import unittest

WEFT = os.environ.get("WEFT_COMMAND", "weft")
SECONDS = 120
# The Python that draws what the command measures, which the tests' own may not be.
PYTHON = {"WEFT_PYTHON": os.environ.get("PYTHON", "python3")}


class CommandTest(unittest.TestCase):
    """Runs the command in an empty folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_weft(self, *arguments, launcher=(), environment=None):
        return subprocess.run(
            [*launcher, WEFT, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=self.folder,
            timeout=SECONDS,
            env={**os.environ, **(environment or {})},
        )

    def succeed(self, *arguments, **keywords):
        """Its stdout; nothing may stand on stderr."""
        result = self.run_weft(*arguments, **keywords)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def succeed_json(self, *arguments, **keywords):
        return json.loads(self.succeed(*arguments, **keywords))

    def expect_failure(self, status, *arguments, says=()):
        """One line on stderr with all words of `says`, and the exit status."""
        result = self.run_weft(*arguments)
        self.assertEqual(result.returncode, status, result.stderr + result.stdout)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for words in says:
            self.assertIn(words, result.stderr)
        return result

    def need_matplotlib(self):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("Matplotlib is not installed")

    def expect_picture(self, name):
        """A .png or .svg file that holds what its name says."""
        holds = b"\x89PNG" if name.endswith(".png") else b"<svg"
        with open(self.path(name), "rb") as file:
            self.assertIn(holds, file.read(), name)
