"""refrain on real programs: results, caps, schedules, errors, ends."""
import json
import os
import signal
import subprocess
import unittest

import harness
from harness import BUILD, Case

CHAIN_BYTES = 16 * 1024
SCHEDULES = ("eager", "lazy", "random:1", "random:2")


def stated(offset, roles):
    """roles: r, w, and o where all of it is overwritten."""
    return {"offset": offset, "read": "r" in roles, "written": "w" in roles, "whole_overwrite": "o" in roles}


def entry(name, replayable, **pointers):
    """entry("next", True, p0="r", p8="wo")"""
    return {"name": name, "replayable": replayable, "parameters": [stated(int(k[1:]), v) for k, v in pointers.items()]}


class Chain(Case):
    """16 buffers of 16 KiB, each made from the one before, and read backward."""

    command = property(lambda self: [self.victim("chain"), "16", "16"])

    def test_needs_more_than_the_cap_alone(self):
        self.assert_ok(self.plain(self.command))
        self.assertGreaterEqual(self.stats()["peak_physical_bytes"], 17 * CHAIN_BYTES)

    def test_same_results_inside_the_cap(self):
        for schedule in SCHEDULES:
            for buffers in (3, 5, 9):
                with self.subTest(schedule=schedule, buffers=buffers):
                    limit = buffers * CHAIN_BYTES
                    done = self.run_capped(f"{limit}B", self.command, SIMGPU_SCHEDULE=schedule)
                    self.assert_ok(done)
                    self.assertLessEqual(self.stats()["peak_physical_bytes"], limit)
                    end = self.log()[-1]
                    self.assertEqual(end["kind"], "end")
                    self.assertGreater(end["evictions"], 0)
                    self.assertGreater(end["rematerialisations"], 0)

    def test_granularity_of_a_real_gpu(self):
        done = self.run_capped("8MiB", [self.victim("chain"), "8", "2048"], SIMGPU_GRANULARITY="2MiB")
        self.assert_ok(done)
        self.assertLessEqual(self.stats()["peak_physical_bytes"], 8 << 20)
        self.assertGreater(self.log()[-1]["evictions"], 0)

    def test_variables_alone_do_the_same(self):
        done = self.preloaded(self.command, REFRAIN_LIMIT="80KiB", REFRAIN_LOG="log.jsonl")
        self.assert_ok(done)
        self.assertIn("refrain: ok - ", done.stderr)
        self.assertLessEqual(self.stats()["peak_physical_bytes"], 80 << 10)

    def test_no_cap_evicts_nothing(self):
        self.assert_ok(self.preloaded(self.command, REFRAIN_LOG="log.jsonl"))
        self.assertEqual(self.log()[-1]["evictions"], 0)

    def test_disabled_touches_nothing(self):
        done = self.preloaded(self.command, REFRAIN_DISABLE="1", REFRAIN_LIMIT="80KiB")
        self.assert_ok(done)
        self.assertEqual(done.stderr, "")
        self.assertEqual(self.stats()["map_calls"], 0)

    def test_log_adds_up(self):
        self.assert_ok(self.run_capped("80KiB", self.command))
        header, *events, end = self.log()
        self.assertEqual(header["kind"], "header")
        self.assertEqual(header["options"]["limit"], {"value": "80KiB", "from": "environment"})
        self.assertEqual([event["seq"] for event in events], list(range(len(events))))
        evictions = [event for event in events if event["kind"] == "evict"]
        self.assertEqual(len(evictions), end["evictions"])
        self.assertEqual(sum(event["bytes"] for event in evictions), end["evicted_bytes"])
        back = [event for event in events if event["kind"] == "rematerialise"]
        self.assertEqual(len(back), end["rematerialisations"])
        self.assertEqual(sum(event["ops"] for event in back), end["replayed_ops"])
        self.assertAlmostEqual(sum(event["cost_ns"] for event in back), end["replayed_ns"], delta=len(back))
        self.assertEqual(end["events"], len(events))
        for event in evictions:
            self.assertLessEqual(event["score"], event["runner_up_score"])

    def test_percent_of_the_measured_peak(self):
        done = self.refrain("run", "--device", "sim", "--limit", "50%", "--measure", "--log", "log.jsonl", "--", *self.command)
        self.assert_ok(done)
        self.assertEqual(done.stdout, "ok\n")
        self.assertIn("measured a peak of", done.stderr)
        peak = 17 * CHAIN_BYTES
        self.assertLessEqual(self.stats()["peak_physical_bytes"], peak // 2)

    def test_percent_of_the_device(self):
        self.assert_ok(self.run_capped("50%", self.command, SIMGPU_MEMORY="160KiB"))
        self.assertLessEqual(self.stats()["peak_physical_bytes"], 80 << 10)


class Arena(Case):
    """Two allocations of 12 tensors of 5,000 words each, none of them on a page's edge, used in 4 steps."""

    command = property(lambda self: [self.victim("arena"), "12", "5000", "4"])
    tensor_bytes = 20_000

    def test_wants_all_of_it_alone(self):
        self.assert_ok(self.plain(self.command))
        self.assertGreaterEqual(self.stats()["peak_physical_bytes"], 25 * self.tensor_bytes)

    def test_parts_are_evicted_and_made_again(self):
        for schedule in SCHEDULES:
            for percent in (95, 85):
                with self.subTest(schedule=schedule, percent=percent):
                    limit = 25 * self.tensor_bytes * percent // 100
                    done = self.run_capped(f"{limit}B", self.command, SIMGPU_SCHEDULE=schedule)
                    self.assert_ok(done)
                    self.assertLessEqual(self.stats()["peak_physical_bytes"], limit)
                    self.assertGreater(self.log()[-1]["evictions"], 0)
                    self.assertGreater(self.log()[-1]["rematerialisations"], 0)

    def test_freed_and_allocated_again(self):
        limit = 25 * self.tensor_bytes * 80 // 100
        self.assert_ok(self.run_capped(f"{limit}B", [*self.command, "again"]))
        self.assertLessEqual(self.stats()["peak_physical_bytes"], limit)
        self.assertGreater(self.log()[-1]["rematerialisations"], 0)

    def test_one_allocation_is_more_than_the_cap(self):
        # Larger tensors than above: the pages that neighbours share stay, and so does a slab.
        tensors, words = 12, 50_000
        for schedule in SCHEDULES:
            for percent in (95, 60):
                with self.subTest(schedule=schedule, percent=percent):
                    limit = tensors * words * 4 * percent // 100
                    command = [self.victim("arena"), str(tensors), str(words), "2", "again"]
                    self.assert_ok(self.run_capped(f"{limit}B", command, SIMGPU_SCHEDULE=schedule))
                    self.assertLessEqual(self.stats()["peak_physical_bytes"], limit)
                    self.assertGreater(self.log()[-1]["rematerialisations"], 0)

    def test_all_of_what_is_more_than_the_cap_at_once_is_out_of_memory(self):
        limit = 12 * self.tensor_bytes * 95 // 100
        done = self.run_capped(f"{limit}B", [self.victim("arena"), "12", "5000", "1"])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("whole.data(), arena", done.stderr)
        self.assertIn("refrain: out of memory: asked", done.stderr)
        self.assertLessEqual(self.stats()["peak_physical_bytes"], limit)

    def test_tensors_smaller_than_a_page_share_it(self):
        done = self.run_capped("300KiB", [self.victim("arena"), "24", "700", "3"])
        self.assert_ok(done)


class Indices(Case):
    """A kernel reads the tensor of an arena that a table on the device says: 8 tensors of 5,000 words, and half as much
    beside it."""

    command = property(lambda self: [self.victim("indices"), "8", "5000"])
    tensor_bytes = 20_000

    def test_wants_all_of_it_alone(self):
        self.assert_ok(self.plain(self.command))
        self.assertGreaterEqual(self.stats()["peak_physical_bytes"], 12 * self.tensor_bytes)

    def test_a_table_that_was_copied_bounds_what_is_read(self):
        # The arena and the 64 KiB for small allocations do not fit together: a read of anywhere would not.
        limit = 10 * self.tensor_bytes
        self.assertLess(limit, 8 * self.tensor_bytes + (64 << 10))
        for schedule in SCHEDULES:
            with self.subTest(schedule=schedule):
                done = self.run_capped(f"{limit}B", [*self.command, "copy"], SIMGPU_SCHEDULE=schedule)
                self.assert_ok(done)
                self.assertLessEqual(self.stats()["peak_physical_bytes"], limit)
                self.assertGreater(self.log()[-1]["rematerialisations"], 0)

    def test_what_a_kernel_may_still_write_is_not_believed(self):
        done = self.run_capped(f"{10 * self.tensor_bytes}B", [*self.command, "talk"])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("refrain: out of memory: asked", done.stderr)

    def test_whatever_changes_the_table_ends_that(self):
        limit = 12 * self.tensor_bytes
        for schedule in SCHEDULES:
            for way in ("copy", "kernel", "memset", "device", "pinned", "parts", "thread", "again", "rows", "graph", "host",
                        "back", "unknown", "talk", "answer", "itself"):
                with self.subTest(schedule=schedule, way=way):
                    self.assert_ok(self.run_capped(f"{limit}B", [*self.command, way], SIMGPU_SCHEDULE=schedule))
                    self.assertLessEqual(self.stats()["peak_physical_bytes"], limit)
                    self.assertGreater(self.log()[-1]["evictions"], 0)


class Effects(Case):
    """What differs when it is made again, or shows no bounds, is kept as it was; the rest is made again."""

    NEVER = {
        "float_atomics": "adds floating-point numbers atomically", "tickets": "uses what an atomic operation returns",
        "clocks": "reads a clock", "places": "reads where it is placed", "globals": "reads a variable of the module",
        "flags": "has volatile or ordered accesses",
    }
    BARRIERS = {"prints": "calls a function whose body is not in the module", "through": "an address that was loaded from memory"}
    REPLAYED = ("count_atomics", "asserts", "draws")

    def run_way(self, way, schedule="eager", *options, **variables):
        done = self.run_capped("170KiB", [self.victim("effects"), way], *options, SIMGPU_SCHEDULE=schedule, **variables)
        self.assert_ok(done)
        self.assertGreater(self.log()[-1]["evictions"], 0)
        return done, self.log()[-1]

    def test_never_replayed(self):
        for way, why in self.NEVER.items():
            with self.subTest(way=way):
                done, end = self.run_way(way)
                self.assertRegex(done.stderr, f"kernel .*{way[:4]}.* is never replayed: .*{why}")
                self.assertEqual((end["barriers"], end["unreplayable"] > 0), (0, True))

    def test_barriers(self):
        for way, why in self.BARRIERS.items():
            with self.subTest(way=way):
                done, end = self.run_way(way)
                self.assertRegex(done.stderr, f"kernel .*{why}.* cannot be followed")
                self.assertEqual(end["barriers"], 1)

    def test_a_false_manifest_is_found_out_and_nothing_is_lost(self):
        """It hides what the kernel reads by way of a table, which then changes: replayed, it gives something else."""
        (self.folder / "manifest.json").write_text(json.dumps({"kernels": [entry("peek(*", True, p0="r", p8="wo")]}))
        for verify in ("sample", "all"):
            for schedule in SCHEDULES:
                with self.subTest(verify=verify, schedule=schedule):
                    done, end = self.run_way("peeks", schedule, "--manifest", "manifest.json", REFRAIN_VERIFY=verify)
                    self.assertIn("differ from what they were; put right from the copy on the host", done.stderr)
                    self.assertEqual((end["mismatches"], end["unrepaired"], end["quarantined"]), (1, 0, 1))
                    told = [line for line in self.log() if line["kind"] == "mismatch"]
                    self.assertEqual(len(told), 1)
                    self.assertRegex(told[0]["op"], r"kernel _Z4peek\w+, grid \d+x1x1, block \d+x1x1, shared 0, parameters [0-9a-f]+")
                    self.assertNotEqual(told[0]["expected"], told[0]["found"])

    def test_functions_of_what_is_in_memory(self):
        for schedule in SCHEDULES:
            for way in self.REPLAYED:
                with self.subTest(way=way, schedule=schedule):
                    done, end = self.run_way(way, schedule)
                    self.assertNotIn("never replayed", done.stderr)
                    self.assertEqual((end["barriers"], end["unreplayable"]), (0, 0))
                    # `in` and what was made of it
                    self.assertGreater(end["rematerialisations"], 13)


class Blas(Case):
    """Kernels without PTX: what cuBLAS and cuRAND launch. Between them the chain above, three times."""

    CHAIN, MATRICES = 17 * CHAIN_BYTES, 3 * 4096
    # A cuBLAS handle has a little memory on the device: one is the program's, one refrain's.
    AROUND = MATRICES + 2 * 4096

    def command(self, products=0):
        return [self.victim("blas_victim"), "16", "16", str(products)]

    def digest(self, done):
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"^digest [0-9a-f]{16}\n$")
        return done.stdout

    def test_same_bytes_inside_the_cap(self):
        for schedule in SCHEDULES:
            wanted = self.digest(self.plain(self.command(), SIMGPU_SCHEDULE=schedule))
            self.assertGreaterEqual(self.stats()["peak_physical_bytes"], self.CHAIN + self.MATRICES)
            for limit in (self.AROUND + 3 * CHAIN_BYTES, self.AROUND + 9 * CHAIN_BYTES):
                with self.subTest(schedule=schedule, limit=limit):
                    done = self.run_capped(f"{limit}B", self.command(), SIMGPU_SCHEDULE=schedule)
                    self.assertEqual(wanted, self.digest(done))
                    self.assertLessEqual(self.stats()["peak_physical_bytes"], limit)
                    end = self.log()[-1]
                    self.assertGreater(end["evictions"], 0)
                    self.assertGreater(end["rematerialisations"], 0)

    def test_known_functions_are_followed(self):
        done = self.run_capped(f"{self.AROUND + 9 * CHAIN_BYTES}B", self.command())
        self.assert_ok(done)
        self.assertNotIn("cannot be followed", done.stderr)
        self.assertEqual(self.log()[-1]["barriers"], 0)
        self.assertIn("curandGenerateUniform is never replayed: the generator has moved on since", done.stderr)

    def test_launches_of_other_functions_are_barriers(self):
        wanted = self.digest(self.plain(self.command(2)))
        done = self.run_capped("1MiB", self.command(2))
        self.assertEqual(wanted, self.digest(done))
        self.assertRegex(done.stderr, r"kernel \w+ \(its module holds machine code only, no PTX\) cannot be followed")
        self.assertEqual(self.log()[-1]["barriers"], 6)
        self.assertEqual(self.log()[-1]["evictions"], 0)

    def test_a_barrier_that_cannot_fit_is_out_of_memory(self):
        done = self.run_capped(f"{self.AROUND + 9 * CHAIN_BYTES}B", self.command(2))
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("digest", done.stdout)
        self.assertIn("refrain: out of memory: asked", done.stderr)

    # Offsets of the operands' addresses in simgpu's own kernels (src/simgpu/blas/arguments.hpp): A, B, C, D.
    STATED = [entry("blas_symmetric_product", True, p40="r", p72="r", p104="", p136="wo"),  # beta is 0: C is not read
              entry("blas_norm", True, p72="r", p136="w"),
              entry("blas_scale", True, p104="rw")]

    def test_what_a_manifest_states_is_no_barrier(self):
        limit = self.AROUND + 9 * CHAIN_BYTES
        (self.folder / "manifest.json").write_text(json.dumps({"kernels": self.STATED}))
        for schedule in SCHEDULES:
            with self.subTest(schedule=schedule):
                wanted = self.digest(self.plain(self.command(2), SIMGPU_SCHEDULE=schedule))
                done = self.run_capped(f"{limit}B", self.command(2), "--manifest", "manifest.json", SIMGPU_SCHEDULE=schedule)
                self.assertEqual(wanted, self.digest(done))
                self.assertNotIn("kernel blas_", done.stderr)
                self.assertLessEqual(self.stats()["peak_physical_bytes"], limit)
                self.assertGreater(self.log()[-1]["rematerialisations"], 0)


