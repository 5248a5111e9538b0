"""Where the durations of kernels come from, in whole programs: CUPTI's stand-in and the toolkit's own library."""
import ctypes.util
import os
import pathlib
import unittest

import harness
from harness import BUILD, Case

SCHEDULES = ("eager", "lazy", "random:1")
FAKE = BUILD / "lib/fake_cupti"


def real_cupti():
    """The folder of the toolkit's library, or None."""
    if ctypes.util.find_library("cupti"):
        return ""
    for toolkit in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        for folder in ("lib64", "lib", "extras/CUPTI/lib64"):
            if toolkit and (pathlib.Path(toolkit) / folder / "libcupti.so.13").exists():
                return str(pathlib.Path(toolkit) / folder)
    return None


class Costs(Case):
    command = property(lambda self: [self.victim("chain"), "16", "16"])

    def with_cupti(self, command, folder, **variables):
        path = ":".join(str(entry) for entry in (BUILD / "lib/simgpu", folder, BUILD / "bin/victims") if entry)
        libraries = [*([harness.SANITIZER_RUNTIME] if harness.SANITIZER_RUNTIME else []), str(BUILD / "lib/librefrain.so")]
        variables = {"REFRAIN_LIMIT": "80KiB", "REFRAIN_LOG": "log.jsonl", "REFRAIN_FORCE": "1", "REFRAIN_VERIFY": "all",
                     "REFRAIN_COSTS": "cupti", **variables}
        return self.execute(command, LD_PRELOAD=":".join(libraries), LD_LIBRARY_PATH=path, **variables)

    def test_software_device_has_events_untried(self):
        done = self.run_capped("80KiB", self.command)
        self.assert_ok(done)
        self.assertEqual(self.log()[-1]["costs"], "events (CUPTI: not for the software device)")
        self.assertIn("kernel durations     events (CUPTI: not for the software device)\n", done.stderr)
        self.assertNotIn("private tables", done.stderr)

    def test_events_as_asked_for(self):
        done = self.run_capped("80KiB", self.command, "--costs", "events")
        self.assert_ok(done)
        self.assertEqual(self.log()[-1]["costs"], "events")

    @unittest.skipIf(real_cupti() is None, "no CUPTI here")
    def test_toolkits_cupti_refuses_and_the_bytes_are_the_same(self):
        plain = self.plain(self.command)
        done = self.with_cupti(self.command, real_cupti())
        self.assert_ok(done)
        self.assertEqual(done.stdout, plain.stdout)
        self.assertRegex(self.log()[-1]["costs"], r"^events \(CUPTI: cuptiSubscribe: \w+\)$")
        self.assertIn("refrain: durations of kernels: events (CUPTI: cuptiSubscribe: ", done.stderr)
        self.assertGreater(self.log()[-1]["rematerialisations"], 0)

    def test_tool_that_the_environment_names_comes_first(self):
        done = self.with_cupti(self.command, "", CUDA_INJECTION64_PATH="/opt/tool.so")
        self.assert_ok(done)
        self.assertEqual(self.log()[-1]["costs"], "events (CUPTI: CUDA_INJECTION64_PATH names a tool)")

    def test_cupti_that_records_nothing_changes_nothing(self):
        plain = self.plain(self.command)
        for schedule in SCHEDULES:
            with self.subTest(schedule=schedule):
                done = self.with_cupti(self.command, FAKE, SIMGPU_SCHEDULE=schedule)
                self.assert_ok(done)
                self.assertEqual(done.stdout, plain.stdout)
                self.assertEqual(self.log()[-1]["costs"], "events (CUPTI: no records yet)")
                self.assertGreater(self.log()[-1]["rematerialisations"], 0)

    def test_threads_forks_captures_and_resets_with_it(self):
        for name, limit in (("features", "96KiB"), ("threads", "160KiB"), ("fork", "1MiB"), ("captures", "96KiB"), ("static_end", "96KiB")):
            with self.subTest(name=name):
                self.assert_ok(self.with_cupti([self.victim(name)], FAKE, REFRAIN_LIMIT=limit))
                self.assertEqual(self.log()[-1]["kind"], "end")

    def test_programs_own_profiler_gets_the_subscription(self):
        for how in ("looked-up", "linked"):
            with self.subTest(how=how):
                done = self.with_cupti([self.victim("cupti_client"), how], FAKE)
                self.assert_ok(done)
                self.assertEqual(done.stdout, "subscribe: 0\n")
                self.assertEqual(self.log()[-1]["costs"], "events (CUPTI: the program uses it)")

    def test_cupti_is_not_there_where_it_is_not(self):
        done = self.with_cupti([self.victim("cupti_client"), "absent"], FAKE, REFRAIN_COSTS="events")
        self.assert_ok(done)
        self.assertEqual(done.stdout, "not there\n")
