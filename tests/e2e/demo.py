"""Runs the demo's rows: each trainer without refrain, preloaded without a cap, and under caps. Every row must give the
same losses and weights to the last bit and stay inside its cap, as the software device itself counted."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAMS = {
    # caps in percent of the program's own peak
    "gpt": [70, 50, 40],
    "mlp": [],
}


class Row:
    def __init__(self, program, name, limit):
        self.program, self.name, self.limit = program, name, limit
        self.output = self.stats = self.end = self.problem = None


def results_of(output):
    """The lines that carry results: losses and the digest."""
    return [line for line in output.splitlines() if re.search(r"\bloss\b|\bdigest\b", line)]


def run_row(build, row, schedule, arguments, preload):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("REFRAIN_", "SIMGPU_"))}
        environment["SIMGPU_STATS"] = str(folder / "stats.json")
        environment["SIMGPU_SCHEDULE"] = schedule
        program = str(build / "bin/workloads" / row.program)
        if preload:
            command = [str(build / "bin/refrain"), "run", "--device", "sim", "--summary", "off", "--verbose", "0",
                       "--log", str(folder / "log.jsonl")]
            if row.limit:
                command += ["--limit", f"{row.limit}B"]
            command += ["--", program]
        else:
            environment["LD_LIBRARY_PATH"] = str(build / "lib/simgpu")
            command = [program]
        done = subprocess.run(command + arguments, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            row.problem = f"exit code {done.returncode}: {done.stderr.strip()[-400:]}"
            return
        row.output = results_of(done.stdout)
        row.stats = json.loads((folder / "stats.json").read_text())
        if preload:
            lines = (folder / "log.jsonl").read_text().splitlines()
            row.end = json.loads(lines[-1])
            if row.end.get("kind") != "end":
                row.problem = "the log has no end"


def judge(row, base):
    if row.problem:
        return
    if not row.output or row.output != base.output:
        row.problem = "results differ"
    elif row.limit and row.stats["peak_physical_bytes"] > row.limit:
        row.problem = f"held {row.stats['peak_physical_bytes']} bytes"
    elif row.stats["faults"] != 0:
        row.problem = f"{row.stats['faults']} faults on the device"
    elif row.limit and row.end["evictions"] == 0:
        row.problem = "nothing was evicted: the cap was no cap"


def rows_of(build, program, percents, schedule, arguments):
    base = Row(program, "without refrain", None)
    run_row(build, base, schedule, arguments, preload=False)
    yield base, base
    rows = [Row(program, "no cap", None)]
    if base.stats:
        peak = base.stats["peak_physical_bytes"]
        rows += [Row(program, f"cap {percent} %", peak * percent // 100) for percent in percents]
    for row in rows:
        run_row(build, row, schedule, arguments, preload=True)
        yield row, base


def overhead(row, base):
    if not row.stats or not base.stats:
        return None
    return row.stats["virtual_time_ns"] / base.stats["virtual_time_ns"] - 1


def text_of(row, base):
    if row.stats is None:
        return f"{row.program:<4} {row.name:<16} {row.problem}"
    end = row.end or {}
    limit = f"{row.limit:>12}" if row.limit else f"{'-':>12}"
    return (f"{row.program:<4} {row.name:<16} {limit} {row.stats['peak_physical_bytes']:>12} "
            f"{end.get('evictions', 0):>9} {end.get('rematerialisations', 0):>9} {100 * overhead(row, base):>8.1f} %  "
            f"{row.problem or 'identical'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--schedule", choices=["eager", "lazy"], default="eager")
    parser.add_argument("--arguments", default="", help="of the trainers")
    options = parser.parse_args()
    print(f"schedule {options.schedule}; bytes as counted by the software device; overhead in its virtual time")
    print(f"{'':<4} {'':<16} {'cap':>12} {'peak held':>12} {'evictions':>9} {'remat.':>9} {'overhead':>10}  results")
    rows, failed = [], False
    for program, percents in PROGRAMS.items():
        for row, base in rows_of(options.build, program, percents, options.schedule, options.arguments.split()):
            judge(row, base)
            failed = failed or row.problem is not None
            print(text_of(row, base), flush=True)
            end = row.end or {}
            rows.append({
                "program": row.program, "row": row.name, "limit_bytes": row.limit,
                "peak_physical_bytes": row.stats and row.stats["peak_physical_bytes"],
                "identical": row.output is not None and row.output == base.output,
                "evictions": end.get("evictions", 0), "rematerialisations": end.get("rematerialisations", 0),
                "overhead": overhead(row, base), "problem": row.problem,
            })
    if options.json:
        options.json.write_text(json.dumps({"schedule": options.schedule, "rows": rows}, indent=2) + "\n")
    print("all rows identical and inside their caps" if not failed else "FAILED")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
