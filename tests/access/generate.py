"""Random kernels with launches of them: generate.py FOLDER SEED COUNT FILES writes kernels_0.cu ... and launches.json,
kernels dealt to the files in turn. Every access stays inside its buffer by construction: an index is an expression whose
interval is known (expressions.py), and buffers are as large as that needs. It must not know what the analysis can do."""
import json
import pathlib
import random
import sys

from expressions import Generator, Int, add, multiply
from parameters import Pointer
from statements import Statements

PREAMBLE = """// Made by generate.py.
#include <cstddef>
@INCLUDE@
__constant__ int kTable[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
__device__ int places[8] = {0, 7, 40, 3, 21, 100, 64, 9};
__device__ __noinline__ int twist(int a, int b) { return (a & 63) * 2 + (b & 31); }
__device__ __forceinline__ int lean(int a, int m) { return (a % m + m) % m; }
__device__ __noinline__ float fetch(const float* p, int i) { return p[i]; }
__device__ __noinline__ void put(float* p, int i, float v) { p[i] = v; }
template <int kStep, class T>
__device__ __forceinline__ T gather(const T* p, int i) { return p[i * kStep]; }
__device__ __noinline__ float sum_row(const float* p, int first, int count, int step) {
  float sum = 0;
  for (int k = 0; k < count; ++k) sum += p[first + k * step];
  return sum;
}
"""

class Kernel(Statements):
    def __init__(self, rng, name, asynchronous):
        self.rng, self.name, self.asynchronous = rng, name, asynchronous
        self.lines, self.indent, self.names = [], 1, 0
        self.trips, self.returned, self.divergent = 1, False, False
        self.tables = []  # (text before the index, bits of the index, low, high) of integers to be loaded
        self.depth = rng.choice([0, 1, 1, 2, 2, 3])
        self.expressions = Generator(rng, self.load_int)
        self.simple = rng.random() < 0.3  # as most kernels are: elementwise, with little around it
        self.is_template = rng.random() < 0.15
        self.draw_launches()
        self.draw_parameters()
        self.write_body()

    def coordinate(self, name, axis):
        type_ = self.rng.choice(["int", "int", "unsigned", "std::size_t"])
        letter = "xyz"[axis]
        self.emit(f"{type_} {name} = blockIdx.{letter} * blockDim.{letter} + threadIdx.{letter};")
        return Int(name if type_ == "int" else f"(int){name}", 0, max(self.total(axis)) - 1)

    def write_body(self):
        rng = self.rng
        names = [["i"], ["col", "row"], ["x", "y", "z"]][self.dims - 1]
        scope = [self.coordinate(name, axis) for axis, name in enumerate(names)]
        limits = [self.n, self.height][:self.dims]
        guards = [(at, limit) for at, limit in enumerate(limits)] if rng.random() < 0.75 else []
        if rng.random() < 0.3:
            self.tile(scope, 0)
        if guards:
            tests = " || ".join(f"{scope[at]} >= {limit.as_int()}" for at, limit in guards)
            self.emit(f"if ({tests}) return;")
            self.returned = True
            for at, limit in guards:
                scope[at] = Int(scope[at].text, 0, max(0, min(scope[at].high, limit.as_int().high - 1)))
        scope += [s.as_int() for s in self.scalars if rng.random() < 0.6]
        if rng.random() < 0.4:
            scope.append(Int("(int)threadIdx.x", 0, max(b[0] for _, b in self.shapes) - 1))
            scope.append(Int("(int)blockIdx.x", 0, max(g[0] for g, _ in self.shapes) - 1))
        if self.dims > 1 and rng.random() < 0.7:  # a place in a plane
            width = self.width.as_int()
            flat = add(multiply(scope[1], width), scope[0])
            self.emit(f"int flat = {flat};")
            scope = [Int("flat", flat.low, flat.high)] + scope
        self.statements(scope, 2, rng.randint(1, 2 if self.simple else 4))
        if not any("= " in line and "out" in line for line in self.lines):
            self.store(scope, 0)

    def text(self):
        struct = ""
        parameters = [p.declared() if isinstance(p, Pointer) else f"{p.type} {p.name}" for p in self.plain]
        if self.packed:
            members = " ".join((p.declared() if isinstance(p, Pointer) else f"{p.type} {p.name}") + ";"
                               for p in self.packed)
            struct = f"struct S{self.name} {{ {members} }};\n"
            parameters.append(f"S{self.name} s")
        head = f"__global__ void {self.name}({', '.join(parameters)}) {{\n"
        body = "\n".join(self.lines) + "\n}\n"
        if not self.is_template:
            return f'{struct}extern "C" {head}{body}'
        types = ", ".join([p.declared().rsplit(" ", 1)[0] if isinstance(p, Pointer) else p.type for p in self.plain]
                          + ([f"S{self.name}"] if self.packed else []))
        return f"{struct}template <int kUnused>\n{head}{body}template __global__ void {self.name}<3>({types});\n"

    def manifest(self, file):
        buffers, places = self.buffers()
        targets = [list(places[p]) for p in self.pointers if p.role == "out" and p.type == "float"]
        launches = []
        for number, (grid, block) in enumerate(self.shapes):
            parameters = []
            for offset, size, parameter in self.layout():
                if isinstance(parameter, Pointer):
                    parameters.append({"offset": offset, "buffer": places[parameter][0], "at": places[parameter][1]})
                else:
                    parameters.append({"offset": offset, "bytes": size, "value": parameter.values[number]})
            launches.append({"grid": grid, "block": block, "parameters": parameters})
        return {"file": file, "kernel": self.name, "launches": launches,
                "buffers": [{"bytes": size, "fill": fill} for size, fill in buffers], "pointers": targets}


def main():
    folder, seed, count, files = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    texts = [PREAMBLE.replace("@INCLUDE@", "#include <cuda_pipeline.h>" if file % 2 else "") for file in range(files)]
    manifest = []
    for number in range(count):
        file = number % files
        kernel = Kernel(random.Random(seed * 1_000_003 + number), f"k{number}", asynchronous=file % 2 == 1)
        texts[file] += kernel.text()
        manifest.append(kernel.manifest(file))
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in enumerate(texts):
        (folder / f"kernels_{file}.cu").write_text(text)
    (folder / "launches.json").write_text(json.dumps(manifest, indent=0))


if __name__ == "__main__":
    main()
