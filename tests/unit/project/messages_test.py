"""Every message in docs/troubleshooting.md is one that refrain says; and every command in docs/getting-started.md is one that
works. messages_test.py ROOT [BUILD]"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def literals(root):
    """All string literals of the code, with those that the compiler joins joined."""
    out = []
    for folder in ("src", "preload"):
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            text = path.read_text()
            out.append(re.sub(r'"\s*\n\s*"', "", text))
    return "\n".join(out)


def check_messages(root):
    code = literals(root)
    rows = re.findall(r"^\| `([^`]+)` \|", (root / "docs/troubleshooting.md").read_text(), re.M)
    wrong = [f"docs/troubleshooting.md: nothing says: {row}" for row in rows if row not in code]
    return wrong if len(rows) >= 20 else [*wrong, f"docs/troubleshooting.md: only {len(rows)} messages"]


def check_commands(root, build):
    text = (root / "docs/getting-started.md").read_text()
    commands = [line[2:] for block in re.findall(r"```console\n(.*?)```", text, re.S) for line in block.splitlines() if line.startswith("$ ")]
    wrong = [] if len(commands) >= 8 else [f"docs/getting-started.md: only {len(commands)} commands"]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="refrain-docs-"))
    try:
        (folder / "train").symlink_to(build / "bin/workloads/gpt")
        for command in commands:
            done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=300,
                                  env={"PATH": f"{build}/bin:/usr/bin:/bin", "HOME": str(folder)})
            if done.returncode != 0:
                wrong.append(f"docs/getting-started.md: {command}: exit {done.returncode}: {done.stderr.strip()}")
    finally:
        shutil.rmtree(folder)
    return wrong


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    wrong = check_messages(root)
    if len(sys.argv) > 2:
        wrong += check_commands(root, pathlib.Path(sys.argv[2]).resolve())
    print("\n".join(wrong) or "every message is said, and every command works")
    return 1 if wrong else 0


sys.exit(main())
