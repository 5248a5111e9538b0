"""A log as large as wanted, made by repeating a real one: for `refrain report` on large logs. repeat_log.py LOG BYTES > BIG"""
import json
import sys


def main():
    lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
    wanted, written, seq, turn = int(sys.argv[2]), 0, 0, 0
    header, body, end = lines[0], [json.loads(line) for line in lines[1:-1]], json.loads(lines[-1])
    # What stands before and behind the two numbers that change.
    rows = [(line["t_ns"], json.dumps({key: value for key, value in line.items() if key not in ("seq", "t_ns")}, separators=(",", ":"))[1:]) for line in body]
    span = rows[-1][0]
    print(header)
    while written < wanted:
        text = "".join(f'{{"seq":{seq + i},"t_ns":{t + turn * span},{rest}\n' for i, (t, rest) in enumerate(rows))
        sys.stdout.write(text)
        written, seq, turn = written + len(text), seq + len(rows), turn + 1
    print(json.dumps({**end, "seq": seq, "t_ns": turn * span, "events": seq}, separators=(",", ":")))


main()
