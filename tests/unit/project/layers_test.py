"""Checks the arrows of docs/architecture.md: includes point downward only, and every folder has its short README."""
import pathlib
import re
import sys

# Top first. A file may include from its own layer and from those below it.
LAYERS = [
    ["preload"],
    ["src/cli"],
    ["src/report"],
    ["src/simulate"],
    ["src/cuda"],
    ["src/access"],
    ["src/options"],
    ["src/trace"],
    ["src/guide"],
    ["src/engine"],
    ["src/planner"],
    ["src/ptx"],
    ["src/fatbin"],
    ["src/simgpu"],
    ["include"],
]
# The software device stands beside the rest: it reads containers and PTX, and nothing of refrain includes it.
EXTRA = {"src/simgpu": {"src/ptx", "src/fatbin"}}


def layer_of(root, include):
    for index, folders in enumerate(LAYERS):
        for folder in folders:
            base = root if folder == "preload" else root / folder if folder == "include" else root / "src"
            if folder.startswith("src/") and not include.startswith(folder[4:] + "/"):
                continue
            if folder == "preload" and not include.startswith("preload/"):
                continue
            if (base / include).exists():
                return index, folder
    return None


def check_includes(root):
    wrong = []
    for index, folders in enumerate(LAYERS):
        for folder in folders:
            for path in sorted((root / folder).rglob("*.*")):
                if path.suffix not in {".cpp", ".hpp", ".h", ".S", ".def"}:
                    continue
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    match = re.match(r'\s*#include "([^"]+)"', line)
                    found = match and layer_of(root, match.group(1))
                    if found and found[0] < index and found[1] not in EXTRA.get(folder, set()):
                        wrong.append(f"{path.relative_to(root)}:{number}: includes upward: {match.group(1)}")
    for path in sorted([*(root / "src/engine").rglob("*.?pp"), *(root / "src/planner").rglob("*.?pp")]):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.match(r"\s*#include <(cuda|chrono|thread|mutex|iostream|fstream|cstdio|sys/|unistd)", line):
                wrong.append(f"{path.relative_to(root)}:{number}: engine and planner are pure: {line.strip()}")
    return wrong


def check_readmes(root):
    wrong = []
    for top in ("src", "include", "preload", "kernels", "tests", "bench"):
        for folder in [root / top, *sorted(p for p in (root / top).rglob("*") if p.is_dir())]:
            if not any(f.is_file() for f in folder.glob("*")) or folder.name in {"refrain", "__pycache__"}:
                continue
            if folder.parent.name == "corpus":  # inputs of fuzzers, all files of which are given to them
                continue
            readme = folder / "README.md"
            if not readme.exists():
                wrong.append(f"{folder.relative_to(root)}: no README.md")
            elif len(readme.read_text().splitlines()) > 10:
                wrong.append(f"{readme.relative_to(root)}: more than ten lines")
    return wrong


def main():
    root = pathlib.Path(sys.argv[1])
    wrong = check_includes(root) + check_readmes(root)
    print("\n".join(wrong) if wrong else "layers and READMEs are in order")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
