"""docs/options.md, the event tables of docs/log-format.md, and the settings and profiles of docs/simgpu.md are made from
the tables that the code is expanded from.
docs_test.py ROOT checks that they are fresh; docs_test.py ROOT --write makes them so."""
import pathlib
import re
import sys

STRING = r'"((?:[^"\\]|\\.)*)"'
FORMS = {
    "DeviceLimit": "`8GiB`, `8G`, `512MiB`, `1.5G` (a unit is needed; K, M, G, T are powers of 1024), `80%`, `off`, or one of these for each GPU: `0=8GiB,1=80%`",
    "Switch": "`on`, `off`, `1`, `0`, `true`, `false`, `yes`, `no`",
    "Level": "`0`, `1`, `2`, `3`",
    "HostLimit": "`8GiB`, `8G`, `512MiB`, `1.5G` (with a unit), `25%` of the machine's memory, or `off`",
    "Share": "`90%` (above 0, at most 100)",
    "Policy": "`dtr`, `dtr_eq`, `dtr_local`, `lru`, `size`, `msps`, `random`",
    "Offload": "`off`, `leaves`, `auto`",
    "Verify": "`off`, `sample`, `all`",
    "OnMismatch": "`continue`, `stop`, `fail`",
    "OnThrash": "`report`, `stop`, `offload`, `fail`",
    "LogLevel": "`evict`",
    "Size": "`1GiB`, `100M` (with a unit), or `off`",
    "Children": "`follow`, `off`",
    "CostsFrom": "`auto`, `cupti`, `events`",
    "Text": "text",
}


def options_page(root):
    text = (root / "src/options/options.def").read_text()
    rows = re.findall(r"^OPTION\((\w+), (\w+), " + ", ".join([STRING] * 4) + r"\)", text, re.M)
    lines = [
        "# Options",
        "",
        "Made from `src/options/options.def`; `tests/unit/project/docs_test.py . --write` makes it anew. A flag of",
        "`refrain run` goes before the variable, the variable before the default. An empty variable counts as unset. A bad",
        "value, or an unknown `REFRAIN_*` variable, is an error: `refrain run` does not start the program (exit code 125);",
        "under bare `LD_PRELOAD` the program runs without refrain and one line says so, or `cuInit` fails with",
        "`REFRAIN_STRICT=1`. A mistake inside the manifest is one too, but only the manifest is left out, and the exit code is 2.",
        "The log's header and `--verbose 2` show each value and where it came from.",
        "",
        "| variable | flag | default | accepted | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kind, _, variable, flag, default, meaning in rows:
        shown = f"`{default}`" if default else "none"
        lines.append(f"| `{variable}` | `{flag}` | {shown} | {FORMS[kind]} | {meaning} |")
    lines += [
        "",
        "Only `refrain run` has `--device`, `--measure`, `--no-log`, `--no-adapt`, `-q`, `-v` and `-n` (`--dry-run`): see `refrain run --help`.",
        "It also names a log where you do not: `refrain.%e.%p.%t.jsonl` in the current folder; `--no-log` keeps it from that.",
        "What it passes on reaches the program as variables, so the log's header calls their source `environment`.",
    ]
    return "\n".join(lines) + "\n"


def event_tables(root):
    text = (root / "include/refrain/events.def").read_text()
    lines = []
    for event in re.finditer(r"BEGIN_EVENT\(\w+, (\w+)\)(.*?)END_EVENT", text, re.S):
        lines += [f"### {event.group(1)}", "", "| field | type | meaning |", "| --- | --- | --- |"]
        for kind, name, meaning in re.findall(r"^FIELD\(([\w:]+), (\w+), " + STRING + r"\)", event.group(2), re.M):
            shown = {"std::uint64_t": "integer", "double": "number", "std::string": "text"}[kind]
            lines.append(f"| `{name}` | {shown} | {meaning} |")
        lines.append("")
    return "\n".join(lines)


def with_part(page, name, part):
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, rest = page.split(begin)
    return before + begin + "\n" + part + "\n" + end + rest.split(end)[1]


def log_page(root):
    return with_part((root / "docs/log-format.md").read_text(), "events", event_tables(root))


def device_page(root):
    folder = root / "src/simgpu/driver"
    lines = ["| variable | default | meaning |", "| --- | --- | --- |"]
    settings = (folder / "settings.def").read_text()
    for variable, default, meaning in re.findall(r"^SIMGPU_SETTING\(\w+, \w+, " + ", ".join([STRING] * 3) + r"\)", settings, re.M):
        shown = f"`{default}`" if default else "none"
        lines.append(f"| `{variable}` | {shown} | {meaning} |")
    profiles = (folder / "profiles.def").read_text()
    names = re.findall(r"^SIMGPU_PROFILE_NAME\(\d, " + ", ".join([STRING] * 2) + r"\)", profiles, re.M)
    table = ["| | unit | " + " | ".join(f"`{name}`: {like}" for name, like in names) + " |", "| --- " * (len(names) + 2) + "|"]
    for member, unit, values in re.findall(r"^SIMGPU_PROFILE\([\w:]+, (\w+), " + STRING + r", (.*)\)", profiles, re.M):
        table.append(f"| {member} | {unit} | " + " | ".join(values.split(", ")) + " |")
    page = with_part((root / "docs/simgpu.md").read_text(), "settings", "\n".join(lines) + "\n")
    return with_part(page, "profiles", "\n".join(table) + "\n")


def main():
    root = pathlib.Path(sys.argv[1])
    stale = []
    pages = {"options.md": options_page, "log-format.md": log_page, "simgpu.md": device_page}
    for name, make in pages.items():
        path, fresh = root / "docs" / name, make(root)
        if path.exists() and path.read_text() == fresh:
            continue
        if "--write" in sys.argv:
            path.write_text(fresh)
        else:
            stale.append(str(path.relative_to(root)))
    print(f"stale: {' '.join(stale)}; run tests/unit/project/docs_test.py . --write" if stale else "documents are fresh")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
