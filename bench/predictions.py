"""Policies on records of the demo's trainers, simulated at shares of their peak, and real runs on the software device beside
them: what the simulation said of the device's clock, and what the clock said. Prints docs/benchmarks.md's table.
predictions.py BUILD [PROGRAM ...]"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# Of SIMGPU_PROFILE a100: create, release, map with access, unmap, launch, node of a graph.
CALL_NS = "29000,23000,38000,26000,3000,1000"
SHARES = ["0.7", "0.5", "0.4", "0.3"]
RUN = ["planned", "dtr", "lru", "size"]


def execute(command, folder):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("REFRAIN_", "SIMGPU_"))}
    environment["SIMGPU_STATS"] = str(folder / "stats.json")
    return subprocess.run(list(map(str, command)), env=environment, cwd=folder, capture_output=True, text=True)


def real(build, program, policy, limit, folder):
    """The device's clock, or None where the run ran out of memory."""
    done = execute([build / "bin/refrain", "run", "--device", "sim", "-q", "-f", "--log", "log.jsonl", "--policy", policy, "--limit",
                    f"{limit}B", "--offload", "off", "--verify", "off", "--", build / "bin/workloads" / program], folder)
    end = json.loads((folder / "log.jsonl").read_text().splitlines()[-1])
    if done.returncode != 0 or end["oom"] > 0:
        return None, end
    return json.loads((folder / "stats.json").read_text())["virtual_time_ns"], end


def shown(row):
    return {"ok": f"{row['total_over_base_compute'] or 0:.3f}", "out_of_memory": "out of memory", "over_2x": "over 2"}[row["status"]]


def compared(row, clock_ns, end):
    if clock_ns is None:
        return "out of memory" if row["status"] == "out_of_memory" else "out of memory, NOT as predicted"
    if row["status"] != "ok":
        return f"{clock_ns / 1e6:.2f} ms, recomputed {end['replayed_ns'] / end['program_ns']:.0%}"
    return f"{row['device_ns'] / 1e6:.2f} / {clock_ns / 1e6:.2f} ms ({row['device_ns'] / clock_ns - 1:+.1%})"


def table(build, program, folder):
    record = folder / f"{program}.trace"
    execute([build / "bin/refrain", "run", "--device", "sim", "-q", "-f", "--no-log", "--record", record, "--",
             build / "bin/workloads" / program], folder)
    simulate = [build / "bin/refrain", "simulate", record, "--json", "-"]
    peak = json.loads(execute([*simulate, "--advise"], folder).stdout)["peak_bytes"]
    rows = json.loads(execute([*simulate, "--policy", "all", "--budget", *SHARES, "--plan-seconds", "0.5", "--call-ns", CALL_NS],
                              folder).stdout)
    for policy in dict.fromkeys(row["policy"] for row in rows):
        own = [row for row in rows if row["policy"] == policy]
        if own[0].get("account") == "paper":  # a static scheme has one memory of its own
            print(f"| {program} | {policy} | {own[0]['budget_ratio']:.3f}: {shown(own[0])}, in the engine {shown(own[1])} | | | |")
            continue
        cells = [shown(row) for row in own]
        if policy in RUN:
            for at, share in enumerate(SHARES):
                limit = int(peak * float(share))
                cells[at] += "<br>" + compared(own[at], *real(build, program, policy, limit, folder))
        print(f"| {program} | {policy} | {' | '.join(cells)} |", flush=True)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    print("| program | policy | 70 % | 50 % | 40 % | 30 % |\n| --- | --- | --- | --- | --- | --- |")
    for program in sys.argv[2:] or ["gpt", "mlp", "convnet"]:
        with tempfile.TemporaryDirectory() as name:
            table(build, program, pathlib.Path(name))


if __name__ == "__main__":
    main()
