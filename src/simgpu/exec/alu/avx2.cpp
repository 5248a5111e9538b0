// The lane loops for hosts with AVX2 and FMA: same results, faster. Holds no code of its own.
#define REFRAIN_VARIANT avx2
#include "simgpu/exec/alu/variant.inl"
