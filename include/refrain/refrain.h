/* What a program may tell refrain, and ask it. Everything here is optional: a program that uses it runs
 * without refrain just as well, needs no library to be linked, and pays one look-up of a symbol for each
 * function.
 *
 * C99 and C++11, and later. Thread safety: every function may be called from any thread. Nothing here makes a
 * CUDA call that waits for the device but refrain_pin, which may have to bring a tensor back first.
 */
#ifndef REFRAIN_REFRAIN_H
#define REFRAIN_REFRAIN_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions return. */
enum {
  REFRAIN_OK = 0,
  REFRAIN_INACTIVE = 1, /* the program runs without refrain, or refrain leaves it alone */
  REFRAIN_UNKNOWN = 2,  /* the address is in no device memory that refrain manages */
  REFRAIN_FAILED = 3    /* out of memory, or the device refused */
};

/* Bytes of a name that are kept; the rest is cut off. */
#define REFRAIN_LONGEST_NAME 256

/* Totals since the program began. Bytes and nanoseconds. */
typedef struct {
  size_t size; /* set to sizeof(refrain_statistics) before the call; fields may be added at the end */
  uint64_t evictions;
  uint64_t evicted_bytes;
  uint64_t rematerialisations;
  uint64_t replayed_ns; /* device time of what was computed again */
  uint64_t program_ns;  /* device time of the program's own work, as recorded */
  uint64_t held_bytes_at_most;
  uint64_t wanted_bytes_at_most;
  uint64_t limit_bytes; /* 0: none */
  uint64_t refused;     /* requests refused for want of memory */
} refrain_statistics;

/* The library's functions, looked up each time: it may be called before and after anything else. ISO C has no
 * conversion of what dlsym returns to a function: its bytes are copied, as POSIX allows. */
#define REFRAIN_CALL(name, type, arguments)                                  \
  do {                                                                       \
    void* const refrain_symbol = dlsym(RTLD_DEFAULT, #name);                 \
    type refrain_function;                                                   \
    memcpy(&refrain_function, &refrain_symbol, sizeof refrain_function);     \
    return refrain_function ? refrain_function arguments : REFRAIN_INACTIVE; \
  } while (0)

/* REFRAIN_OK where refrain manages this process's device memory. */
static inline int refrain_is_active(void) {
  typedef int (*function)(void);
  REFRAIN_CALL(refrain_active, function, ());
}

/* A name for the tensor at that device address, for the log and the report. It is copied, and holds until the
 * memory is freed. */
static inline int refrain_name_tensor(const void* address, const char* name) {
  typedef int (*function)(const void*, const char*);
  REFRAIN_CALL(refrain_name, function, (address, name));
}

/* The tensor at that device address is never evicted from now on. */
static inline int refrain_pin_tensor(const void* address) {
  typedef int (*function)(const void*);
  REFRAIN_CALL(refrain_pin, function, (address));
}

/* A line in the log, and a mark in its picture: "iteration 12". */
static inline int refrain_mark_moment(const char* name) {
  typedef int (*function)(const char*);
  REFRAIN_CALL(refrain_mark, function, (name));
}

/* Fills as many fields as out->size has room for. */
static inline int refrain_statistics_now(refrain_statistics* out) {
  typedef int (*function)(refrain_statistics*);
  REFRAIN_CALL(refrain_get_statistics, function, (out));
}

/* For PyTorch's torch.cuda.memory.CUDAPluggableAllocator, librefrain.so also has
 *   void* refrain_torch_alloc(ssize_t bytes, int device, cudaStream_t stream);
 *   void refrain_torch_free(void* address, ssize_t bytes, int device, cudaStream_t stream);
 * They allocate each tensor on its own, through the driver, whether or not the library was preloaded. */

#ifdef __cplusplus
}
#endif
#endif /* REFRAIN_REFRAIN_H */
