"""What a user has around a run: naming tensors, live metrics, a log of bounded size, children, check, reports, an installed
refrain. Each judged from outside."""
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import termios
import threading

from harness import BUILD, Case, clean_environment


class Interface(Case):
    """include/refrain/refrain.h"""

    def test_names_and_marks_are_in_the_log(self):
        done = self.run_capped("96KiB", [self.victim("named")])
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"with refrain: [1-9]\d* evictions, at most \d+ bytes\nok\n")
        log = self.log()
        names = {line["buffer"]: line["text"] for line in log if line["kind"] == "name"}
        self.assertEqual(sorted(names.values()), sorted(f"layer{i}.output" for i in range(12)))
        self.assertEqual([line["text"] for line in log if line["kind"] == "mark"], ["step 0", "step 1", "step 2", "x" * 255 + "\ufffd"])
        report = self.refrain("report", "log.jsonl")
        self.assertRegex(report.stdout, r"tensors .*\n(.*\n)*?  layer\d+\.output ")

    def test_a_pinned_tensor_is_not_evicted_again(self):
        self.assert_ok(self.run_capped("96KiB", [self.victim("named")]))
        log = self.log()
        pinned = next(line["buffer"] for line in log if line["kind"] == "name" and line["text"] == "layer1.output")
        after = next(i for i, line in enumerate(log) if line["kind"] == "mark" and line["text"] == "step 1")
        self.assertFalse([line for line in log[after:] if line["kind"] == "evict" and line["buffer"] == pinned])
        self.assertTrue([line for line in log[after:] if line["kind"] == "evict"])

    def test_runs_without_refrain(self):
        done = self.plain([self.victim("named")])
        self.assert_ok(done)
        self.assertEqual(done.stdout, "without refrain\nok\n")


    def test_the_header_is_clean_in_each_language(self):
        include = pathlib.Path(__file__).resolve().parents[2] / "include"
        (self.folder / "use.h").write_text("#include <refrain/refrain.h>\nint main(void) { return refrain_is_active() != REFRAIN_INACTIVE; }\n")
        for compiler, language, standard in (("cc", "c", "c99"), ("cc", "c", "c17"), ("c++", "c++", "c++11"), ("c++", "c++", "c++20")):
            done = self.execute([compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{include}",
                                 "use.h", "-o", "use"])
            self.assert_ok(done)
            self.assert_ok(self.execute([str(self.folder / "use")]))


class Status(Case):
    def on_a_terminal(self, *options):
        """What a terminal of 24 rows gets. The program has done its work when it waits for a line; it gets one as soon as a
        status line was there, or after the end of its work where none is to come."""
        script = f"{self.victim('chain')} 16 16; echo worked; read line; echo went on"
        command = [str(BUILD / "bin/refrain"), "run", "--device", "sim", "--limit", "80KiB", "--no-log", "--summary", "off",
                   *options, "--", "/bin/sh", "-c", script]
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
            os.execve(command[0], command, clean_environment(REFRAIN_VERIFY="all"))
        seen, answered = "", False
        until = "worked" if options else "evictions"
        while True:
            try:
                seen += os.read(terminal, 4096).decode()
            except OSError:  # the program's side is closed
                break
            if until in seen and not answered:
                os.write(terminal, b"\n")
                answered = True
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, seen)
        os.close(terminal)
        self.assertIn("went on", seen)
        return seen

    def test_it_is_at_the_bottom_and_goes_with_the_program(self):
        seen = self.on_a_terminal()
        self.assertRegex(seen, r"\x1b\[1;23r\x1b8\x1b\[1A")
        text = re.search(r"\x1b7\x1b\[24;1H\x1b\[2m(refrain: .*?)\x1b\[0m\x1b\[K\x1b8", seen)[1]
        self.assertRegex(text, r"^refrain: (.* of 80.0 KiB, )?[1-9]\d* evictions \(\d+/s\), \d")
        self.assertLessEqual(len(text), 60)
        self.assertGreater(seen.rindex("\x1b7\x1b[r\x1b[24;1H\x1b[K\x1b8"), seen.index(text))

    def test_it_is_not_there_where_nobody_wants_it(self):
        for options in (("--status", "off"), ("--quiet",)):
            self.assertNotIn("\x1b", self.on_a_terminal(*options))
        self.assertNotIn("\x1b", self.run_capped("80KiB", [self.victim("chain"), "16", "16"]).stderr)

    def test_a_folder_gets_the_totals_of_each_process(self):
        (self.folder / "totals").mkdir()
        self.assert_ok(self.refrain("run", "--device", "sim", "--limit", "80KiB", "--no-log", "--status", "totals", "--",
                                    "/bin/sh", "-c", f"cd /; {self.victim('chain')} 16 16"))
        files = list((self.folder / "totals").iterdir())
        self.assertEqual(len(files), 1)
        self.assertRegex(files[0].read_text(), rf'refrain_evictions_total{{.*pid="{files[0].name}".*}} [1-9]\d*\n')
        done = self.run_capped("80KiB", [self.victim("chain")], "--status", "on")
        self.assertEqual(done.returncode, 125)
        self.assertEqual(done.stderr, "refrain: --status=on is not understood; accepted: auto, off, or a folder that can be written to\n")


