"""Random statements of a kernel: each says which bytes it touches at most. It must not leave the bounds that it says."""
from expressions import Int, constant, fits, least, mask, multiply
from parameters import Either, Parameters

MOST_INDEX = 40000    # elements, to either side of a pointer
MOST_TRIPS = 40       # of all loops around a statement together
INDICES = (-20, 400)  # what buffers of indices hold; soundness_test.cpp fills them


class Values(Parameters):
    """Indices, loads and conditions over the variables in scope."""

    def emit(self, line):
        self.lines.append("  " * self.indent + line)

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def block(self, head, body, tail="}"):
        self.emit(head)
        self.indent += 1
        body()
        self.indent -= 1
        self.emit(tail)

    def diverging(self, head, body, tail="}"):
        before = self.divergent
        self.divergent = True
        self.block(head, body, tail)
        self.divergent = before

    def of(self, *roles, type_="float"):
        return [p for p in self.pointers if p.role in roles and p.type == type_]

    def index(self, scope, low=-MOST_INDEX, high=MOST_INDEX, depth=None):
        depth = self.depth if depth is None else depth
        if self.simple:
            made = self.expressions.simple(scope)
            if fits(made, low, high):
                return made
        return self.expressions.within(scope, depth, low, high)

    def load_int(self, scope, depth):
        rng = self.rng
        sources = self.of("index", type_="int")
        if self.tables and rng.random() < 0.6:
            text, bits, low, high = rng.choice(self.tables)
            return Int(f"{text}[{mask(self.expressions.draw(scope, depth), bits)}]", low, high)
        if sources and rng.random() < 0.7:
            pointer, at = rng.choice(sources), self.index(scope, depth=min(depth, 1))
            pointer.touch(at)
            return Int(f"{pointer.text}[{at}]", *INDICES)
        kind = rng.randrange(5)
        if kind == 0:
            return Int(f"kTable[{mask(self.expressions.draw(scope, depth), 4)}]", 1, 9)
        if kind == 1:
            return Int(f"twist({self.expressions.draw(scope, depth)}, {self.expressions.draw(scope, depth)})", 0, 157)
        if kind == 2:
            modulus = rng.choice([5, 16, 60])
            return Int(f"lean({self.expressions.draw(scope, depth)}, {modulus})", 0, modulus - 1)
        if kind == 3 and rng.random() < 0.3:
            return Int(f"places[{mask(self.expressions.draw(scope, depth), 3)}]", 0, 100)
        return None

    def load(self, scope):
        rng = self.rng
        pointer = rng.choice(self.of("in", "out"))
        at = self.index(scope)
        kind = rng.randrange(12)
        if kind == 0:
            pointer.touch(at)
            return f"fetch({pointer.text}, {at})"
        if kind == 1 and fits(at, -MOST_INDEX // 4, MOST_INDEX // 4):
            step = rng.choice([1, 2, 3])
            pointer.touch(multiply(at, constant(step)))
            return f"gather<{step}>({pointer.text}, {at})"
        if kind == 2 and fits(at, -MOST_INDEX // 4, MOST_INDEX // 4):
            wide, bytes_ = rng.choice([("float4", 16), ("float2", 8)])
            pointer.touch(at, bytes_)
            return f"reinterpret_cast<const {wide}*>({pointer.text})[{at}].{rng.choice('xy')}"
        if kind == 3 and pointer.role == "in":
            pointer.touch(at)
            return f"__ldg(&{pointer.text}[{at}])"
        if kind == 4 and at.low >= 0:
            pointer.touch(at)
            return f"{pointer.text}[(std::size_t){at}]"
        others = self.of("out", type_="double") + self.of("out", type_="unsigned char") + self.of("in", type_="short")
        if kind == 5 and others:
            other = rng.choice(others)
            other.touch(at)
            return f"(float){other.text}[{at}]"
        if kind == 6 and self.trips * 8 <= MOST_TRIPS:
            count, step = self.index(scope, 0, 16, 1), rng.choice([1, 2, 5])
            self_high = at.high + max(count.high - 1, 0) * step
            if self_high <= 2 * MOST_INDEX:
                pointer.touch(Int("", at.low, self_high))
                return f"sum_row({pointer.text}, {at}, {least(count, constant(8))}, {step})"
        if kind == 7 and self.of("table", type_="float*"):
            return self.through_table(scope)
        pointer.touch(at)
        return f"{pointer.text}[{at}]"

    def through_table(self, scope):
        table = self.of("table", type_="float*")[0]
        table.touch(Int("", 0, 7))
        for target in self.of("out"):
            target.touch(Int("", 0, 15))
        return f"{table.text}[{mask(self.index(scope), 3)}][{mask(self.index(scope), 4)}]"

    def value(self, scope, depth=2):
        rng = self.rng
        kind = rng.randrange(6)
        if depth == 0 or kind == 0:
            return rng.choice(["1.0f", "0.5f", f"(float){rng.choice(scope)}" if scope else "2.0f"])
        if kind < 4:
            return self.load(scope)
        return f"({self.value(scope, depth - 1)} {rng.choice('+-*')} {self.value(scope, depth - 1)})"

    def condition(self, scope):
        if self.rng.random() < 0.15:
            return f"({self.load(scope)} > 0.5f)"
        return self.expressions.comparison(scope, max(self.depth - 1, 0))


class Statements(Values):
    def store(self, scope, depth):
        rng = self.rng
        pointer, at = rng.choice(self.of("out")), self.index(scope)
        kind = rng.randrange(9)
        others = self.of("out", type_="double") + self.of("out", type_="unsigned char")
        if kind == 0 and fits(at, -MOST_INDEX // 4, MOST_INDEX // 4):
            pointer.touch(at, 16)
            return self.emit(f"reinterpret_cast<float4*>({pointer.text})[{at}] = "
                             f"make_float4({self.value(scope)}, 1.0f, 2.0f, 3.0f);")
        if kind == 1 and others:
            other = rng.choice(others)
            other.touch(at)
            return self.emit(f"{other.text}[{at}] = ({other.type})(int){self.value(scope)};")
        if kind == 2 and self.of("table", type_="float*"):
            return self.emit(f"{self.through_table(scope)} = {self.value(scope)};")
        value = self.value(scope)
        pointer.touch(at)
        if kind == 3:
            return self.emit(f"put({pointer.text}, {at}, {value});")
        return self.emit(f"{pointer.text}[{at}] {rng.choice(['=', '=', '=', '+='])} {value};")

    def atomic(self, scope, depth):
        rng = self.rng
        counters = self.of("count", type_="int")
        if counters and rng.random() < 0.7:
            at = self.index(scope)
            counters[0].touch(at)
            call = f"{rng.choice(['atomicAdd', 'atomicMax', 'atomicOr', 'atomicExch'])}(&{counters[0].text}[{at}], 1)"
            if rng.random() < 0.7:
                return self.emit(call + ";")
            name = self.fresh("old")
            self.emit(f"int {name} = {call} & 127;")
            scope.append(Int(name, 0, 127))
            return None
        pointer, at = rng.choice(self.of("out")), self.index(scope)
        pointer.touch(at)
        return self.emit(f"atomicAdd(&{pointer.text}[{at}], {self.value(scope, 1)});")

    def define(self, scope, depth):
        name, made = self.fresh("t"), self.expressions.draw(scope, self.depth + 1)
        self.emit(f"int {name} = {made};")
        scope.append(Int(name, made.low, made.high))

    def branch(self, scope, depth):
        condition = self.condition(scope)
        has_else = self.rng.random() < 0.3
        body = lambda: self.statements(list(scope), depth - 1, self.rng.randint(1, 2))
        self.diverging(f"if {condition} {{", body, "} else {" if has_else else "}")
        if has_else:
            self.indent += 1
            self.divergent, before = True, self.divergent
            body()
            self.divergent = before
            self.indent -= 1
            self.emit("}")

    def switch(self, scope, depth):
        def cases():
            for case in ("case 0:", "case 1:", "default:"):
                self.emit(case + " {")
                self.indent += 1
                self.statements(list(scope), depth - 1, 1)
                self.emit("break;")
                self.indent -= 1
                self.emit("}")
        self.diverging(f"switch ({mask(self.expressions.draw(scope, 1), 2)}) {{", cases)

    def loop(self, scope, depth):
        rng = self.rng
        name, bound = self.fresh("k"), self.m.as_int()
        room = MOST_TRIPS // self.trips
        if bound.high > room:
            return self.store(scope, depth)
        start = constant(rng.choice([0, 0, 1, 2, -3]))
        kind = rng.randrange(6)
        if kind == 0:
            head, low, high = f"for (int {name} = {bound} - 1; {name} >= 0; --{name})", 0, bound.high - 1
        elif kind == 1:
            head, low, high = f"for (unsigned {name} = {bound}; {name}-- > 0;)", 0, bound.high - 1
            name = f"(int){name}"
        elif kind == 2:
            most = max(block[0] for _, block in self.shapes)
            head, low, high = f"for (int {name} = blockDim.x / 2; {name} > 0; {name} >>= 1)", 1, max(most // 2, 1)
        elif kind == 3:
            unroll = rng.choice(["#pragma unroll", "#pragma unroll 1", "#pragma unroll 2"])
            self.emit(unroll)
            head, low, high = f"for (int {name} = 0; {name} < {min(4, room)}; ++{name})", 0, min(4, room) - 1
        else:
            step = rng.choice([1, 1, 2, 3])
            head = f"for (int {name} = {start}; {name} < {bound}; {name} += {step})"
            low, high = start.low, max(bound.high - 1, start.low)
        trips = max(high - low + 1, 8 if kind == 2 else 1)
        if trips > room:
            return self.store(scope, depth)

        def body():
            inner = scope + [Int(name, low, high)]
            if rng.random() < 0.2:
                self.emit(f"if {self.condition(inner)} {rng.choice(['continue', 'break'])};")
            self.statements(inner, depth - 1, rng.randint(1, 2))
        self.trips *= trips
        self.diverging(head + " {", body)
        self.trips //= trips
        return None

    def grid_stride(self, scope, depth):
        if self.trips > 1 or self.n.as_int().high > 4 * min(self.total(0)):
            return self.store(scope, depth)
        name, bound = self.fresh("j"), self.n.as_int()
        type_ = self.rng.choice(["int", "unsigned", "std::size_t"])
        head = (f"for ({type_} {name} = blockIdx.x * blockDim.x + threadIdx.x; {name} < ({type_}){bound}; "
                f"{name} += ({type_})gridDim.x * blockDim.x) {{")
        variable = Int(name if type_ == "int" else f"(int){name}", 0, max(bound.high - 1, 0))
        self.trips *= 5
        self.diverging(head, lambda: self.statements(scope + [variable], depth - 1, 1))
        self.trips //= 5
        return None

    def walk(self, scope, depth):
        """A pointer that moves."""
        rng = self.rng
        writes = rng.random() < 0.5
        pointer, start = rng.choice(self.of("out") if writes else self.of("in", "out")), self.index(scope)
        name, k, step = self.fresh("w"), self.fresh("k"), rng.choice([1, 2, 4, -1])
        count = min(6, MOST_TRIPS // self.trips)
        if count < 1:
            return self.store(scope, depth)
        ends = (0, (count - 1) * step)
        pointer.touch(Int("", start.low + min(ends), start.high + max(ends)))
        self.emit(f"{'float' if writes else 'const float'}* {name} = {pointer.text} + {start};")
        if writes:
            self.block(f"for (int {k} = 0; {k} < {count}; ++{k}) {{",
                       lambda: (self.emit(f"*{name} = 1.0f;"), self.emit(f"{name} += {step};")))
        else:
            sum_ = self.fresh("sum")
            self.emit(f"float {sum_} = 0;")
            self.block(f"for (int {k} = 0; {k} < {count}; ++{k}) {{",
                       lambda: (self.emit(f"{sum_} += *{name};"), self.emit(f"{name} += {step};")))
            target, at = rng.choice(self.of("out")), self.index(scope)
            target.touch(at)
            self.emit(f"{target.text}[{at}] = {sum_};")
        return None

    def select(self, scope, depth):
        """One of two pointers, decided as the kernel runs."""
        candidates = self.of("out")
        if len(candidates) < 2:
            return self.store(scope, depth)
        start = self.index(scope, 0, 63)
        name = self.fresh("q")
        self.emit(f"float* {name} = {self.condition(scope)} ? {candidates[0].text} : {candidates[1].text} + {start};")
        either, at = Either(name, candidates[:2], Int("", 0, start.high)), self.index(scope)
        either.touch(at)
        return self.emit(f"{name}[{at}] = {self.value(scope)};")

    def local_array(self, scope, depth):
        name, k = self.fresh("own"), self.fresh("k")
        self.emit(f"int {name}[8];")
        made = self.index(scope + [Int(k, 0, 7)], 0, 500)
        self.emit(f"for (int {k} = 0; {k} < 8; ++{k}) {name}[{k}] = {made};")
        mark = len(self.tables)
        self.tables.append((name, 3, made.low, made.high))
        self.store(scope, depth)
        del self.tables[mark:]

    def accumulate(self, scope, depth):
        if self.trips * 3 > MOST_TRIPS:
            return self.store(scope, depth)
        name, k, start = self.fresh("r"), self.fresh("k"), self.index(scope, 0, 255)
        self.emit(f"int {name} = {start};")
        self.emit(f"for (int {k} = 0; {k} < 3; ++{k}) {name} = ({name} * 5 + {self.index(scope, 0, 255)}) & 255;")
        scope.append(Int(name, min(start.low, 0), max(start.high, 255)))
        return None

    def tile(self, scope, depth):
        """Shared memory of the whole block: values, or places that others use as indices."""
        rng = self.rng
        if self.divergent or self.returned:
            return self.store(scope, depth)
        name, thread = self.fresh("tile"), "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)"
        p = self.fresh("p")
        whole = f"for (int {p} = {thread}; {p} < 256; {p} += blockDim.x * blockDim.y * blockDim.z)"
        inner = scope + [Int(p, 0, 255)]
        if rng.random() < 0.4:
            made = self.index(inner, 0, 500)
            self.emit(f"__shared__ int {name}[256];")
            self.emit(f"{whole} {name}[{p}] = {made};")
            self.emit("__syncthreads();")
            self.tables.append((name, 8, min(made.low, 0), made.high))
            return None
        self.emit(f"__shared__ __align__(16) float {name}[256];")
        pointer, at = rng.choice(self.of("in")), self.index(inner)
        pointer.touch(at)
        if self.asynchronous and rng.random() < 0.7:
            self.emit(f"{whole} __pipeline_memcpy_async(&{name}[{p}], &{pointer.text}[{at}], 4);")
            self.emit("__pipeline_commit(); __pipeline_wait_prior(0);")
        else:
            self.emit(f"{whole} {name}[{p}] = {pointer.text}[{at}];")
        self.emit("__syncthreads();")
        target, at = rng.choice(self.of("out")), self.index(scope)
        target.touch(at)
        return self.emit(f"{target.text}[{at}] = {name}[{mask(self.index(scope), 8)}];")

    def leave(self, scope, depth):
        if self.indent > 1:
            return self.store(scope, depth)
        self.emit(f"if {self.condition(scope)} return;")
        self.returned = True
        return None

    def statements(self, scope, depth, count):
        kinds = [(self.store, 8), (self.define, 3), (self.atomic, 2), (self.walk, 1), (self.select, 1),
                 (self.local_array, 1), (self.accumulate, 1), (self.tile, 1), (self.leave, 1)]
        if depth > 0:
            kinds += [(self.branch, 4), (self.loop, 4), (self.grid_stride, 1), (self.switch, 1)]
        if self.simple:
            kinds = [(self.store, 8), (self.tile, 1), (self.atomic, 1), (self.loop if depth > 0 else self.walk, 2)]
        for _ in range(count):
            statement = self.rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
            statement(scope, depth)
