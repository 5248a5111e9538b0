// The lane loops for any x86-64. Holds no code of its own.
#define REFRAIN_VARIANT baseline
#include "simgpu/exec/alu/variant.inl"