class Products(Case):
    """A network of products by cuBLAS and kernels between them: each value of the way forward is needed on the way back."""

    LAYERS, STEPS = 12, 3  # four products in each layer of each step

    def command(self, *options):
        return [self.victim("products"), str(self.LAYERS), str(self.STEPS), *options]

    def digest(self, done):
        self.assert_ok(done)
        return next(line for line in done.stdout.splitlines() if line.startswith("digest "))

    def check(self, options, percents, schedules=SCHEDULES):
        for schedule in schedules:
            wanted = self.digest(self.plain(self.command(*options), SIMGPU_SCHEDULE=schedule))
            peak = self.stats()["peak_physical_bytes"]
            for percent in percents:
                with self.subTest(options=options, schedule=schedule, percent=percent):
                    limit = peak * percent // 100
                    done = self.run_capped(f"{limit}B", self.command(*options), SIMGPU_SCHEDULE=schedule)
                    self.assertEqual(wanted, self.digest(done))
                    self.assertLessEqual(self.stats()["peak_physical_bytes"], limit)
                    self.assertNotIn("cannot be followed", done.stderr)
                    self.assertNotIn("never replayed", done.stderr)
                    end = self.log()[-1]
                    self.assertGreater(end["evictions"], 0)
                    self.assertGreater(end["rematerialisations"], 0)
                    self.assertEqual(end["barriers"], 0)

    def test_activations_of_each_step(self):
        self.check([], (70, 50))

    def test_activations_that_are_allocated_once(self):
        self.check(["once"], (70, 50))

    def test_batches_and_matrices_that_are_added_to(self):
        self.check(["strided"], (70, 50), ("lazy",))
        self.check(["ger"], (70, 50), ("lazy",))

    def test_matrices_whose_addresses_were_copied_are_known(self):
        # No replay is given other addresses: only what the kernels between the products make is computed again.
        for schedule in SCHEDULES:
            wanted = self.digest(self.plain(self.command("arrays"), SIMGPU_SCHEDULE=schedule))
            limit = self.stats()["peak_physical_bytes"] * 80 // 100
            done = self.run_capped(f"{limit}B", self.command("arrays"), SIMGPU_SCHEDULE=schedule)
            self.assertEqual(wanted, self.digest(done))
            self.assertLessEqual(self.stats()["peak_physical_bytes"], limit)
            self.assertNotIn("cannot be followed", done.stderr)
            self.assertIn("cublasSgemmBatched is never replayed: it finds its matrices by addresses in memory", done.stderr)
            end = self.log()[-1]
            self.assertGreater(end["rematerialisations"], 0)
            self.assertEqual(end["barriers"], 0)

    def test_matrices_whose_addresses_a_kernel_wrote_are_a_barrier(self):
        wanted = self.digest(self.plain(self.command("written")))
        limit = self.stats()["peak_physical_bytes"]
        done = self.run_capped(f"{2 * limit}B", self.command("written"))
        self.assertEqual(wanted, self.digest(done))
        self.assertIn("cannot be followed", done.stderr)
        products = 2 * self.LAYERS * self.STEPS
        self.assertEqual(self.log()[-1]["barriers"], products)

    def test_handles_that_are_gone_when_their_products_are_needed_again(self):
        self.check(["handles"], (70, 50))

    def test_products_by_cublaslt(self):
        self.check(["lt"], (70, 50))
        self.check(["lt", "device"], (80,))

    def test_scalars_on_the_device(self):
        # Whether C is read is not known: what a product overwrites is never dropped unseen.
        self.check(["device"], (70,))

    def test_workspace_of_the_program(self):
        self.check(["workspace"], (70, 50), ("lazy",))

    def test_library_that_the_program_opens_for_itself(self):
        command = [self.victim("private_cublas")]
        wanted = self.digest(self.plain(command))
        done = self.run_capped("100KiB", command)
        self.assertEqual(wanted, self.digest(done))
        self.assertNotIn("cannot be followed", done.stderr)
        self.assertGreater(self.log()[-1]["rematerialisations"], 0)

    def test_device_that_is_reset(self):
        for schedule in SCHEDULES:
            wanted = self.plain([self.victim("resets")], SIMGPU_SCHEDULE=schedule)
            self.assert_ok(wanted)
            done = self.run_capped("110KiB", [self.victim("resets")], SIMGPU_SCHEDULE=schedule)
            self.assert_ok(done)
            self.assertEqual(wanted.stdout, done.stdout)
            self.assertLessEqual(self.stats()["peak_physical_bytes"], 110 << 10)
            self.assertGreater(self.log()[-1]["rematerialisations"], 0)

    def test_math_mode_is_that_of_the_first_call(self):
        counter = BUILD / "bin/victims/libmath_modes.so"
        libraries = [BUILD / "lib/librefrain.so", counter]
        if harness.SANITIZER_RUNTIME:
            libraries.insert(0, harness.SANITIZER_RUNTIME)
        done = self.execute(self.command(), LD_PRELOAD=":".join(map(str, libraries)), LD_LIBRARY_PATH=BUILD / "lib/simgpu",
                            REFRAIN_LIMIT="250KiB")
        self.assert_ok(done)
        line = next(line for line in done.stdout.splitlines() if line.startswith("products "))
        total, wrong = map(int, line.split()[1:])
        self.assertGreater(total, 4 * self.STEPS * self.LAYERS, "nothing was made again")
        self.assertEqual(wrong, 0)


