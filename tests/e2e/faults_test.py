"""Whole programs while the driver fails: each function that refrain calls, at several of its uses, once and from there on, with
several errors. The program's results are right, or it gets an error as a CUDA program does; it never crashes, hangs or goes on
with wrong bytes. A share of the cases runs each time, by the day; REFRAIN_FAULTS=all runs all."""
import collections
import os
import re
import subprocess
import time
import pathlib
import unittest

from harness import SANITIZER_RUNTIME, Case

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTIONS = re.findall(r"^CALL\((\w+)\)", (ROOT / "src/cuda/driver_calls.def").read_text(), re.M)
OUT_OF_MEMORY, NOT_READY, LAUNCH_FAILED, UNKNOWN = 2, 600, 719, 999
USES = ("1", "3", "12", "2+", "9+")
ONLY_REFRAIN_CALLS = {"cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemUnmap", "cuGraphAddKernelNode"}
# All of these ask for the error of each launch.
PROGRAMS = {"chain": ("80KiB", ["16", "16"]), "threads": ("160KiB", []), "captures": ("96KiB", []), "mlp": ("2MiB", ["--steps", "2"])}


def cases():
    for program in PROGRAMS:
        for function in FUNCTIONS:
            for use in USES:
                for error in (OUT_OF_MEMORY, NOT_READY, LAUNCH_FAILED, UNKNOWN):
                    yield program, function, use, error


class Faults(Case):
    def command(self, program):
        return [self.workload(program) if program == "mlp" else self.victim(program), *PROGRAMS[program][1]]

    def outcome(self, program, failure, right):
        try:
            done = self.preloaded(self.command(program), timeout=60, REFRAIN_LIMIT=PROGRAMS[program][0], REFRAIN_OFFLOAD="auto",
                                  REFRAIN_SUMMARY="off", SIMGPU_FAIL=failure)
        except subprocess.TimeoutExpired:
            return "hangs", ""
        if done.returncode == 0:
            return ("right" if done.stdout == right else "WRONG"), done.stderr
        return {1: "error", 3: "WRONG"}.get(done.returncode, f"exit {done.returncode}"), done.stderr

    def test_every_function_that_refrain_calls(self):
        everything = list(cases())
        step = 1 if os.environ.get("REFRAIN_FAULTS") == "all" else 53 if SANITIZER_RUNTIME else 17
        chosen = everything[int(time.time()) // 86400 % step::step]
        outcomes = collections.Counter()
        right = {program: self.plain(self.command(program)).stdout for program in PROGRAMS}
        for program, function, use, error in chosen:
            with self.subTest(program=program, fail=f"{function}:{use}:{error}"):
                outcome, said = self.outcome(program, f"{function}:{use}:{error}", right[program])
                outcomes[outcome] += 1
                self.assertIn(outcome, ("right", "error"), said)
                if outcome == "error" and function in ONLY_REFRAIN_CALLS:
                    self.assertRegex(said, "refrain: (the driver has refused refrain|out of memory)")
        print(f"{len(FUNCTIONS)} functions, {len(chosen)} of {len(everything)} cases: {dict(outcomes)}")
        self.assertGreater(outcomes["right"], 0)
        self.assertGreater(outcomes["error"], 0)


if __name__ == "__main__":
    unittest.main()
