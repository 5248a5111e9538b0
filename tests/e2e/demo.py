"""Runs the demo's rows: each trainer without refrain, preloaded without a cap, and under caps. Every row must give the
same losses and weights to the last bit and stay inside its cap. On the software device, what was held is what the
device itself counted; on a real one it is refrain's own account."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

PROGRAMS = {
    # caps in percent of the program's own peak; mlp allocates once and writes the same buffers in every step
    "gpt": [70, 50, 40],
    "mlp": [70, 50],
    # running statistics that change in place, two streams; allocates once
    "convnet": [70, 60],
}


class Row:
    def __init__(self, program, name, limit):
        self.program, self.name, self.limit = program, name, limit
        self.output = self.end = self.problem = self.oom = None
        self.peak_bytes = self.time_ns = None


class Simulated:
    """The software device: judged by its own statistics, timed by its own clock."""

    name = "sim"

    def __init__(self, build, schedule, options):
        self.build, self.schedule, self.options = build, schedule, options

    def title(self):
        return (f"software device, schedule {self.schedule}; bytes as it counted them, times are its virtual ones, which\n"
                "are the same in every schedule: only what runs when differs.\n"
                "to host: values copied out, because they are leaves, cheaper to copy, or their kernel is not yet trusted.\n"
                "recomputed: replayed ops over the program's own. overhead: all, with mapping calls, which cost more than\n"
                "kernels where tensors are as small as here (docs/benchmarks.md)")

    def environment(self, folder, preload):
        values = {"SIMGPU_STATS": str(folder / "stats.json"), "SIMGPU_SCHEDULE": self.schedule}
        if not preload:
            values["LD_LIBRARY_PATH"] = str(self.build / "lib/simgpu")
            if os.environ.get("SANITIZER_RUNTIME"):
                values["LD_PRELOAD"] = os.environ["SANITIZER_RUNTIME"]
        return values

    def account(self, row, folder, _wall_ns):
        stats = json.loads((folder / "stats.json").read_text())
        row.peak_bytes, row.time_ns = stats["peak_physical_bytes"], stats["virtual_time_ns"]
        if stats["faults"]:
            row.problem = f"{stats['faults']} faults on the device"


class Real:
    """A GPU: the driver counts nothing for us, and time is the wall's."""

    name = "cuda"

    def __init__(self, build, options):
        self.build, self.options = build, options

    def title(self):
        return "real device; bytes as refrain counted them, times are the whole process's"

    def environment(self, _folder, _preload):
        return {}

    def account(self, row, _folder, wall_ns):
        row.peak_bytes, row.time_ns = row.end and row.end["peak_bytes"], wall_ns


def run_row(device, row, arguments, preload):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("REFRAIN_", "SIMGPU_"))}
        environment["ASAN_OPTIONS"] = "detect_leaks=0"
        environment.update(device.environment(folder, preload))
        command = [str(device.build / "bin/workloads" / row.program), *arguments]
        if preload:
            limit = ["--limit", f"{row.limit}B"] if row.limit else []
            command = [str(device.build / "bin/refrain"), "run", "--device", device.name, "--summary", "off", "--verbose", "0",
                       "--log", str(folder / "log.jsonl"), *device.options, *limit, "--", *command]
        begin = time.monotonic_ns()
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        wall_ns = time.monotonic_ns() - begin
        log = folder / "log.jsonl"
        events = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        row.oom = next((event for event in reversed(events) if event.get("kind") == "oom"), None)
        if done.returncode != 0:
            row.problem = f"exit code {done.returncode}: {done.stderr.strip()[-400:]}"
            return
        row.output = [line for line in done.stdout.splitlines() if re.search(r"\bloss\b|\bdigest\b", line)]
        if preload:
            row.end = events[-1]
            if row.end.get("kind") != "end":
                row.problem = "the log has no end"
        device.account(row, folder, wall_ns)


def judge(row, base, must_evict=True):
    if row.problem:
        return
    if not row.output or row.output != base.output:
        row.problem = "results differ"
    elif row.limit and row.peak_bytes > row.limit:
        row.problem = f"held {row.peak_bytes} bytes"
    elif row.limit and must_evict and row.end["evictions"] == 0:
        row.problem = "nothing was evicted: the cap was no cap"


