"""Static schemes on published logs and on records: what each takes and costs, on paper and in the engine, and what h_DTR and a plan cost in the same memory.
Prints docs/policies.md's table. schemes.py BUILD LOG ... (*.log: published with DTR; others: records)"""
import json
import pathlib
import subprocess
import sys

SCHEMES = ["full", "sqrt", "blocks", "selective", "revolve"]


def simulate(build, log, *options):
    form = "dtr" if log.suffix == ".log" else "trace"
    done = subprocess.run([str(build / "bin/refrain"), "simulate", str(log), "--format", form, "--json", "-", *options],
                          capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def shown(row):
    return {"ok": f"{row['total_over_base_compute'] or 0:.3f}", "out_of_memory": "out of memory", "over_2x": "over 2"}[row["status"]]


def main():
    build = pathlib.Path(sys.argv[1])
    print("| log | scheme | memory | on paper | in the engine | h_DTR in as much | planned in as much |\n| --- | --- | --- | --- | --- | --- | --- |")
    for log in map(pathlib.Path, sys.argv[2:]):
        for scheme in SCHEMES:
            rows = simulate(build, log, "--policy", scheme)
            if rows is None:
                print(f"| {log.stem} | {scheme} | - | - | | | |")
                continue
            limit = f"{rows[0]['peak_bytes']}B"
            others = simulate(build, log, "--policy", "dtr", "planned", "--plan-seconds", "0.5", "--limit", limit)
            print(f"| {log.stem} | {scheme} | {rows[0]['budget_ratio']:.3f} | {shown(rows[0])} | {shown(rows[1])} | {shown(others[0])} | {shown(others[1])} |",
                  flush=True)


if __name__ == "__main__":
    main()