class OutOfMemory(Case):
    def test_op_that_cannot_fit_gets_the_error_of_a_full_device(self):
        done = self.run_capped("20KiB", [self.victim("chain"), "16", "16"])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("out of memory", done.stderr)
        self.assertRegex(done.stderr, r"refrain: out of memory: asked .*, in use .*, limit 20.0 KiB, evictable .*, pinned .*")
        kinds = [line["kind"] for line in self.log()]
        self.assertIn("oom", kinds)
        self.assertEqual(kinds[-1], "end")
        self.assertLessEqual(self.stats()["peak_physical_bytes"], 20 << 10)

    def test_device_smaller_than_the_program_without_any_cap(self):
        self.assertEqual(self.plain([self.victim("chain"), "16", "16"], SIMGPU_MEMORY="100KiB").returncode, 1)
        self.assert_ok(self.preloaded([self.victim("chain"), "16", "16"], SIMGPU_MEMORY="100KiB"))


class Programs(Case):
    def test_features_are_right_in_every_schedule(self):
        for schedule in SCHEDULES:
            self.assert_ok(self.plain([self.victim("features")], SIMGPU_SCHEDULE=schedule))
            for limit in ("off", "1MiB", "128KiB", "96KiB"):
                with self.subTest(schedule=schedule, limit=limit):
                    done = self.run_capped(limit, [self.victim("features")], SIMGPU_SCHEDULE=schedule)
                    self.assert_ok(done)
                    self.assertTrue(done.stdout.endswith("ok\n"))
                    self.assertEqual(self.stats()["faults"], 0)
                    if limit == "96KiB":
                        self.assertGreater(self.log()[-1]["evictions"], 0)

    def test_memory_info_reports_the_cap(self):
        done = self.run_capped("1MiB", [self.victim("features")])
        self.assertIn(f"total {1 << 20}\n", done.stdout)

    def test_threads(self):
        for limit in ("off", "160KiB"):
            for schedule in SCHEDULES:
                with self.subTest(limit=limit, schedule=schedule):
                    done = self.run_capped(limit, [self.victim("threads")], SIMGPU_SCHEDULE=schedule)
                    self.assert_ok(done)
                    self.assertEqual(done.stdout, "ok\n")
        self.assertGreater(self.log()[-1]["evictions"], 0)

    def test_driver_api_by_its_exported_names(self):
        for limit in ("off", "120KiB"):
            with self.subTest(limit=limit):
                done = self.run_capped(limit, [self.victim("driver_api")])
                self.assert_ok(done)
        self.assertGreater(self.log()[-1]["evictions"], 0)

    def run_everywhere(self, name, limit, arguments=()):
        for schedule in SCHEDULES:
            with self.subTest(name=name, schedule=schedule):
                command = [self.victim(name), *arguments]
                self.assert_ok(self.plain(command, SIMGPU_SCHEDULE=schedule))
                done = self.run_capped(limit, command, SIMGPU_SCHEDULE=schedule)
                self.assert_ok(done)
                self.assertTrue(done.stdout.endswith("ok\n"))
                self.assertLessEqual(self.stats()["peak_physical_bytes"], harness.bytes_of(limit))
                self.assertEqual(self.log()[-1]["kind"], "end")

    def test_another_device_uses_what_is_managed(self):
        command = [self.victim("peers"), "16", "16"]
        for schedule in SCHEDULES:
            with self.subTest(schedule=schedule):
                self.assert_ok(self.plain(command, SIMGPU_DEVICES=2, SIMGPU_SCHEDULE=schedule))
                done = self.run_capped("0=96KiB,1=64KiB", command, SIMGPU_DEVICES=2, SIMGPU_SCHEDULE=schedule)
                self.assert_ok(done)
                self.assertEqual(done.stdout, "ok\n")
                self.assertGreater(self.log()[-1]["evictions"], 0)
                self.assertEqual(self.stats()["faults"], 0)
                managed, other = self.stats()["devices"]
                self.assertLessEqual(managed["peak_physical_bytes"], harness.bytes_of("96KiB"))
                self.assertGreater(other["kernels"], 0)
        self.assert_ok(self.run_capped("1=16KiB", command, SIMGPU_DEVICES=2))
        self.assertEqual(self.log()[-1]["evictions"], 0, "the first one is managed, and has no limit")

    def test_captures_beside_other_work(self):
        self.run_everywhere("captures", "96KiB")

    def test_edges_of_buffers_and_sizes(self):
        self.run_everywhere("edges", "128KiB")

    def test_code_for_several_architectures(self):
        self.run_everywhere("chain_two_archs", "80KiB", ["16", "16"])

    def test_ends_of_contexts_and_of_the_process(self):
        self.run_everywhere("static_end", "96KiB")

    def test_blocking_copy_keeps_nobody_waiting(self):
        # Eagerly, the software device runs the host function inside the call that queues it: only lazily this can end.
        done = self.run_capped("96KiB", [self.victim("waits")], SIMGPU_SCHEDULE="lazy")
        self.assert_ok(done)

    def test_forked_child_passes_everything_on(self):
        done = self.run_capped("1MiB", [self.victim("fork")])
        self.assert_ok(done)
        self.assertEqual([line["kind"] for line in self.log()].count("end"), 1)

    def test_unfollowed_calls_are_named(self):
        done = self.run_capped("1MiB", [self.victim("features")])
        self.assertIn("cuMemcpy2D", done.stderr)
        self.assertGreater(self.log()[-1]["barriers"], 0)


