// A callable that is used within the call that it is given to: no copy, no allocation. Must not be kept.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace refrain::cuda {

template <class Signature>
class FunctionRef;

template <class Result, class... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): the constraint keeps copies out
      FunctionRef(F&& f)  // implicit: made from a lambda at the call
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        invoke_([](void* object, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}
  Result operator()(Args... args) const { return invoke_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  Result (*invoke_)(void*, Args...);
};

}  // namespace refrain::cuda
