// The exported stubs: one per hooked driver function or library function, jumping to its handler, and one per barrier, which first has
// everything made resident and then jumps to the real function with its arguments untouched, whatever they are.
// x86-64 System V only.

#include "preload/asm.h"

  .text

  .set hook_index, 0
.macro HOOK_STUB name
  EXPORT \name
  jmp *(refrain_handlers + 8 * hook_index)(%rip)
  .size \name, . - \name
  .set hook_index, hook_index + 1
.endm

  .set barrier_index, 0
.macro BARRIER_STUB name
  EXPORT \name
  movl $barrier_index, %r11d
  jmp refrain_barrier_stub
  .size \name, . - \name
  .set barrier_index, barrier_index + 1
.endm

#if REFRAIN_LIBRARIES
  .set library_index, 0
.macro LIBRARY_STUB name
  EXPORT \name
  jmp *(refrain_library_handlers + 8 * library_index)(%rip)
  .size \name, . - \name
  .set library_index, library_index + 1
.endm

#define LIBRARY_CALL(symbol, ...) LIBRARY_STUB symbol;
#include "preload/library_calls.def"
#undef LIBRARY_CALL
#endif

#define HOOK(symbol, handler) HOOK_STUB symbol;
#include "preload/hooks.def"
#undef HOOK
#define BARRIER(symbol) BARRIER_STUB symbol;
#include "preload/barriers.def"
#undef BARRIER

// In: the real function's arguments, r11d the barrier's index. refrain_on_barrier returns in rax the real function, or
// null and in edx the CUresult that the program gets instead.
  .type refrain_barrier_stub, @function
refrain_barrier_stub:
  .cfi_startproc
  SAVE_ARGUMENTS
  movl %r11d, %edi
  call refrain_on_barrier
  movq %rax, %r11
  movl %edx, %r10d
  RESTORE_ARGUMENTS
  testq %r11, %r11
  jz 1f
  jmp *%r11
1:
  movl %r10d, %eax
  ret
  .cfi_endproc
  .size refrain_barrier_stub, . - refrain_barrier_stub

// The stubs' addresses, in the order of the lists: what look-ups are answered with.
  .section .data.rel.ro, "aw"
  .globl refrain_hook_stubs
  .hidden refrain_hook_stubs
refrain_hook_stubs:
#define HOOK(symbol, handler) .quad symbol;
#include "preload/hooks.def"
#undef HOOK
  .globl refrain_barrier_stubs
  .hidden refrain_barrier_stubs
refrain_barrier_stubs:
#define BARRIER(symbol) .quad symbol;
#include "preload/barriers.def"
#undef BARRIER

#if REFRAIN_LIBRARIES
  .globl refrain_library_stubs
  .hidden refrain_library_stubs
refrain_library_stubs:
#define LIBRARY_CALL(symbol, ...) .quad symbol;
#include "preload/library_calls.def"
#undef LIBRARY_CALL
#endif

  .section .note.GNU-stack, "", @progbits
