/* A program without CUDA: asks for the wrapped variable, and looks symbols up in its own way. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  const char* value = getenv("NEXT_SYMBOL_PROBE");
  void* self = dlopen(NULL, RTLD_LAZY);
  printf("%s %s %s\n", value ? value : "unset", dlsym(self, "puts") ? "puts" : "no puts",
         dlsym(RTLD_DEFAULT, "no_such_symbol") ? "odd" : "none");
  return 0;
}