class Interposition(Case):
    def test_static_runtime_receives_our_hooks(self):
        # It cannot go on: the software device has no private driver tables.
        done = self.preloaded([self.victim("static_runtime")], REFRAIN_LOG="log.jsonl")
        self.assertNotEqual(done.returncode, 0)
        end = self.log()[-1]
        self.assertEqual(end["kind"], "end")
        self.assertGreater(end["lookups"], 200)
        self.assertGreater(end["hooks"], 40)
        self.assertIn("refrain: idle", done.stderr)

    def test_static_runtime_is_refused_before_it_starts_on_the_software_device(self):
        done = self.refrain("run", "--device", "sim", "--", self.victim("static_runtime"))
        self.assertEqual(done.returncode, 125)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("nvcc -cudart shared", done.stderr)

    def test_callers_of_rtld_next_keep_their_place(self):
        wrapper = BUILD / "bin/victims/libnext_symbol.so"
        for order in ([wrapper], []):
            libraries = [*order, BUILD / "lib/librefrain.so", *([] if order else [wrapper])]
            preload = [*([harness.SANITIZER_RUNTIME] if harness.SANITIZER_RUNTIME else []), *map(str, libraries)]
            done = self.execute([self.victim("probe")], LD_PRELOAD=":".join(preload))
            self.assert_ok(done)
            self.assertEqual(done.stdout, "passed through puts none\n")

    def test_program_without_cuda_is_left_alone(self):
        done = self.preloaded([self.victim("probe")], REFRAIN_LIMIT="8GiB")
        self.assert_ok(done)
        self.assertEqual(done.stderr, "")


