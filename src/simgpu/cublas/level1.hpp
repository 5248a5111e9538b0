// Level 1: signatures to arguments. The symbols are exports.cpp's. It must not compute.
#pragma once

#include "simgpu/cublas/frame.hpp"

namespace refrain::simgpu::cublas {

// An Ex function: run(the type that is computed in), for the execution types that are.
template <Name kSymbol, class Run>
cublasStatus_t ex(cudaDataType execution, Run run) {
  if (execution == CUDA_R_32F || execution == CUDA_R_64F || execution == CUDA_C_32F ||
      execution == CUDA_C_64F) {
    return run(static_cast<std::int32_t>(execution));
  }
  return call([&] {
    refuse(std::string(CallName<kSymbol>::kCharacters.data()) + " with execution type " +
           std::to_string(execution));
  });
}

template <Name kSymbol>
Arguments vector_arguments(std::int64_t n, std::int32_t work) {
  Arguments out = arguments_of<kSymbol>();
  out.n = n > 0 ? n : 0;
  out.work = work;
  return out;
}

template <Name kSymbol, class Int>
cublasStatus_t axpy_of(cublasHandle_t handle, Int n, const void* alpha, std::int32_t alpha_type,
                       const void* x, std::int32_t x_type, Int incx, void* y, std::int32_t y_type, Int incy,
                       std::int32_t work) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = vector_arguments<kSymbol>(n, work);
    for (const std::int32_t type : {alpha_type, x_type, y_type}) check_type(type, arguments.call);
    arguments.alpha = scalar(context, alpha, alpha_type);
    arguments.b = operand(x, incx, x_type);
    arguments.c = operand(y, incy, y_type);
    if (arguments.n > 0) launch(context, KernelId::kAxpy, arguments);
  });
}
template <Name kSymbol, class T, class Int>
cublasStatus_t axpy(cublasHandle_t handle, Int n, const T* alpha, const T* x, Int incx, T* y, Int incy) {
  return axpy_of<kSymbol>(handle, n, alpha, kType<T>, x, kType<T>, incx, y, kType<T>, incy, kType<T>);
}
template <Name kSymbol, class Int>
cublasStatus_t scal_of(cublasHandle_t handle, Int n, const void* alpha, std::int32_t alpha_type, void* x,
                       std::int32_t x_type, Int incx, std::int32_t work) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = vector_arguments<kSymbol>(n, work);
    for (const std::int32_t type : {alpha_type, x_type}) check_type(type, arguments.call);
    arguments.alpha = scalar(context, alpha, alpha_type);
    arguments.c = operand(x, incx, x_type);
    if (arguments.n > 0 && incx > 0) launch(context, KernelId::kScale, arguments);
  });
}
template <Name kSymbol, class A, class T, class Int>
cublasStatus_t scal(cublasHandle_t handle, Int n, const A* alpha, T* x, Int incx) {
  return scal_of<kSymbol>(handle, n, alpha, kType<A>, x, kType<T>, incx, kType<T>);
}

// A type that is computed in and loses nothing of the elements.
inline std::int32_t exact_work_of(std::int32_t type) {
  if (is_complex(type) || type == CUDA_R_64F) return type;
  return type == CUDA_R_32I ? CUDA_R_64F : CUDA_R_32F;
}

