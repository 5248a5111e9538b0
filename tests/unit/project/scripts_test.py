"""The shell scripts say what they seem to say: shellcheck has nothing against them, the list of packages is whole, and the
fuzzers' script ends with the fuzzer's exit code."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def fuzz_run_ends_with(root, code):
    """The script with a fuzzer that prints a line of each kind and ends with that code; cmake does nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "tests/fuzz").mkdir(parents=True)
        shutil.copy(root / "tests/fuzz/run", folder / "tests/fuzz/run")
        for path, text in {"cmake": "", "build/fuzz/bin/tests/fuzz_api": f"echo simgpu: refused; echo a line; exit {code}"}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(f"#!/bin/sh\n{text}\n")
            (folder / path).chmod(0o755)
        done = subprocess.run([folder / "tests/fuzz/run", "api", "1"], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
        if (done.returncode, done.stdout) == (code, "a line\n"):
            return True
        print(f"tests/fuzz/run: a fuzzer that ends with {code}: {done.returncode}, {done.stdout!r} {done.stderr!r}")
        return False


def main():
    root = pathlib.Path(sys.argv[1])
    setup = (root / ".ci/setup").read_text()
    listed = setup.split("PACKAGES='", 1)[1].split("'", 1)[0].strip().splitlines()
    told = subprocess.run(["bash", "-c", "eval \"$(sed -n \"/^PACKAGES='/,/^'/p\" .ci/setup)\" && printf %s \"$PACKAGES\""], cwd=root,
                          capture_output=True, text=True).stdout.strip().splitlines()
    if not listed or told != listed or any(": " not in line for line in told):
        print("the list of packages in .ci/setup is cut short, or a line is not 'package: what for'")
        return 1
    if not all([fuzz_run_ends_with(root, 0), fuzz_run_ends_with(root, 77)]):
        return 1
    tool = shutil.which("shellcheck")
    if not tool:
        print("skipped: shellcheck is not installed")
        return 77
    scripts = [".ci/setup", ".ci/run", ".ci/tidy", "run-demo", "run-tests", "tests/fuzz/run", "tests/gpu/run"]
    return subprocess.run([tool, "-x", *scripts], cwd=root).returncode


if __name__ == "__main__":
    sys.exit(main())