class Ends(Case):
    def assert_log_ends_early(self):
        for line in self.log()[:-1]:
            self.assertIn("kind", line)
        self.assertNotEqual(self.log()[-1]["kind"], "end")
        done = self.refrain("report", "log.jsonl")
        self.assert_ok(done)
        self.assertIn("ends early", done.stdout)

    def test_abort_leaves_whole_lines(self):
        done = self.run_capped("80KiB", [self.victim("chain"), "16", "16", "abort"])
        self.assertEqual(done.returncode, 128 + signal.SIGABRT)
        self.assertIn("refrain: killed", done.stderr)
        self.assertGreater(len(self.log()), 5)
        self.assert_log_ends_early()

    def test_sigterm_is_passed_on_and_leaves_whole_lines(self):
        environment = harness.clean_environment(SIMGPU_STATS=self.stats_path)
        command = [str(BUILD / "bin/refrain"), "run", "--device", "sim", "--limit", "80KiB", "--log", "log.jsonl", "--",
                   self.victim("chain"), "16", "16", "wait"]
        with subprocess.Popen(command, env=environment, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as child:
            self.assertEqual(child.stdout.readline(), "ready\n")
            child.send_signal(signal.SIGTERM)
            self.assertEqual(child.wait(timeout=60), 128 + signal.SIGTERM)
            child.stdout.close()
            child.stderr.close()
        self.assert_log_ends_early()

    def test_ignored_sigchld_does_not_hide_a_failure(self):
        command = [str(BUILD / "bin/refrain"), "run", "--device", "sim", "--no-log", "--", "/bin/false"]
        done = subprocess.run(command, env=harness.clean_environment(), cwd=self.folder, timeout=60,
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.returncode, 1)

    def test_exit_code_is_the_programs(self):
        self.assertEqual(self.refrain("run", "--device", "sim", "--no-log", "--", "/bin/sh", "-c", "exit 42").returncode, 42)


class Planned(Case):
    """An iteration that repeats is planned, and the plan followed; the bytes are those of a run without refrain."""

    def results(self, done):
        self.assert_ok(done)
        return [line for line in done.stdout.splitlines() if "loss" in line or "digest" in line]

    def test_a_trainer_follows_a_plan(self):
        for name, steps, limit in (("mlp", 20, 1_556_480), ("gpt", 10, 5_531_648)):
            command = [self.workload(name), "--steps", str(steps)]
            plain = self.results(self.plain(command))
            ends = {}
            for policy in ("dtr", "planned"):
                # The same work without a thread's luck: neither copies nor digests change what is recomputed.
                # Planned is what a run does where nothing is said.
                options = ["--policy", policy] if policy == "dtr" else []
                done = self.run_capped(f"{limit}B", command, *options, REFRAIN_OFFLOAD="off", REFRAIN_VERIFY="off")
                self.assertEqual(self.results(done), plain)
                self.assertLessEqual(self.stats()["peak_physical_bytes"], limit)
                ends[policy] = self.log()[-1]
            self.assertEqual(ends["dtr"]["plans"], 0)
            if harness.SANITIZER_RUNTIME:
                continue  # the thread that plans may be late
            self.assertGreaterEqual(ends["planned"]["plans"], 1)
            self.assertGreater(ends["planned"]["planned_ops"], ends["planned"]["ops"] // 3)
            self.assertIn("run as planned", done.stderr)
            self.assertLess(ends["planned"]["replayed_ns"], ends["dtr"]["replayed_ns"])

    def test_what_comes_back_is_compared(self):
        for schedule in ("eager", "lazy"):
            command = [self.workload("mlp"), "--steps", "20"]
            done = self.run_capped("1245184B", command, "--policy", "planned", SIMGPU_SCHEDULE=schedule)
            self.assertEqual(self.results(done), self.results(self.plain(command)))
            end = self.log()[-1]
            self.assertGreater(end["compared"], 0)
            self.assertEqual(end["mismatches"], 0)
            if not harness.SANITIZER_RUNTIME:
                self.assertGreater(end["planned_ops"], 0)

    def test_what_does_not_repeat_is_not_planned(self):
        done = self.run_capped("80KiB", [self.victim("chain"), "16", "16"], "--policy", "planned")
        self.assert_ok(done)
        self.assertEqual(self.log()[-1]["plans"], 0)


class Inspect(Case):
    def kernels(self, *arguments):
        done = self.refrain("inspect", *arguments, "--json", "-")
        self.assert_ok(done)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)["kernels"]

    def test_json_of_a_program(self):
        wanted = {"name": "_Z4nextPKjPjij", "replayable": True, "reason": None, "parameters": [
            {"offset": 0, "size": 8, "pointer": True, "read": True, "written": False, "whole_overwrite": False, "atomic": False},
            {"offset": 8, "size": 8, "pointer": True, "read": False, "written": True, "whole_overwrite": True, "atomic": False},
            {"offset": 16, "size": 4, "pointer": False, "read": False, "written": False, "whole_overwrite": False, "atomic": False},
            {"offset": 20, "size": 4, "pointer": False, "read": False, "written": False, "whole_overwrite": False, "atomic": False}]}
        self.assertEqual(self.kernels(self.victim("chain")), [wanted])
        done = self.refrain("inspect", self.victim("chain"), "--json", "kernels.json")
        self.assert_ok(done)
        self.assertEqual(done.stdout, "")
        self.assertEqual(json.loads((self.folder / "kernels.json").read_text())["kernels"], [wanted])

    def test_every_kernel_of_every_architecture(self):
        self.assertEqual(len(self.kernels(self.victim("chain_two_archs"))), 1)
        table = self.refrain("inspect", self.victim("chain_two_archs"), "--all-architectures").stdout
        self.assertIn("sm_75", table)
        self.assertIn("sm_80", table)

    def test_the_filter_sees_both_names(self):
        names = {kernel["name"] for kernel in self.kernels(self.workload("gpt"))}
        self.assertGreater(len(names), 5)
        some = sorted(names)[0]
        self.assertEqual([kernel["name"] for kernel in self.kernels(self.workload("gpt"), "--kernel", f"^{some}$")], [some])
        self.assertEqual(len(self.kernels(self.victim("chain"), "--kernel", r"next\(unsigned int const\*")), 1)
        self.assertEqual(self.kernels(self.workload("gpt"), "--kernel", "no such kernel"), [])

    def test_table_fits_a_terminal(self):
        done = self.refrain("inspect", self.workload("gpt"))
        self.assert_ok(done)
        lines = done.stdout.splitlines()
        self.assertLessEqual(max(map(len, lines)), 100)
        self.assertEqual(lines[0].split(), ["kernel", "params", "read", "written", "whole", "replayable"])
        kernels = sum(line[0] != " " for line in lines) - 3
        self.assertRegex(lines[-2], rf"^{kernels} kernels, \d+ replayable, 0 without PTX$")

    def test_bad_input_is_one_line(self):
        (self.folder / "junk").write_text("junk")
        for arguments, text in ((["missing"], "missing cannot be read"), (["junk"], "junk: none of the forms"),
                                ([str(self.folder)], "is a folder"), (["/bin/sh"], "no CUDA code"),
                                ([self.victim("chain"), "--kernel", "("], "no regular expression"),
                                ([self.victim("chain"), "--json", "/nonexistent/file"], "cannot be written")):
            done = self.refrain("inspect", *arguments)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stdout, "")


