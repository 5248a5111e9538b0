"""The same program twice: the same output, the same virtual time, the same statistics; under each schedule, and with one
worker and with two. repeat_test.py LIBRARIES PROGRAM [ARGUMENT ...]"""
import json
import os
import subprocess
import sys
import tempfile


def run(libraries, command, **settings):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stats.json")
        environment = dict(os.environ, LD_LIBRARY_PATH=libraries, SIMGPU_STATS=path, **settings)
        if "SIMGPU_TEST_PRELOAD" in os.environ:  # a sanitised library needs its runtime loaded first
            environment["LD_PRELOAD"] = os.environ["SIMGPU_TEST_PRELOAD"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500)
        if done.returncode != 0:
            sys.exit(f"{settings}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        with open(path, encoding="utf-8") as file:
            return done.stdout, json.load(file)


def main():
    libraries, command = sys.argv[1], sys.argv[2:]
    for schedule in ("eager", "random:7"):
        runs = {workers: run(libraries, command, SIMGPU_SCHEDULE=schedule, SIMGPU_WORKERS=workers) for workers in ("1", "2")}
        again = run(libraries, command, SIMGPU_SCHEDULE=schedule, SIMGPU_WORKERS="2")
        output, figures = runs["1"]
        if not output or figures["kernels"] == 0 or figures["virtual_time_ns"] == 0:
            sys.exit(f"{schedule}: nothing was run: {figures}")
        for name, other in (("two workers", runs["2"]), ("the second time", again)):
            if other != runs["1"]:
                sys.exit(f"{schedule}, {name}: {other} instead of {runs['1']}")
        print(f"{schedule}: {figures['kernels']} kernels, {figures['virtual_time_ns']} ns, three times the same")


if __name__ == "__main__":
    main()
