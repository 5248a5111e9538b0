"""Every function that the toolkit's libcuda exports is a hook, a barrier or harmless: once, and nothing else is listed."""
import collections
import pathlib
import re
import subprocess
import sys


def listed(root):
    names = []
    for table in ("hooks", "barriers", "harmless"):
        text = (root / "preload" / f"{table}.def").read_text()
        names += re.findall(r"^(?:HOOK|BARRIER|HARMLESS)\((\w+)", text, re.M)
    return names


def main():
    root, library = pathlib.Path(sys.argv[1]), sys.argv[2]
    output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in output.splitlines()}
    exported = {name for name in exported if re.match(r"cu[A-Z]", name)}
    names = listed(root)
    twice = [name for name, count in collections.Counter(names).items() if count > 1]
    missing = sorted(exported - set(names))
    unknown = sorted(set(names) - exported)
    for title, wrong in (("listed twice", twice), ("in no list", missing), ("not exported", unknown)):
        if wrong:
            print(f"{title}: {' '.join(wrong)}")
    print(f"{len(exported)} exported functions checked")
    return 1 if twice or missing or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
