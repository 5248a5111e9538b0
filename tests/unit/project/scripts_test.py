"""The shell scripts say what they seem to say: shellcheck has nothing against them, and the list of packages is whole."""
import pathlib
import shutil
import subprocess
import sys


def main():
    root = pathlib.Path(sys.argv[1])
    setup = (root / ".ci/setup").read_text()
    listed = setup.split("PACKAGES='", 1)[1].split("'", 1)[0].strip().splitlines()
    told = subprocess.run(["bash", "-c", "eval \"$(sed -n \"/^PACKAGES='/,/^'/p\" .ci/setup)\" && printf %s \"$PACKAGES\""], cwd=root,
                          capture_output=True, text=True).stdout.strip().splitlines()
    if not listed or told != listed or any(": " not in line for line in told):
        print("the list of packages in .ci/setup is cut short, or a line is not 'package: what for'")
        return 1
    tool = shutil.which("shellcheck")
    if not tool:
        print("skipped: shellcheck is not installed")
        return 77
    scripts = [".ci/setup", ".ci/run", ".ci/tidy", "run-demo", "run-tests", "tests/fuzz/run", "tests/gpu/run"]
    return subprocess.run([tool, "-x", *scripts], cwd=root).returncode


if __name__ == "__main__":
    sys.exit(main())