template <Name kSymbol, class Int>
cublasStatus_t pair_of(cublasHandle_t handle, KernelId kernel, Int n, const void* x, std::int32_t x_type,
                       Int incx, void* y, std::int32_t y_type, Int incy) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = vector_arguments<kSymbol>(n, exact_work_of(x_type));
    for (const std::int32_t type : {x_type, y_type}) check_type(type, arguments.call);
    if (x_type != y_type) refuse(std::string(arguments.call) + " between two types");
    arguments.b = operand(x, incx, x_type);
    arguments.c = operand(y, incy, y_type);
    if (arguments.n > 0) launch(context, kernel, arguments);
  });
}
template <Name kSymbol, class T, class Int>
cublasStatus_t copy(cublasHandle_t handle, Int n, const T* x, Int incx, T* y, Int incy) {
  return pair_of<kSymbol>(handle, KernelId::kCopy, n, x, kType<T>, incx, y, kType<T>, incy);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t swap(cublasHandle_t handle, Int n, T* x, Int incx, T* y, Int incy) {
  return pair_of<kSymbol>(handle, KernelId::kSwap, n, x, kType<T>, incx, y, kType<T>, incy);
}

template <Name kSymbol, class Int>
cublasStatus_t dot_of(cublasHandle_t handle, bool conjugated, Int n, const void* x, std::int32_t x_type,
                      Int incx, const void* y, std::int32_t y_type, Int incy, void* result,
                      std::int32_t result_type, std::int32_t work) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = vector_arguments<kSymbol>(n, work);
    for (const std::int32_t type : {x_type, y_type, result_type}) check_type(type, arguments.call);
    arguments.hermitian = conjugated;
    arguments.b = operand(x, incx, x_type);
    arguments.c = operand(y, incy, y_type);
    arguments.d = operand(nullptr, 1, result_type);
    launch_for_result(context, KernelId::kDot, arguments, result, blas::element_bytes(result_type));
  });
}
template <Name kSymbol, class T, class Int>
cublasStatus_t dot(cublasHandle_t handle, Int n, const T* x, Int incx, const T* y, Int incy, T* result) {
  return dot_of<kSymbol>(handle, false, n, x, kType<T>, incx, y, kType<T>, incy, result, kType<T>, kType<T>);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t dotc(cublasHandle_t handle, Int n, const T* x, Int incx, const T* y, Int incy, T* result) {
  return dot_of<kSymbol>(handle, true, n, x, kType<T>, incx, y, kType<T>, incy, result, kType<T>, kType<T>);
}

template <Name kSymbol, class Int>
cublasStatus_t reduce_of(cublasHandle_t handle, KernelId kernel, Int n, const void* x, std::int32_t x_type,
                         Int incx, void* result, std::int32_t result_type, std::int32_t work) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = vector_arguments<kSymbol>(incx > 0 ? n : 0, work);
    for (const std::int32_t type : {x_type, result_type}) check_type(type, arguments.call);
    arguments.b = operand(x, incx, x_type);
    arguments.d = operand(nullptr, 1, result_type);
    launch_for_result(context, kernel, arguments, result, blas::element_bytes(result_type));
  });
}
template <Name kSymbol, class T, class R, class Int>
cublasStatus_t nrm2(cublasHandle_t handle, Int n, const T* x, Int incx, R* result) {
  return reduce_of<kSymbol>(handle, KernelId::kNorm, n, x, kType<T>, incx, result, kType<R>, kType<T>);
}
template <Name kSymbol, class T, class R, class Int>
cublasStatus_t asum(cublasHandle_t handle, Int n, const T* x, Int incx, R* result) {
  return reduce_of<kSymbol>(handle, KernelId::kAbsoluteSum, n, x, kType<T>, incx, result, kType<R>, kType<T>);
}

template <Name kSymbol, class Int>
cublasStatus_t extreme_of(cublasHandle_t handle, bool smallest, Int n, const void* x, std::int32_t x_type,
                          Int incx, Int* result) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = vector_arguments<kSymbol>(incx > 0 ? n : 0, exact_work_of(x_type));
    check_type(x_type, arguments.call);
    arguments.b = operand(x, incx, x_type);
    arguments.mode = static_cast<std::uint8_t>((smallest ? 1 : 0) + (sizeof(Int) == 8 ? 2 : 0));
    launch_for_result(context, KernelId::kExtreme, arguments, result, sizeof(Int));
  });
}
template <Name kSymbol, class T, class Int>
cublasStatus_t amax(cublasHandle_t handle, Int n, const T* x, Int incx, Int* result) {
  return extreme_of<kSymbol>(handle, false, n, x, kType<T>, incx, result);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t amin(cublasHandle_t handle, Int n, const T* x, Int incx, Int* result) {
  return extreme_of<kSymbol>(handle, true, n, x, kType<T>, incx, result);
}

template <Name kSymbol, class T, class C, class S, class Int>
cublasStatus_t rot(cublasHandle_t handle, Int n, T* x, Int incx, T* y, Int incy, const C* c, const S* s) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = vector_arguments<kSymbol>(n, kType<T>);
    arguments.alpha = scalar(context, c, kType<C>);
    arguments.beta = scalar(context, s, kType<S>);
    arguments.b = operand(x, incx, kType<T>);
    arguments.c = operand(y, incy, kType<T>);
    if (arguments.n > 0) launch(context, KernelId::kRotate, arguments);
  });
}

// On the host, the same kernel works on a scratch place.
template <Name kSymbol, class T>
cublasStatus_t rotg(cublasHandle_t handle, T* a, T* b, T* c, T* s) {
  return with_handle(handle, [&](cublasContext& context) {
    require(a != nullptr && b != nullptr && c != nullptr && s != nullptr);
    Arguments arguments = vector_arguments<kSymbol>(1, kType<T>);
    T* places[] = {a, b, c, s};
    Operand* operands[] = {&arguments.a, &arguments.b, &arguments.c, &arguments.d};
    const bool on_host = context.pointer_mode == CUBLAS_POINTER_MODE_HOST;
    const auto& driver = simgpu_blas_client()->driver();
    T values[4] = {};
    if (on_host) {
      values[0] = *a;
      values[1] = *b;
      check(driver.cuMemcpyHtoDAsync(context.result, values, sizeof values, context.stream));
    }
    for (std::size_t index = 0; index < 4; ++index) {
      *operands[index] = operand(places[index], 1, kType<T>);
      if (on_host) operands[index]->address = context.result + index * sizeof(T);
    }
    launch(context, KernelId::kMakeRotation, arguments);
    if (!on_host) return;
    check(driver.cuMemcpyDtoHAsync(values, context.result, sizeof values, context.stream));
    check(driver.cuStreamSynchronize(context.stream));
    for (std::size_t index = 0; index < 4; ++index) *places[index] = values[index];
  });
}

