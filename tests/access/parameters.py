"""The launches and parameters of a random kernel, and the buffers that are large enough for what it touches. It must not
know what the kernel does."""
from expressions import Int

MOST_THREADS = 2500   # of a launch: the software device carries them out

SIZES = {"float": 4, "int": 4, "double": 8, "unsigned char": 1, "short": 2, "float*": 8}
SCALARS = {"int": (4, "(%s)"), "unsigned": (4, "(int)%s"), "std::size_t": (8, "(int)%s"), "long long": (8, "(int)%s")}


class Pointer:
    """A parameter: in (never written), out, index (of integers with known bounds), count, or table (of pointers)."""

    def __init__(self, name, type_, role, restrict):
        self.name, self.type, self.role, self.restrict = name, type_, role, restrict
        self.text = name
        self.low, self.high = 0, 4  # touched, in bytes from the pointer
        self.targets = [self]

    def touch(self, index, element_bytes=None):
        bytes_ = element_bytes or SIZES[self.type]
        for target in self.targets:
            target.low = min(target.low, index.low * bytes_)
            target.high = max(target.high, (index.high + 1) * bytes_)

    def declared(self):
        const = "const " if self.role in ("in", "index", "table") else ""
        star = "* __restrict__ " if self.restrict else "* "
        pointee = "float* const" if self.type == "float*" else const + self.type
        return pointee + star + self.name


class Either(Pointer):
    """A local pointer to one of several, some elements further on."""

    def __init__(self, name, targets, start):
        super().__init__(name, targets[0].type, targets[0].role, False)
        self.targets, self.start = targets, start

    def touch(self, index, element_bytes=None):
        moved = Int("", index.low + self.start.low, index.high + self.start.high)
        for target in self.targets:
            target.touch(moved, element_bytes)


class Scalar:
    def __init__(self, name, type_, values):
        self.name, self.type, self.values = name, type_, values
        self.text = name

    def as_int(self):
        return Int(SCALARS[self.type][1] % self.text, min(self.values), max(self.values))


class Parameters:
    """Of one kernel. rng is set before anything is drawn."""

    def draw_launches(self):
        rng = self.rng
        self.dims = rng.choice([1, 1, 1, 2, 2, 3])
        self.shapes = []
        for _ in range(rng.randint(1, 3)):
            while True:
                block = [rng.choice([1, 7, 32, 64, 96, 100, 128, 256]) if self.dims == 1 else
                         rng.choice([1, 3, 8, 16, 32]) if axis < self.dims else 1 for axis in range(3)]
                grid = [rng.choice([1, 2, 3, 5, 8]) if axis < self.dims else 1 for axis in range(3)]
                if self.dims == 1 and rng.random() < 0.3:
                    grid[1] = 2
                threads = block[0] * block[1] * block[2]
                if threads <= 1024 and threads * grid[0] * grid[1] * grid[2] <= MOST_THREADS:
                    break
            self.shapes.append((grid, block))

    def total(self, axis):
        return [grid[axis] * block[axis] for grid, block in self.shapes]

    def draw_parameters(self):
        rng = self.rng
        restrict = rng.random() < 0.4
        self.pointers = [Pointer(f"out{i}", "float", "out", restrict) for i in range(rng.randint(1, 2))]
        self.pointers += [Pointer(f"in{i}", "float", "in", restrict) for i in range(rng.randint(1, 3))]
        for name, type_, role, share in (("index0", "int", "index", 0.5), ("count0", "int", "count", 0.3),
                                         ("wide0", "double", "out", 0.15), ("bytes0", "unsigned char", "out", 0.15),
                                         ("short0", "short", "in", 0.15), ("table0", "float*", "table", 0.06)):
            if rng.random() < share:
                self.pointers.append(Pointer(name, type_, role, restrict and role != "table"))
        near = [max(1, t + rng.choice([0, 0, 0, -1, -5, 10, t, -t // 2])) for t in self.total(0)]
        several = lambda *values: [rng.choice(values) for _ in self.shapes]
        integer = lambda: rng.choice(["int", "int", "int", "unsigned", "std::size_t", "long long"])
        self.n = Scalar("n", integer(), near)
        self.m = Scalar("m", integer(), several(1, 2, 3, 5, 8, 11))
        self.width = Scalar("width", integer(), several(8, 10, 32, 33, 70, 128))
        self.height = Scalar("height", integer(), [max(1, t + rng.choice([0, -1, 3])) for t in self.total(1)])
        self.shift = Scalar("shift", "int", several(-9, -4, 0, 3, 17))
        self.scalars = [self.n, self.m, self.width, self.height, self.shift]
        rng.shuffle(self.pointers)
        every = self.pointers + self.scalars
        self.packed = [p for p in every if rng.random() < 0.4 and not getattr(p, "restrict", False)]
        if rng.random() < 0.7 or len(self.packed) < 2:
            self.packed = []
        for member in self.packed:
            member.text = "s." + member.name
        self.plain = [p for p in every if p not in self.packed]
        rng.shuffle(self.plain)

    def layout(self):
        """[(offset, size, parameter)] of the parameters' bytes."""
        size_of = lambda p: 8 if isinstance(p, Pointer) else SCALARS[p.type][0]
        out, at = [], 0
        place = [("", p) for p in self.plain]
        if self.packed:
            place.append(("struct", None))
        for kind, parameter in place:
            members = self.packed if kind else [parameter]
            alignment = max(size_of(p) for p in members)
            at = (at + alignment - 1) // alignment * alignment
            for member in members:
                at = (at + size_of(member) - 1) // size_of(member) * size_of(member)
                out.append((at, size_of(member), member))
                at += size_of(member)
            at = (at + alignment - 1) // alignment * alignment
        return out

    def buffers(self):
        """[(bytes, fill)], and for each pointer its buffer and its offset in it."""
        out, places, order = [], {}, list(self.pointers)
        self.rng.shuffle(order)
        shareable = lambda p: p.role in ("in", "out") and not p.restrict
        for pointer in order:
            before = (max(0, -pointer.low) + 255) // 256 * 256
            size = before + pointer.high
            previous = next((o for o in places if shareable(o) and shareable(pointer)), None)
            if previous is not None and self.rng.random() < 0.3:  # one behind the other, or the same bytes
                number, offset = places[previous]
                begin = 0 if self.rng.random() < 0.4 else (out[number][0] + 255) // 256 * 256
                out[number] = (max(out[number][0], begin + size), out[number][1])
                places[pointer] = (number, begin + before)
                continue
            places[pointer] = (len(out), before)
            out.append((size, {"index": "indices", "table": "pointers"}.get(pointer.role, "values")))
        return out, places
