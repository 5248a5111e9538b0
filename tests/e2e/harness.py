"""Running victims and trainers under refrain on the software device, and reading what is left behind."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ.get("REFRAIN_BUILD", "build/release")).resolve()
# A sanitised library can only be loaded into a plain program behind its sanitizer's runtime.
SANITIZER_RUNTIME = os.environ.get("SANITIZER_RUNTIME", "")


def clean_environment(**variables):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("REFRAIN_", "SIMGPU_")) and k != "LD_PRELOAD"}
    # The programs under test keep what they allocated until they end.
    kept["ASAN_OPTIONS"] = "detect_leaks=0"
    kept.update({k: str(v) for k, v in variables.items()})
    return kept


def bytes_of(text):
    units = {"KiB": 1 << 10, "MiB": 1 << 20}
    return int(text[:-3]) * units[text[-3:]]


class Case(unittest.TestCase):
    """Each test gets a folder of its own as the current one."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="refrain-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.stats_path = self.folder / "stats.json"

    def victim(self, name):
        return str(BUILD / "bin/victims" / name)

    def workload(self, name):
        return str(BUILD / "bin/workloads" / name)

    def execute(self, command, timeout=300, **variables):
        environment = clean_environment(SIMGPU_STATS=self.stats_path, **variables)
        return subprocess.run(command, env=environment, cwd=self.folder, capture_output=True, text=True, timeout=timeout)

    def plain(self, command, **variables):
        """On the software device, without refrain."""
        variables.setdefault("LD_LIBRARY_PATH", BUILD / "lib/simgpu")
        if SANITIZER_RUNTIME:
            variables.setdefault("LD_PRELOAD", SANITIZER_RUNTIME)
        return self.execute(command, **variables)

    def preloaded(self, command, preload=(), **variables):
        """By LD_PRELOAD and variables alone, as a job script would. Whatever comes back is compared."""
        variables.setdefault("REFRAIN_VERIFY", "all")
        libraries = [*([SANITIZER_RUNTIME] if SANITIZER_RUNTIME else []), *map(str, preload), str(BUILD / "lib/librefrain.so")]
        return self.execute(command, LD_PRELOAD=":".join(libraries), LD_LIBRARY_PATH=BUILD / "lib/simgpu", **variables)

    def refrain(self, *arguments, **variables):
        return self.execute([str(BUILD / "bin/refrain"), *map(str, arguments)], **variables)

    def run_capped(self, limit, command, *options, **variables):
        variables.setdefault("REFRAIN_VERIFY", "all")
        return self.refrain("run", "--device", "sim", "--limit", limit, "--log", "log.jsonl", "-f", *options, "--", *command,
                            **variables)

    def stats(self):
        return json.loads(self.stats_path.read_text())

    def log(self, name="log.jsonl"):
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def assert_ok(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