class Metrics(Case):
    def metrics(self):
        text = (self.folder / "run.prom").read_text()
        for line in text.splitlines():
            self.assertRegex(line, r'^(# HELP refrain_\w+ .+|# TYPE refrain_\w+ (counter|gauge)|refrain_\w+\{host="[^"]*",pid="\d+",program="\w+"\} \d+)$')
        return {match[1]: int(match[2]) for match in re.finditer(r"^(refrain_\w+)\{.*\} (\d+)$", text, re.M)}

    def test_totals_are_there_at_the_end(self):
        self.assert_ok(self.run_capped("120KiB", [self.victim("chain"), "16", "16"], "--metrics", "run.prom"))
        end, metrics = self.log()[-1], self.metrics()
        self.assertEqual(metrics["refrain_evictions_total"], end["evictions"])
        self.assertEqual(metrics["refrain_peak_bytes"], end["peak_bytes"])
        self.assertFalse(list(self.folder.glob("*.part")))
        self.assert_ok(self.refrain("report", "log.jsonl", "--prometheus", "again.prom"))
        again = (self.folder / "again.prom").read_text()
        self.assertIn(f"refrain_evictions_total{{", again)
        self.assertEqual(again, (self.folder / "run.prom").read_text())

    def test_they_are_there_while_the_program_runs(self):
        """The file appears with the first eviction, long before the end, and is whole whenever it is read."""
        seen, ended = [], threading.Event()

        def watch():
            while not ended.is_set():
                if (self.folder / "run.prom").exists():
                    seen.append(self.metrics()["refrain_evictions_total"])

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            done = self.run_capped("6MiB", [self.workload("gpt"), "--steps", "4"], "--metrics", "run.prom")
        finally:
            ended.set()
            watcher.join()
        self.assert_ok(done)
        self.assertGreater(len(seen), 10)
        self.assertEqual(seen, sorted(seen))
        self.assertLess(seen[0], self.metrics()["refrain_evictions_total"])

    def test_a_place_that_cannot_be_written_is_said_once(self):
        done = self.preloaded([self.victim("chain"), "16", "16"], REFRAIN_LIMIT="120KiB", REFRAIN_METRICS="no/such/folder/run.prom")
        self.assert_ok(done)
        self.assertEqual(done.stderr.count("the metrics cannot be written to no/such/folder/run.prom"), 1)
        (self.folder / "folder").mkdir()
        done = self.preloaded([self.victim("chain"), "16", "16"], REFRAIN_METRICS="folder")
        self.assert_ok(done)
        self.assertIn("the metrics cannot be written to folder", done.stderr)
        self.assertEqual([path.name for path in self.folder.glob("folder*")], ["folder"])

    def test_a_pipe_or_a_device_stays_one(self):
        (self.folder / "null").symlink_to("/dev/null")
        self.assert_ok(self.run_capped("120KiB", [self.victim("chain"), "16", "16"], "--metrics", "null"))
        self.assertTrue((self.folder / "null").is_symlink())
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())