class Manifest(Case):
    """The chain, with a kernel whose code does not show what it reads: the address goes through shared memory."""

    command = property(lambda self: [self.victim("chain_indirect"), "16", "16"])
    limit = f"{5 * CHAIN_BYTES}B"

    def write(self, *entries):
        (self.folder / "manifest.json").write_text(json.dumps({"kernels": entries}))

    def with_manifest(self, command, **variables):
        return self.run_capped(self.limit, command, "--manifest", "manifest.json", **variables)

    def test_alone_it_is_a_barrier(self):
        done = self.run_capped(self.limit, self.command)
        self.assertEqual(done.returncode, 1)
        self.assertIn("uses an address that was loaded from memory", done.stderr)
        self.assertIn("out of memory", done.stderr)

    def test_what_is_stated_is_believed(self):
        for name in ("next(*", "_Z4nextPKjPjij", "next(unsigned int const*, unsigned int*, int, unsigned int)"):
            for written in ("wo", "w"):
                for schedule in SCHEDULES:
                    with self.subTest(name=name, written=written, schedule=schedule):
                        self.write(entry(name, True, p0="r", p8=written))
                        done = self.with_manifest(self.command, SIMGPU_SCHEDULE=schedule)
                        self.assert_ok(done)
                        self.assertTrue(done.stdout.endswith("ok\n"))
                        self.assertNotIn("cannot be followed", done.stderr)
                        self.assertLessEqual(self.stats()["peak_physical_bytes"], 5 * CHAIN_BYTES)
                        end = self.log()[-1]
                        self.assertGreater(end["evictions"], 0)
                        self.assertGreater(end["rematerialisations"], 0)
                        self.assertEqual(end["unreplayable"], 0)

    def test_by_the_variable_alone(self):
        self.write(entry("next(*", True, p0="r", p8="wo"))
        done = self.preloaded(self.command, REFRAIN_LIMIT=self.limit, REFRAIN_LOG="log.jsonl", REFRAIN_MANIFEST="manifest.json")
        self.assert_ok(done)
        self.assertGreater(self.log()[-1]["evictions"], 0)

    def test_not_replayable_is_followed_but_never_evicted(self):
        self.write(entry("next(*", False, p0="r", p8="wo"))
        done = self.run_capped("1MiB", self.command, "--manifest", "manifest.json")
        self.assert_ok(done)
        self.assertIn("is never replayed: is not replayable, says the manifest", done.stderr)
        self.assertEqual(self.log()[-1]["barriers"], 0)
        self.assertEqual(self.log()[-1]["unreplayable"], 16)

    def test_a_lie_is_refused_and_the_kernel_stays_a_barrier(self):
        self.write(entry("next(*", True, p0="r", p8="r"))
        done = self.run_capped("1MiB", self.command, "--manifest", "manifest.json")
        self.assert_ok(done)
        lines = [line for line in done.stderr.splitlines() if "manifest" in line]
        self.assertEqual(lines, ["refrain: manifest: the entry for kernel _Z4nextPKjPjij is refused: its PTX writes memory "
                                 "through the parameter at offset 8, which is not listed as written"])
        self.assertIn("cannot be followed", done.stderr)
        self.assertEqual([line["text"] for line in self.log() if line["kind"] == "note" and "manifest" in line["text"]],
                         [lines[0].removeprefix("refrain: ")])

    def test_an_entry_that_matches_nothing_is_told(self):
        self.write(entry("next(*", True, p0="r", p8="wo"), entry("nex", True, p0="r"))
        done = self.with_manifest(self.command)
        self.assert_ok(done)
        told = ["manifest: no kernel that was launched is called nex"]
        self.assertEqual([line["text"] for line in self.log() if line["kind"] == "note" and "manifest" in line["text"]], told)
        self.assertEqual([line for line in done.stderr.splitlines() if "manifest" in line], ["refrain: " + told[0]])

    def test_a_lie_about_a_kernel_that_is_known_changes_nothing(self):
        self.write(entry("next(*", True, p0="wo", p8="r"))
        done = self.with_manifest([self.victim("chain"), "16", "16"])
        self.assert_ok(done)
        self.assertIn("is refused: its PTX reads memory through the parameter at offset 0", done.stderr)
        self.assertGreater(self.log()[-1]["rematerialisations"], 0)

    def test_mistakes_stop_the_command(self):
        (self.folder / "manifest.json").write_text('{"kernels": [{"name": "k", "parameters": {}, "replayable": 1}]}')
        done = self.with_manifest(self.command)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.splitlines(),
                         ["refrain: manifest.json: /kernels/0/replayable: true or false expected, number found",
                          "refrain: manifest.json: /kernels/0/parameters: an array expected, object found"])
        (self.folder / "manifest.json").write_text("{\n  oops")
        done = self.with_manifest(self.command)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertTrue(done.stderr.startswith("refrain: manifest.json: line 2, column 3: "), done.stderr)
        (self.folder / "manifest.json").unlink()
        self.assertIn("manifest.json: cannot be read: No such file", self.with_manifest(self.command).stderr)

    def test_mistakes_under_bare_preload_leave_the_rest_in_force(self):
        (self.folder / "manifest.json").write_text("[]")
        chain = [self.victim("chain"), "16", "16"]
        variables = {"REFRAIN_LIMIT": self.limit, "REFRAIN_LOG": "log.jsonl", "REFRAIN_MANIFEST": "manifest.json"}
        done = self.preloaded(chain, **variables)
        self.assert_ok(done)
        self.assertIn("refrain: error: manifest.json: the whole: an object with the key kernels expected", done.stderr)
        self.assertIn("refrain: the program runs without the manifest", done.stderr)
        self.assertGreater(self.log()[-1]["evictions"], 0)
        done = self.preloaded(chain, REFRAIN_STRICT="1", **variables)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cuInit fails, because REFRAIN_STRICT is on", done.stderr)

    def test_the_path_survives_a_change_of_folder(self):
        self.write()
        done = self.refrain("run", "--device", "sim", "--no-log", "--manifest", "manifest.json", "--dry-run", "--", *self.command)
        self.assert_ok(done)
        self.assertIn(f"REFRAIN_MANIFEST='{self.folder}/manifest.json'", done.stdout)


