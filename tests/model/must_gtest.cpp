// A model's findings as failures of the running GoogleTest.
#include <gtest/gtest.h>

#include "must.hpp"

namespace refrain::engine::test {

void (*on_wrong)(const char* what) = [](const char* what) { ADD_FAILURE() << what; };

}  // namespace refrain::engine::test
