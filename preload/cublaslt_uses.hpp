// What cublasLtMatmul reads and writes, from its descriptors, which are asked with the library's own
// functions. Nothing is called here but those.
#pragma once

#include <cublasLt.h>

#include "preload/library_uses.hpp"

namespace refrain::preload {

// The parts of a call that its record keeps as copies, because the program may destroy them at once.
struct LtDescriptors {
  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t a, b, c, d;
  cublasLtMatmulAlgo_t algorithm;
  void* bias;  // out of the operation: null where the epilogue has none
  void* aux;
};

struct LtOperands {
  const void* const& alpha;
  const void* const& a;
  const void* const& b;
  const void* const& beta;
  const void* const& c;
  void* const& d;
  void* const& workspace;
  std::size_t workspace_bytes;
};

// Whether scalars are on the device; nullopt: in a way that is not followed.
std::optional<bool> lt_scalars_on_device(cublasLtMatmulDesc_t operation);

// descriptors: of the record, for its bias and aux, which are filled in here.
void describe_lt_matmul(LibraryUses& uses, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                        cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                        const LtOperands& operands, LtDescriptors& descriptors);

// Whether the library in use has descriptors of the size that our header gives them: the parts of a version
// agree up to the first number.
bool lt_descriptors_can_be_copied();
// Before the call is made again: the copies of the record point where its pointers do.
bool point_descriptors(LtDescriptors& descriptors);

}  // namespace refrain::preload