class Record(Case):
    def test_what_is_simulated_is_what_would_run(self):
        self.assert_ok(self.refrain("run", "--device", "sim", "--no-log", "--record", "run.trace", "--", self.victim("chain"), "16", "16"))
        done = self.refrain("simulate", "run.trace", "--budget", "0.8", "--json", "-")
        self.assert_ok(done)
        self.assertEqual(json.loads(done.stdout)[0]["policy"], "planned")

    def test_what_was_recorded_predicts_runs_under_caps(self):
        command = [self.victim("chain"), "16", "16"]
        self.assert_ok(self.refrain("run", "--device", "sim", "--no-log", "--record", "run.trace", "--", *command))
        for policy in ("dtr", "lru"):
            for limit in ("136KiB", "80KiB"):
                # What the software device's calls take (src/simgpu/driver/profiles.def).
                done = self.refrain("simulate", "run.trace", "--policy", policy, "--limit", limit, "--json", "-",
                                    "--call-ns", "29000,23000,38000,26000,3000,1000")
                self.assert_ok(done)
                row = json.loads(done.stdout)[0]
                done = self.run_capped(limit, command, "--policy", policy, "--offload", "off", REFRAIN_VERIFY="off")
                self.assert_ok(done)
                end = self.log()[-1]
                self.assertEqual(row["status"], "ok")
                self.assertEqual(row["evictions"], end["evictions"])
                self.assertEqual(row["rematerialisations"], end["rematerialisations"])
                self.assertEqual(row["peak_bytes"], end["peak_bytes"])
                self.assertGreater(end["replayed_ns"], 0)
                time_ns = self.stats()["virtual_time_ns"]
                self.assertAlmostEqual(row["device_ns"], time_ns, delta=0.05 * time_ns)
                # A class's first op counts with a guess in the run, with what was measured in the simulation.
                self.assertAlmostEqual(row["total_over_base_compute"], 1 + end["replayed_ns"] / end["program_ns"], delta=0.05)

    def test_an_existing_record_is_kept_without_force(self):
        (self.folder / "old").write_text("precious")
        done = self.refrain("run", "--device", "sim", "--no-log", "--record", "old", "--", self.victim("chain"), "4", "16")
        self.assertEqual(done.returncode, 125)
        self.assertIn("record old exists; overwrite it with -f, or name another", done.stderr)
        done = self.preloaded([self.victim("chain"), "4", "16"], REFRAIN_RECORD="old")
        self.assertIn("exists", done.stderr)
        self.assertEqual((self.folder / "old").read_text(), "precious")
        done = self.refrain("run", "--device", "sim", "--no-log", "-f", "--record", "old", "--", self.victim("chain"), "4", "16")
        self.assert_ok(done)
        self.assertIn('"kind":"end"', (self.folder / "old").read_text())

    def test_the_record_of_a_killed_program_is_refused(self):
        self.refrain("run", "--device", "sim", "--no-log", "--record", "cut.trace", "--", self.victim("chain"), "16", "16", "abort")
        done = self.refrain("simulate", "cut.trace")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertRegex(done.stderr, r"^refrain: cut.trace:\d+: ")


