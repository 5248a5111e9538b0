// Functions of libraries that the program has loaded. Must never load a library.
#pragma once

#include <string_view>

namespace refrain::preload {

// Whether the path is that of a file whose name begins so.
inline bool is_file_of(std::string_view library, std::string_view path) {
  return path.substr(path.rfind('/') + 1).starts_with(library);
}

// The function that the program would have got without us: the next one in the order of loading, or, where
// its library was opened privately, that of whichever such library is loaded. library: as its file's name
// begins. nullptr: there is none.
void* find_in_loaded(std::string_view library, const char* name);

}  // namespace refrain::preload