class LogSize(Case):
    def test_the_log_goes_on_in_a_new_file(self):
        self.assert_ok(self.run_capped("6MiB", [self.workload("gpt"), "--steps", "8"], "--log-size", "64KiB"))
        before, after = self.log("log.jsonl.1"), self.log()
        for part, name in ((before, "log.jsonl.1"), (after, "log.jsonl")):
            self.assertEqual(part[0]["kind"], "header")
            self.assertLess((self.folder / name).stat().st_size, (64 << 10) + 4096)
        self.assertEqual(before[0], after[0])
        self.assertEqual(before[-1]["seq"] + 1, after[1]["seq"])
        self.assertEqual(after[-1]["kind"], "end")
        self.assertEqual(after[-1]["dropped"], 0)
        self.assertIn("refrain: ok", self.refrain("report", "log.jsonl").stdout)

    def test_too_small_a_size_is_refused(self):
        done = self.run_capped("6MiB", [self.workload("gpt")], "--log-size", "1KiB")
        self.assertEqual(done.returncode, 125)
        self.assertIn("a log of 1KiB has no room for its header; at least 64KiB", done.stderr)


class Children(Case):
    def count_of_logs(self, *options, **variables):
        for path in self.folder.glob("log*"):
            path.unlink()
        done = self.refrain("run", "--device", "sim", "--limit", "120KiB", "--log", "log.%p.jsonl", *options, "--", "sh", "-c",
                            f"{self.victim('chain')} 16 16; {self.victim('chain')} 16 16", **variables)
        self.assert_ok(done)
        return len(list(self.folder.glob("log*")))

    def test_they_are_followed_or_not(self):
        self.assertEqual(self.count_of_logs(), 2)
        self.assertEqual(self.count_of_logs("--children", "off"), 0)

    def test_the_program_itself_is_still_managed(self):
        self.assert_ok(self.run_capped("120KiB", [self.victim("chain"), "16", "16"], "--children", "off"))
        self.assertGreater(self.log()[-1]["evictions"], 0)


class Frameworks(Case):
    """A Python program that could import PyTorch is given the setting for one allocation a tensor, and told so."""

    VARIABLE = "PYTORCH_NO_CUDA_MEMORY_CACHING"
    SHOW = f"import os; print(os.environ.get('{VARIABLE}'))"

    def setUp(self):
        super().setUp()
        (self.folder / "modules/torch").mkdir(parents=True)
        (self.folder / "modules/torch/__init__.py").write_text("raise SystemExit('it is only looked for')\n")

    def show(self, *options, program=("python3", "-c", SHOW), **variables):
        variables.setdefault("PYTHONPATH", str(self.folder / "modules"))
        done = self.refrain("run", "--device", "sim", "--no-log", *options, "--", *program, **variables)
        self.assert_ok(done)
        return done.stdout.strip(), done.stderr

    def test_it_is_set_and_said(self):
        value, said = self.show()
        self.assertEqual(value, "1")
        self.assertIn(f"refrain: PyTorch found: {self.VARIABLE}=1 is set", said)
        self.assertNotIn("TensorFlow", said)

    def test_not_where_it_is_not_wanted_or_set_already(self):
        self.assertEqual(self.show("--no-adapt")[0], "None")
        value, said = self.show(**{self.VARIABLE: "0"})
        self.assertEqual((value, "found" in said), ("0", False))

    def test_not_without_the_framework_or_without_python(self):
        self.assertEqual(self.show(PYTHONPATH="")[0], "None")
        self.assertEqual(self.show(program=("sh", "-c", f"echo ${self.VARIABLE}"))[0], "")

    def test_scripts_count_by_their_first_line(self):
        script = self.folder / "train.py"
        script.write_text(f"#!/usr/bin/env python3\n{self.SHOW}\n")
        script.chmod(0o755)
        self.assertEqual(self.show(program=(str(script),))[0], "1")


