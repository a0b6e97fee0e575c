# SPDX-License-Identifier: Apache-2.0
"""The example, and the wheel in a folder of its own."""

import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

BUILD = Path(os.environ["COPPICE_BUILD"])
EXAMPLE = Path(__file__).parents[2] / "examples" / "python_tour.py"


def output_of(words, **environment):
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


class Examples(unittest.TestCase):
    def test_tour(self):
        output = output_of([sys.executable, str(EXAMPLE)])
        self.assertIn("1040/3 = 346.67 GB/s: no schedule of this collective is faster on this fabric", output)
        self.assertIn("verified: True, 1040/3 GB/s", output)
        self.assertIn("<algo ", output)
        self.assertRegex(output, r"without nic b0nic0: 320.00 GB/s left, 14.4 % moved, verified: True")


class Wheel(unittest.TestCase):
    def test_wheel_works_alone(self):
        try:
            import setuptools  # noqa: F401
            import wheel  # noqa: F401
        except ImportError:
            self.skipTest("needs setuptools and wheel")
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "source"
            source.mkdir()
            package = source / "coppice"
            package.mkdir()
            for file in (BUILD / "python" / "coppice").iterdir():
                if file.is_file():
                    (package / file.name).write_bytes(file.read_bytes())
            (source / "setup.py").write_bytes((BUILD / "python" / "setup.py").read_bytes())
            done = subprocess.run([sys.executable, "setup.py", "--quiet", "bdist_wheel", "--dist-dir", folder],
                                  cwd=source, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            [made] = Path(folder).glob("coppice-*.whl")
            self.assertNotIn("none-any", made.name)
            place = Path(folder) / "place"
            with zipfile.ZipFile(made) as archive:
                self.assertIn("coppice/py.typed", archive.namelist())
                archive.extractall(place)
            output = output_of([sys.executable, "-c", "import coppice; print(coppice.__file__, coppice.__version__); "
                                "print(coppice.optimum(coppice.preset('ring', gpus=4, bandwidth=25)).algbw)"],
                               PYTHONPATH=str(place))
            self.assertIn(str(place), output)
            self.assertTrue(output.endswith("\n200/3\n"), output)


if __name__ == "__main__":
    unittest.main()