def rows_of(device, program, percents, arguments):
    base = Row(program, "without refrain", None)
    run_row(device, base, arguments, preload=False)
    yield base, base
    uncapped = Row(program, "no cap", None)
    run_row(device, uncapped, arguments, preload=True)
    yield uncapped, base
    # On a real device nobody counts without us: the program's own peak is then what it wanted when uncapped.
    peak = base.peak_bytes or (uncapped.end and uncapped.end["wanted_bytes"])
    for percent in percents if peak else []:
        row = Row(program, f"cap {percent} %", peak * percent // 100)
        run_row(device, row, arguments, preload=True)
        yield row, base


def bound_of(row):
    """What stood in the way of a lower cap, in the log's numbers."""
    if row.oom:
        return (f"asked {row.oom['asked_bytes']}, in use {row.oom['used_bytes']}, of it needed at once or pinned "
                f"{row.oom['pinned_bytes']}, on the host {row.oom['host_bytes']}")
    return row.problem or "nothing was tried below"


def sweep(device, program, step, arguments):
    """Caps from the program's own peak downward until one fails: every row above must be right. Returns whether it was."""
    base = Row(program, "without refrain", None)
    run_row(device, base, arguments, preload=False)
    judge(base, base)
    lowest, row = None, base
    for percent in range(100, 0, -step) if not base.problem else []:
        row = Row(program, f"cap {percent} %", base.peak_bytes * percent // 100)
        run_row(device, row, arguments, preload=True)
        judge(row, base, must_evict=False)
        if row.problem:
            break
        lowest = percent
    print(f"{program:<10} {device.schedule:<10} lowest {lowest} %; below: {bound_of(row)}", flush=True)
    # Too small a cap is an honest out of memory; anything else is a failure of refrain's.
    return lowest is not None and (row.problem is None or row.oom is not None)


def overhead(row, base):
    return row.time_ns / base.time_ns - 1 if row.time_ns and base.time_ns else None


def recomputed(row):
    """Replayed device time over the program's own: what recomputation alone costs."""
    return row.end["replayed_ns"] / row.end["program_ns"] if row.end and row.end["program_ns"] else 0.0


def text_of(row, base):
    end = row.end or {}
    percent = lambda value: f"{100 * value:>8.1f} %" if value is not None else f"{'-':>10}"
    number = lambda value: f"{value:>12}" if value else f"{'-':>12}"
    return (f"{row.program:<10} {row.name:<15} {number(row.limit)} {number(row.peak_bytes)} {end.get('evictions', 0):>9} "
            f"{end.get('rematerialisations', 0):>7} {end.get('offloads', 0):>7} {percent(recomputed(row))} {percent(overhead(row, base))}  "
            f"{row.problem or 'identical'}")


def json_of(row, base):
    end = row.end or {}
    return {
        "program": row.program, "row": row.name, "limit_bytes": row.limit, "peak_physical_bytes": row.peak_bytes,
        "identical": row.output is not None and row.output == base.output, "evictions": end.get("evictions", 0),
        "rematerialisations": end.get("rematerialisations", 0), "offloads": end.get("offloads", 0),
        "host_peak_bytes": end.get("host_peak_bytes", 0), "compared": end.get("compared", 0),
        "mismatches": end.get("mismatches", 0), "recomputed": recomputed(row),
        "overhead": overhead(row, base), "problem": row.problem,
    }


def schedule(text):
    if not re.fullmatch(r"eager|lazy|random:\d+", text):
        raise argparse.ArgumentTypeError(f"{text} is not understood; accepted: eager, lazy, random:SEED")
    return text


def main():
    parser = argparse.ArgumentParser(prog="run-demo", description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--device", choices=["sim", "cuda"], default="sim")
    parser.add_argument("--schedule", default="eager", type=schedule, help="of the software device: eager, lazy or random:SEED")
    parser.add_argument("--check", action="store_true", help="only look at the arguments")
    parser.add_argument("--arguments", default="", help="for the trainers")
    parser.add_argument("--policy", default="planned", help="of refrain run")
    parser.add_argument("--verify", default="sample", help="of refrain run")
    parser.add_argument("--caps", type=int, nargs="+", metavar="PERCENT", help="of each program's own peak, instead of its usual ones")
    parser.add_argument("--programs", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS), help="which trainers")
    parser.add_argument("--suffix", default="", help="of the programs' names: _static for the runtime linked in")
    parser.add_argument("--sweep", type=int, metavar="STEP",
                        help="instead of the rows: caps from 100 %% down in steps of so many percent, to the lowest that works")
    options = parser.parse_args()
    if options.sweep is not None and (options.device != "sim" or not 1 <= options.sweep <= 50):
        parser.error("--sweep takes 1 to 50, and the software device, which counts what a program held by itself")
    if options.check:
        return 0
    passed = ["--policy", options.policy, "--verify", options.verify]
    device = Real(options.build, passed) if options.device == "cuda" else Simulated(options.build, options.schedule, passed)
    if options.sweep:
        done = [sweep(device, program + options.suffix, options.sweep, options.arguments.split()) for program in options.programs]
        return 0 if all(done) else 1
    print(device.title())
    print(f"{'':<10} {'':<15} {'cap':>12} {'peak held':>12} {'evictions':>9} {'remat.':>7} {'to host':>7} {'recomputed':>10} {'overhead':>10}  results")
    rows, failed = [], False
    for program in options.programs:
        for row, base in rows_of(device, program + options.suffix, options.caps or PROGRAMS[program], options.arguments.split()):
            judge(row, base)
            failed = failed or row.problem is not None
            print(text_of(row, base), flush=True)
            rows.append(json_of(row, base))
    if options.json:
        options.json.write_text(json.dumps({"device": device.name, "rows": rows}, indent=2) + "\n")
    print("FAILED" if failed else "all rows identical and inside their caps")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