class Objectives(Case):
    def setUp(self):
        super().setUp()
        self.chain = [self.victim("chain"), "16", "16"]
        self.assert_ok(self.refrain("run", "--device", "sim", "--no-log", "--record", "run.trace", "--", *self.chain))

    def run_with(self, *options, **variables):
        return self.refrain("run", "--device", "sim", "--no-log", *options, "--", *self.chain, **variables)

    def test_what_the_record_excludes_is_not_started(self):
        self.stats_path.unlink()
        done = self.run_with("--limit", "80KiB", "--max-overhead", "1%", "--trace", "run.trace")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^refrain: the objectives cannot be met: by run.trace, in 80.0 KiB with policy dtr, its "
                         r"overhead is above 1%; which caps do: refrain simulate --advise run.trace\n$")
        done = self.run_with("--limit", "80KiB", "--max-overhead", "17.5%", "--trace", "run.trace")
        self.assertEqual(done.returncode, 2)
        self.assertIn("its overhead is 17.6 %, above 17.5%", done.stderr)
        done = self.run_with("--max-limit", "20KiB", "--offload", "off", "--trace", "run.trace")
        self.assertEqual(done.returncode, 2)
        self.assertIn("in 20.0 KiB with policy dtr, it runs out of memory", done.stderr)
        self.assertFalse(self.stats_path.exists(), "the program was not started")

    def test_the_summary_says_whether_they_were_met(self):
        done = self.run_with("--max-limit", "80KiB", "--max-overhead", "500%", "--trace", "run.trace")
        self.assert_ok(done)
        self.assertRegex(done.stderr, r"refrain: objectives met; overhead [0-9.]+ %, at most 500%; held [0-9.]+ KiB at most, of 80KiB\n")
        self.assertLessEqual(self.stats()["peak_physical_bytes"], 80 << 10)
        done = self.run_with("--limit", "80KiB", "--max-overhead", "1%")
        self.assert_ok(done)
        self.assertIn("refrain: objectives are not checked before the run", done.stderr)
        self.assertRegex(done.stderr, r"refrain: objectives NOT met; overhead [0-9.]+ %, at most 1%\n")

    def test_totals_that_the_user_asked_for_are_his(self):
        done = self.run_with("--limit", "80KiB", "--max-overhead", "1%", "--metrics", "totals.prom")
        self.assertIn("objectives NOT met", done.stderr)
        self.assertIn("refrain_replayed_ns_total", (self.folder / "totals.prom").read_text())

    def test_nothing_of_them_without_objectives_or_when_quiet(self):
        self.assertNotIn("objectives", self.run_with("--limit", "80KiB").stderr)
        self.assertEqual(self.run_with("-q", "--limit", "80KiB", "--max-overhead", "1%").stderr, "")

    def test_mistakes_are_one_line(self):
        for options, text in [(["--max-overhead", "10"], "accepted: compute beyond"), (["--max-limit", "5"], "a number with a unit"),
                              (["--trace", "run.trace"], "accepted with --max-overhead"),
                              (["--limit", "2MiB", "--max-limit", "1MiB"], "--limit=2MiB is more than --max-limit=1MiB"),
                              (["--limit", "0=1MiB,1=2MiB", "--max-limit", "1MiB"], "--limit=0=1MiB,1=2MiB is more than --max-limit=1MiB"),
                              (["--limit", "0=1MiB,1=off", "--max-limit", "1MiB"], "--limit=0=1MiB,1=off is more than --max-limit=1MiB"),
                              (["--limit", "50%", "--max-overhead", "5%", "--trace", "run.trace"], "not known before the run"),
                              (["--max-limit", "1MiB", "--trace", "none"], "record none cannot be read")]:
            done = self.run_with(*options)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn(text, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


class BadInput(Case):
    def assert_refused(self, code, text, *arguments, **variables):
        done = self.refrain(*arguments, **variables)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_one_line_each(self):
        chain = self.victim("chain")
        run = ("run", "--device", "sim")
        self.assert_refused(125, "did you mean --limit?", *run, "--limt", "8GiB", "--", chain)
        self.assert_refused(125, "--limit=8 is not understood; accepted: 8GiB", *run, "--limit", "8", "--", chain)
        self.assert_refused(125, "--limit=8GiBB is not understood", *run, "--limit", "8GiBB", "--", chain)
        self.assert_refused(125, "--policy=best is not understood; accepted: dtr, dtr_eq, dtr_local, lru, size, msps, random", *run, "--policy", "best", "--", chain)
        self.assert_refused(125, "did you mean REFRAIN_LIMIT?", *run, "--", chain, REFRAIN_LIMTI="8GiB")
        self.assert_refused(125, "REFRAIN_LIMIT=lots is not understood", *run, "--", chain, REFRAIN_LIMIT="lots")
        self.assert_refused(125, "no program given", *run)
        self.assert_refused(125, "--device", "run", "--device", "tpu", "--", chain)
        self.assert_refused(125, "--measure needs a limit in percent", *run, "--limit", "1MiB", "--measure", "--", chain)
        self.assert_refused(127, "does not exist", *run, "--", "./missing")
        self.assert_refused(127, "not found along PATH", *run, "--", "missing-program")
        self.assert_refused(126, "is a folder", *run, "--", str(self.folder))
        (self.folder / "plain").write_text("x")
        self.assert_refused(126, "not executable", *run, "--", "./plain")
        self.assert_refused(125, "cannot be written", *run, "--log", "/nonexistent/log", "--", chain)
        for output in ("--record", "--metrics", "--summary"):
            self.assert_refused(125, "folder /nonexistent does not exist", *run, "--no-log", output, "/nonexistent/file", "--", chain)
        self.assert_refused(125, "cannot both be written to ./a", *run, "--log", "a", "--record", "./a", "--", chain)
        self.assert_refused(127, "the program's name is empty", *run, "--", "")
        self.assert_refused(2, "did you mean report?", "reprot", "x")
        self.assert_refused(2, "cannot be read", "report", "missing.jsonl")
        (self.folder / "junk").write_text("junk\n")
        self.assert_refused(2, "not a log of refrain", "report", "junk")
        self.assert_refused(2, "subcommand", *())

    def test_existing_log_is_kept_without_force(self):
        (self.folder / "old").write_text("precious")
        self.assert_refused(125, "exists", "run", "--device", "sim", "--log", "old", "--", self.victim("chain"))
        (self.folder / "new.1").write_text("precious")
        self.assert_refused(125, "new.1 exists", "run", "--device", "sim", "--log", "new", "--log-size", "1MiB", "--", self.victim("chain"))
        for name in ("old", "new.1"):
            self.assertEqual((self.folder / name).read_text(), "precious")
        done = self.preloaded([self.victim("chain"), "4", "16"], REFRAIN_LOG="old")
        self.assertIn("exists", done.stderr)
        self.assertEqual((self.folder / "old").read_text(), "precious")

    def test_existing_summary_is_kept_without_force(self):
        (self.folder / "old").write_text("precious")
        self.assert_refused(125, "exists", "run", "--device", "sim", "--no-log", "--summary", "old", "--", self.victim("chain"))
        self.assertIn("File exists", self.preloaded([self.victim("chain"), "4", "16"], REFRAIN_SUMMARY="old").stderr)
        self.assertEqual((self.folder / "old").read_text(), "precious")

    def test_script_without_interpreter_says_so(self):
        (self.folder / "bare-script").write_text("echo hello\n")
        (self.folder / "bare-script").chmod(0o755)
        self.assert_refused(126, "name its interpreter first", "run", "--device", "sim", "--no-log", "--", "./bare-script")
        self.assert_refused(127, "did you mean ./bare-script?", "run", "--device", "sim", "--no-log", "--", "bare-script")

    def test_bad_variable_under_bare_preload_passes_through(self):
        done = self.preloaded([self.victim("chain"), "4", "16"], REFRAIN_LIMIT="8")
        self.assert_ok(done)
        self.assertIn("refrain: error: REFRAIN_LIMIT=8 is not understood", done.stderr)
        self.assertIn("runs without refrain", done.stderr)
        self.assertEqual(self.stats()["map_calls"], 0)

    def test_strict_makes_cuinit_fail(self):
        done = self.preloaded([self.victim("chain"), "4", "16"], REFRAIN_LIMIT="8", REFRAIN_STRICT="1")
        self.assertEqual(done.returncode, 1)

    def test_dry_run_prints_a_line_that_works(self):
        done = self.refrain("run", "--device", "sim", "--limit", "80KiB", "--log", "dry.jsonl", "--dry-run", "--",
                            self.victim("chain"), "16", "16")
        self.assert_ok(done)
        self.assertFalse((self.folder / "dry.jsonl").exists())
        odd = self.refrain("run", "--device", "sim", "--no-log", "--dry-run", "--", "/bin/echo", "it's", "a  b", "$HOME")
        self.assertEqual(self.execute(["/bin/sh", "-c", odd.stdout]).stdout, "it's a  b $HOME\n")
        again = self.execute(["/bin/sh", "-c", done.stdout])
        self.assert_ok(again)
        self.assertGreater(self.log("dry.jsonl")[-1]["evictions"], 0)


if __name__ == "__main__":
    unittest.main()
