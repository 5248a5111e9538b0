"""docs/options.md and the event tables of docs/log-format.md are made from the tables that the code is expanded from.
docs_test.py ROOT checks that they are fresh; docs_test.py ROOT --write makes them so."""
import pathlib
import re
import sys

STRING = r'"((?:[^"\\]|\\.)*)"'
FORMS = {
    "Limit": "`8GiB`, `8G`, `512MiB`, `1.5G` (a unit is needed; K, M, G, T are powers of 1024), `80%` or `off`",
    "Switch": "`on`, `off`, `1`, `0`, `true`, `false`, `yes`, `no`",
    "Level": "`0`, `1`, `2`, `3`",
    "Policy": "`dtr`",
    "LogLevel": "`evict`",
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
        "`REFRAIN_STRICT=1`. The log's header and `--verbose 2` show each value and where it came from.",
        "",
        "| variable | flag | default | accepted | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kind, _, variable, flag, default, meaning in rows:
        shown = f"`{default}`" if default else "none"
        lines.append(f"| `{variable}` | `{flag}` | {shown} | {FORMS[kind]} | {meaning} |")
    lines += [
        "",
        "Only `refrain run` has `--device`, `--measure`, `--no-log`, `-q`, `-v` and `-n` (`--dry-run`): see `refrain run --help`.",
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


def log_page(root):
    page = (root / "docs/log-format.md").read_text()
    begin, end = "<!-- events -->\n", "<!-- /events -->"
    before, rest = page.split(begin)
    return before + begin + "\n" + event_tables(root) + "\n" + end + rest.split(end)[1]


def main():
    root = pathlib.Path(sys.argv[1])
    stale = []
    for path, fresh in ((root / "docs/options.md", options_page(root)), (root / "docs/log-format.md", log_page(root))):
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
