/* The fat binary of this folder, as bytes that the library carries. Nothing else. */
  .section .rodata
  .balign 64
  .globl refrain_kernels_begin
  .hidden refrain_kernels_begin
refrain_kernels_begin:
  .incbin REFRAIN_KERNELS
  .globl refrain_kernels_end
  .hidden refrain_kernels_end
refrain_kernels_end:
  .byte 0
  .section .note.GNU-stack,"",@progbits
