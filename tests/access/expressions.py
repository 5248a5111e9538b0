"""Random integer expressions of CUDA C++ together with the interval that their values lie in, so that whoever uses one as
an index knows how large a buffer must be. It must not produce undefined behaviour: no signed overflow, no division by
zero, no shift of what is negative."""

MOST = 1 << 24  # no subexpression leaves [-MOST, MOST]: products of two are cut down before they are used


class Int:
    """An expression of type int, and its least and greatest value."""

    def __init__(self, text, low, high):
        assert low <= high, (text, low, high)
        self.text, self.low, self.high = text, low, high

    def __str__(self):
        return self.text


def constant(value):
    return Int(str(value) if value >= 0 else f"({value})", value, value)


def add(a, b):
    return Int(f"({a} + {b})", a.low + b.low, a.high + b.high)


def subtract(a, b):
    return Int(f"({a} - {b})", a.low - b.high, a.high - b.low)


def corners(a, b, f):
    values = [f(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(values), max(values)


def multiply(a, b):
    return Int(f"({a} * {b})", *corners(a, b, lambda x, y: x * y))


def quotient(x, y):
    return abs(x) // y if x >= 0 else -(abs(x) // y)


def divide(a, b):
    """b must be positive."""
    assert b.low > 0
    return Int(f"({a} / {b})", *corners(a, b, quotient))


def remainder(a, b):
    """b must be positive; the result has the sign of a."""
    assert b.low > 0
    most = b.high - 1
    return Int(f"({a} % {b})", max(-most, min(a.low, 0)), min(most, max(a.high, 0)))


def least(a, b):
    return Int(f"min({a}, {b})", min(a.low, b.low), min(a.high, b.high))


def greatest(a, b):
    return Int(f"max({a}, {b})", max(a.low, b.low), max(a.high, b.high))


def choose(condition, a, b):
    return Int(f"({condition} ? {a} : {b})", min(a.low, b.low), max(a.high, b.high))


def absolute(a):
    low = 0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    return Int(f"abs({a})", low, max(abs(a.low), abs(a.high)))


def shift_right(a, bits):
    return Int(f"({a} >> {bits})", a.low >> bits, a.high >> bits)


def mask(a, bits):
    """Keeps the lowest bits, of negative numbers too."""
    return Int(f"({a} & {(1 << bits) - 1})", 0, (1 << bits) - 1)


def merge(operator, a, b):
    """| or ^ of numbers that are not negative."""
    assert a.low >= 0 and b.low >= 0
    return Int(f"({a} {operator} {b})", 0, (1 << max(a.high, b.high, 1).bit_length()) - 1)


def wrapped(a, b, modulus):
    """Unsigned differences and products that wrap around, brought back by a remainder."""
    return Int(f"(int)(((unsigned){a} - 3u * (unsigned){b}) % {modulus}u)", 0, modulus - 1)


def scattered(a, bits):
    """A hash: the upper bits of a product that wraps around."""
    return Int(f"(int)(((unsigned){a} * 2654435761u) >> {32 - bits})", 0, (1 << bits) - 1)


def through_long(a, b, divisor):
    low, high = corners(a, b, lambda x, y: x * y)
    return Int(f"(int)((long long){a} * {b} / {divisor})", quotient(low, divisor), quotient(high, divisor))


def counted(a):
    return Int(f"__popc({a})", 0, 32)


def fits(a, low, high):
    return low <= a.low and a.high <= high


class Generator:
    """Draws expressions over the variables in scope; load(depth) draws one that is read from memory, or None."""

    def __init__(self, rng, load):
        self.rng = rng
        self.load = load

    def leaf(self, scope):
        if scope and self.rng.random() < 0.85:
            return scope[0] if self.rng.random() < 0.3 else self.rng.choice(scope)
        return constant(self.rng.choice([0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 33, 64, -1, -2, -3]))

    def draw(self, scope, depth):
        made = self.draw_any(scope, depth)
        if fits(made, -MOST, MOST):
            return made
        return self.leaf(scope)

    def draw_any(self, scope, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.2:
            return self.leaf(scope)
        a = self.draw(scope, depth - 1)
        b = self.draw(scope, depth - 1)
        positive = [v for v in scope if v.low > 0] + [constant(rng.choice([1, 2, 3, 4, 5, 8, 16, 24, 32, 100]))]
        kind = rng.randrange(20)
        if kind < 4:
            return add(a, b)
        if kind < 6:
            return subtract(a, b)
        if kind < 8:
            return multiply(a, rng.choice(positive))
        if kind == 8:
            return divide(a, rng.choice(positive))
        if kind == 9:
            return remainder(a, rng.choice(positive))
        if kind == 10:
            return least(a, b)
        if kind == 11:
            return greatest(a, b)
        if kind == 12:
            return choose(self.comparison(scope, depth - 1), a, b)
        if kind == 13:
            return shift_right(a, rng.randint(1, 5))
        if kind == 14:
            return mask(a, rng.randint(1, 9))
        if kind == 15:
            return wrapped(a, b, rng.choice([7, 64, 100, 333]))
        if kind == 16:
            return scattered(a, rng.randint(3, 9))
        if kind == 17:
            return through_long(a, b, rng.choice([1, 3, 8, 1000]))
        if kind == 18 and a.low >= 0 and b.low >= 0:
            return merge(rng.choice("|^"), a, b)
        if kind == 19:
            return self.load(scope, depth - 1) or counted(a)
        return rng.choice([absolute, lambda x: subtract(constant(0), x)])(a)

    def comparison(self, scope, depth):
        rng = self.rng
        a, b = self.draw(scope, depth), self.draw(scope, depth)
        kind = rng.randrange(8)
        if kind == 0:
            return f"(({a} & {rng.choice([1, 2, 3, 4, 8])}) {rng.choice(['==', '!='])} 0)"
        if kind == 1:
            return f"((unsigned){a} {rng.choice(['<', '>='])} {rng.choice([1, 7, 40, 300])}u)"
        if kind == 2 and depth > 0:
            return f"({self.comparison(scope, depth - 1)} {rng.choice(['&&', '||'])} {self.comparison(scope, depth - 1)})"
        return f"({a} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {b})"

    def simple(self, scope):
        """What most kernels use: the first variable, which is the thread's own, times and plus something."""
        rng = self.rng
        made = scope[0]
        if rng.random() < 0.3:
            made = multiply(made, constant(rng.choice([2, 3, 4, 8])))
        if rng.random() < 0.5:
            made = add(made, rng.choice(scope[1:] + [constant(rng.choice([-1, 1, 5, 32]))]))
        return made

    def within(self, scope, depth, low, high):
        """An expression whose values are in [low, high], which must hold 0 and 16 numbers."""
        made = self.simple(scope) if scope and self.rng.random() < 0.4 else self.draw(scope, depth)
        if fits(made, low, high):
            return made
        kind = self.rng.randrange(4)
        if kind == 0:
            return least(greatest(made, constant(low)), constant(high))
        if kind == 1:
            return mask(made, (high + 1).bit_length() - 1)
        if kind == 2:
            return remainder(absolute(made), constant(high + 1))
        return wrapped(made, constant(0), high + 1)