class Check(Case):
    def test_without_a_program_it_says_what_is_here(self):
        done = self.refrain("check", "--device", "sim")
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"(?m)^library +\S+/lib/librefrain\.so$")
        self.assertRegex(done.stdout, r"(?m)^device +the software device, in ")

    def test_a_program_is_run_and_nothing_is_left(self):
        done = self.refrain("check", "--device", "sim", "--", self.victim("effects"), "flags")
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"(?m)^kernels +\d+ in the program's file, \d+ can be replayed$")
        self.assertRegex(done.stdout, r"not: clocks\(unsigned int\*\): reads a clock")
        self.assertRegex(done.stdout, r"(?m)^refrain +active: \d+ driver functions looked up, \d+ of them hooked$")
        self.assertIn("kernel flagged(", done.stdout)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["stats.json"])

    def test_a_program_without_cuda_is_not_reached(self):
        done = self.refrain("check", "--device", "sim", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not reached: the program made no CUDA call", done.stdout)

    def test_what_cannot_work_is_said_before_it_is_run(self):
        done = self.refrain("check", "--device", "sim", "--", self.victim("static_runtime"), "16", "16")
        self.assertEqual(done.returncode, 125)
        self.assertIn("has the CUDA runtime linked in statically", done.stderr)
        self.assertEqual(self.refrain("check", "--", "no_such_program").returncode, 127)


class Report(Case):
    """Bad input, and outputs that are there whole or not at all; what reports say is in tests/unit/report."""

    def setUp(self):
        super().setUp()
        golden = pathlib.Path(__file__).resolve().parents[1] / "unit/report/golden"
        for name in ("run.jsonl", "killed.jsonl"):
            shutil.copy(golden / name, self.folder)

    def assert_refused(self, sentence, *arguments):
        done = self.refrain("report", *arguments)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(sentence, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_combinations_that_make_no_sense(self):
        self.assert_refused("--perfetto takes one log", "run.jsonl", "killed.jsonl", "--perfetto", "t.json")
        self.assert_refused("--diff compares one log with another", "run.jsonl", "killed.jsonl", "--diff", "run.jsonl")
        self.assert_refused("--diff is text only", "run.jsonl", "--diff", "killed.jsonl", "--html", "a.html")
        self.assert_refused("two reports cannot both be written to a", "run.jsonl", "--html", "a", "--json", "a")
        self.assert_refused("two reports cannot both be written to ./a", "run.jsonl", "--html", "a", "--json", "./a")
        self.assert_refused("would overwrite its own log run.jsonl", "run.jsonl", "--html", "run.jsonl")
        self.assertFalse(list(self.folder.glob("a*")))

    def test_files_that_are_no_logs(self):
        (self.folder / "text").write_text("hello\n")
        (self.folder / "newer").write_text('{"kind":"header","schema":99}\n')
        lines = (self.folder / "run.jsonl").read_text().splitlines()
        (self.folder / "damaged").write_text("\n".join([*lines[:5], lines[5][:20], *lines[6:]]) + "\n")
        (self.folder / "typed").write_text("\n".join([*lines[:5], lines[5].replace('"bytes":', '"bytes":"x","b":'), *lines[6:]]) + "\n")
        self.assert_refused("not a log of refrain", "text")
        self.assert_refused("log schema 99 is newer", "newer")
        self.assert_refused("line 6 of the log is damaged", "damaged")
        self.assert_refused("line 6 of the log has a field of the wrong type", "typed")
        self.assert_refused("cannot be read", "no_such_log")
        self.assert_refused("cannot be read", ".")

    def test_an_output_is_whole_or_not_there(self):
        self.assert_refused("no/folder/a.html cannot be written", "run.jsonl", "--html", "no/folder/a.html")
        lines = (self.folder / "run.jsonl").read_text().splitlines()
        (self.folder / "damaged").write_text("\n".join([*lines[:5], "{", *lines[6:]]) + "\n")
        (self.folder / "old.json").write_text("before")
        self.assert_refused("damaged", "damaged", "--perfetto", "old.json")
        self.assertEqual((self.folder / "old.json").read_text(), "before")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["damaged", "killed.jsonl", "old.json", "run.jsonl"])

    def test_what_is_no_file_stays_what_it_is(self):
        os.mkfifo(self.folder / "pipe")
        (self.folder / "target.html").write_text("before")
        (self.folder / "link.html").symlink_to("target.html")
        read = []
        reader = threading.Thread(target=lambda: read.append((self.folder / "pipe").read_text()))
        reader.start()
        self.assert_ok(self.refrain("report", "run.jsonl", "--json", "pipe", "--html", "link.html"))
        self.assertTrue((self.folder / "pipe").is_fifo())
        reader.join()
        self.assertGreater(json.loads(read[0])["evictions"], 0)
        self.assertTrue((self.folder / "link.html").is_symlink())
        self.assertIn("<html", (self.folder / "target.html").read_text())

    def test_one_file_under_two_names(self):
        (self.folder / "again.jsonl").symlink_to("run.jsonl")
        self.assert_refused("log again.jsonl is given twice", "run.jsonl", "again.jsonl")

    def test_standard_output_that_is_full_is_an_error(self):
        for arguments in (["report", "run.jsonl"], ["report", "run.jsonl", "--json", "-"], ["--help"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([BUILD / "bin/refrain", *arguments], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn("refrain: ", done.stderr)

    def test_every_form_at_once(self):
        self.assert_ok(self.refrain("report", "run.jsonl", "--html", "a.html", "--json", "a.json", "--perfetto", "a.trace", "--prometheus", "a.prom"))
        totals = json.loads((self.folder / "a.json").read_text())
        page = (self.folder / "a.html").read_text()
        metrics = (self.folder / "a.prom").read_text()
        trace = json.loads((self.folder / "a.trace").read_text())
        self.assertEqual(sum(event["ph"] == "i" for event in trace["traceEvents"]), totals["evictions"])
        self.assertIn(f'{totals["evictions"]} evictions', page)
        self.assertRegex(metrics, rf'(?m)^refrain_evictions_total\{{.*\}} {totals["evictions"]}$')


class Install(Case):
    """cmake --install to a folder; what is there works from there, and find_package finds it."""

    def test_an_installed_refrain_works(self):
        prefix = self.folder / "prefix"
        subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(prefix)], check=True, capture_output=True)
        for name in ("bin/refrain", "lib/librefrain.so", "lib/refrain/simgpu/libcuda.so.1", "include/refrain/refrain.h",
                     "lib/cmake/refrain/refrainConfig.cmake", "share/man/man1/refrain.1",
                     "share/bash-completion/completions/refrain", "share/doc/refrain/docs/options.md"):
            self.assertTrue((prefix / name).exists(), name)
        done = self.execute([str(prefix / "bin/refrain"), "run", "--device", "sim", "--limit", "120KiB", "--log", "log.jsonl", "--",
                             self.victim("chain"), "16", "16"])
        self.assert_ok(done)
        self.assertGreater(self.log()[-1]["evictions"], 0)

        source = self.folder / "example"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(example C)\nfind_package(refrain 0.1 REQUIRED)\n"
            "add_executable(example example.c)\ntarget_link_libraries(example refrain::refrain)\n")
        (source / "example.c").write_text(
            "#include <refrain/refrain.h>\n#include <stdio.h>\n"
            "int main(void) { puts(refrain_is_active() == REFRAIN_OK ? \"with\" : \"without\"); return 0; }\n")
        for command in (["cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={prefix}"], ["cmake", "--build", "b"]):
            built = subprocess.run(command, cwd=source, capture_output=True, text=True)
            self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        self.assertEqual(self.execute([str(source / "b/example")]).stdout, "without\n")

    def test_the_completion_offers_what_is_there(self):
        script = f'source {BUILD}/manual/refrain.bash; COMP_WORDS=(refrain run --lim); COMP_CWORD=2; _refrain; echo "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        self.assertEqual(done.stdout, "--limit\n", done.stderr)
