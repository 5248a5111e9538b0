"""The victims of tests/e2e on the real driver, without and with a cap. Their buffers are given sizes that a GPU's
granularity can page."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from harness import Case  # noqa: E402


class RealDriver(Case):
    def run_on_gpu(self, limit, command):
        return self.refrain("run", "--device", "cuda", "--limit", limit, "--log", "log.jsonl", "-f", "--", *command)

    def test_chain_under_a_cap(self):
        done = self.run_on_gpu("40MiB", [self.victim("chain"), "16", "8192"])
        self.assert_ok(done)
        end = self.log()[-1]
        self.assertGreater(end["evictions"], 0)
        self.assertLessEqual(end["peak_bytes"], 40 << 20)

    def test_static_runtime_under_a_cap(self):
        done = self.run_on_gpu("40MiB", [self.victim("static_runtime"), "16", "8192"])
        self.assert_ok(done)
        self.assertGreater(self.log()[-1]["evictions"], 0)

    def test_features_and_threads(self):
        for name in ("features", "threads", "fork", "driver_api"):
            with self.subTest(name=name):
                self.assert_ok(self.run_on_gpu("off", [self.victim(name)]))


if __name__ == "__main__":
    unittest.main()
