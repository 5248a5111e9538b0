// dlsym itself, interposed. The real one finds its caller by its return address (RTLD_NEXT), so every look-up that is
// not ours must reach it by a jump, never by a call. Ours: names that begin with "cu", not for RTLD_NEXT.
// x86-64 System V only.

#include "preload/asm.h"

  .text
  EXPORT dlsym
  .cfi_startproc
  cmpq $-1, %rdi  // RTLD_NEXT
  je 1f
  cmpb $'c', (%rsi)
  jne 1f
  cmpb $'u', 1(%rsi)
  jne 1f
  jmp refrain_dlsym
1:
  movq refrain_real_dlsym(%rip), %r11
  testq %r11, %r11
  jz 2f
  jmp *%r11
2:
  SAVE_ARGUMENTS
  call refrain_find_real_dlsym
  movq %rax, %r11
  RESTORE_ARGUMENTS
  jmp *%r11
  .cfi_endproc
  .size dlsym, . - dlsym

  .section .note.GNU-stack, "", @progbits