// The Ex forms.
template <Name kSymbol, class Int>
cublasStatus_t axpy_ex(cublasHandle_t handle, Int n, const void* alpha, cudaDataType alpha_type,
                       const void* x, cudaDataType x_type, Int incx, void* y, cudaDataType y_type, Int incy,
                       cudaDataType execution) {
  return ex<kSymbol>(execution, [&](std::int32_t work) {
    return axpy_of<kSymbol>(handle, n, alpha, alpha_type, x, x_type, incx, y, y_type, incy, work);
  });
}
template <Name kSymbol, class Int>
cublasStatus_t scal_ex(cublasHandle_t handle, Int n, const void* alpha, cudaDataType alpha_type, void* x,
                       cudaDataType x_type, Int incx, cudaDataType execution) {
  return ex<kSymbol>(execution, [&](std::int32_t work) {
    return scal_of<kSymbol>(handle, n, alpha, alpha_type, x, x_type, incx, work);
  });
}
template <Name kSymbol, class Int>
cublasStatus_t dot_ex(cublasHandle_t handle, Int n, const void* x, cudaDataType x_type, Int incx,
                      const void* y, cudaDataType y_type, Int incy, void* result, cudaDataType result_type,
                      cudaDataType execution) {
  return ex<kSymbol>(execution, [&](std::int32_t work) {
    return dot_of<kSymbol>(handle, false, n, x, x_type, incx, y, y_type, incy, result, result_type, work);
  });
}
template <Name kSymbol, class Int>
cublasStatus_t dotc_ex(cublasHandle_t handle, Int n, const void* x, cudaDataType x_type, Int incx,
                       const void* y, cudaDataType y_type, Int incy, void* result, cudaDataType result_type,
                       cudaDataType execution) {
  return ex<kSymbol>(execution, [&](std::int32_t work) {
    return dot_of<kSymbol>(handle, true, n, x, x_type, incx, y, y_type, incy, result, result_type, work);
  });
}
template <Name kSymbol, class Int>
cublasStatus_t nrm2_ex(cublasHandle_t handle, Int n, const void* x, cudaDataType x_type, Int incx,
                       void* result, cudaDataType result_type, cudaDataType execution) {
  return ex<kSymbol>(execution, [&](std::int32_t work) {
    const std::int32_t of_x = is_complex(x_type) ? static_cast<std::int32_t>(x_type) : work;
    return reduce_of<kSymbol>(handle, KernelId::kNorm, n, x, x_type, incx, result, result_type, of_x);
  });
}
template <Name kSymbol, class Int>
cublasStatus_t asum_ex(cublasHandle_t handle, Int n, const void* x, cudaDataType x_type, Int incx,
                       void* result, cudaDataType result_type, cudaDataType execution) {
  return ex<kSymbol>(execution, [&](std::int32_t work) {
    const std::int32_t of_x = is_complex(x_type) ? static_cast<std::int32_t>(x_type) : work;
    return reduce_of<kSymbol>(handle, KernelId::kAbsoluteSum, n, x, x_type, incx, result, result_type, of_x);
  });
}
template <Name kSymbol, class Int>
cublasStatus_t copy_ex(cublasHandle_t handle, Int n, const void* x, cudaDataType x_type, Int incx, void* y,
                       cudaDataType y_type, Int incy) {
  return pair_of<kSymbol>(handle, KernelId::kCopy, n, x, x_type, incx, y, y_type, incy);
}
template <Name kSymbol, class Int>
cublasStatus_t swap_ex(cublasHandle_t handle, Int n, void* x, cudaDataType x_type, Int incx, void* y,
                       cudaDataType y_type, Int incy) {
  return pair_of<kSymbol>(handle, KernelId::kSwap, n, x, x_type, incx, y, y_type, incy);
}
template <Name kSymbol, class Int>
cublasStatus_t amax_ex(cublasHandle_t handle, Int n, const void* x, cudaDataType x_type, Int incx,
                       Int* result) {
  return extreme_of<kSymbol>(handle, false, n, x, x_type, incx, result);
}
template <Name kSymbol, class Int>
cublasStatus_t amin_ex(cublasHandle_t handle, Int n, const void* x, cudaDataType x_type, Int incx,
                       Int* result) {
  return extreme_of<kSymbol>(handle, true, n, x, x_type, incx, result);
}

}  // namespace refrain::simgpu::cublas
