"""Every form of the report, of logs that stay as they are, compared to the byte with what it was. Logs of earlier versions are
among them: they must stay readable. golden_test.py REFRAIN [--write]"""
import json
import pathlib
import subprocess
import sys

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
LOGS = ["run", "first_version", "killed"]
FORMS = {"txt": [], "json": ["--json", "-"], "html": ["--html", "-"], "prom": ["--prometheus", "-"], "trace.json": ["--perfetto", "-"]}


def report(refrain, *arguments):
    done = subprocess.run([refrain, "report", *arguments], cwd=GOLDEN, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"refrain report {' '.join(arguments)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def cases(refrain):
    for log in LOGS:
        for form, arguments in FORMS.items():
            yield f"{log}.{form}", report(refrain, f"{log}.jsonl", *arguments)
    yield "ranks.txt", report(refrain, "run.jsonl", "killed.jsonl")
    yield "ranks.html", report(refrain, "run.jsonl", "killed.jsonl", "--html", "-")
    yield "diff.txt", report(refrain, "run.jsonl", "--diff", "killed.jsonl")


def check_sums(name):
    """What the events add up to is what the end says."""
    lines = [json.loads(line) for line in (GOLDEN / f"{name}.jsonl").read_text().splitlines()]
    end = lines[-1]
    evicted = [line for line in lines if line["kind"] == "evict"]
    back = [line for line in lines if line["kind"] == "rematerialise"]
    sums = {
        "events": len(lines) - 2, "evictions": len(evicted), "evicted_bytes": sum(line["bytes"] for line in evicted),
        "rematerialisations": len(back), "replayed_ops": sum(line["ops"] for line in back),
        "replayed_ns": sum(line["cost_ns"] for line in back),
        "offloaded_bytes": sum(line["copied_bytes"] for line in evicted),
        "restored_bytes": sum(line["bytes"] for line in back if line["from_host"]),
        "compared": sum(line["compared"] for line in back),
    }
    return [f"{name}: {key} is {end[key]} at the end, and {value} from the events" for key, value in sums.items() if end[key] != value]


def check_page(name):
    """One file: nothing is fetched, and it is small."""
    text = (GOLDEN / name).read_text()
    wrong = [f"{name}: {word} in the page" for word in ("http:", "https:", "src=", "href=", "url(", "@import") if word in text]
    return wrong + ([f"{name}: {len(text)} bytes"] if len(text) > 1_000_000 else [])


def main():
    refrain, write = sys.argv[1], "--write" in sys.argv
    wrong = check_sums("run")
    for name, text in cases(refrain):
        path = GOLDEN / name
        if write:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong.append(f"{name} is not what the report says now; tests/unit/report/golden_test.py REFRAIN --write renews it")
        if name.endswith("txt"):
            wrong += [f"{name}: more than 100 columns: {line}" for line in text.splitlines() if len(line) > 100]
    for page in ("run.html", "ranks.html"):
        wrong += check_page(page)
    print("\n".join(wrong) or "every report is what it was")
    return 1 if wrong else 0


sys.exit(main())
