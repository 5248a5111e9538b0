// Reading the user's statements, strictly: an unknown key or a value of another type is a mistake, because a
// statement that is not understood as it was meant brings wrong bytes.
#include "access/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "access/demangle.hpp"

namespace refrain::access {
namespace {

using nlohmann::json;

constexpr std::uint32_t kAddressBytes = 8;
constexpr std::uint32_t kMostParamBytes = 32764;  // CUDA C++ Programming Guide: parameters of a kernel

std::string place_in(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("line {}, column {}", line, before.size() - begin + 1);
}

// The library's sentence without its own error number and place.
std::string syntax_error(const json::parse_error& error) {
  std::string text = error.what();
  const std::size_t colon = text.find(": ");
  if (colon != std::string::npos) text.erase(0, colon + 2);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  ParsedManifest run() {
    const json root = parse();
    if (out_.errors.empty() && has_shape(root, "", "an object with the key kernels", json::value_t::object)) {
      keys(root, "", {"kernels"}, {"kernels"});
      list(root, "", "kernels", [&](const json& item, const std::string& at) { kernel(item, at); });
    }
    return std::move(out_);
  }

 private:
  // The tree alone does not show that a key was there twice: the last one would count.
  json parse() {
    std::istringstream in{std::string(text_)};
    std::vector<std::set<std::string>> open;
    const auto watch = [&](int, json::parse_event_t event, json& parsed) {
      if (event == json::parse_event_t::object_start) open.emplace_back();
      if (event == json::parse_event_t::object_end) open.pop_back();
      if (event == json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second) {
        const auto behind = in.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in);
        fail(place_in(text_, static_cast<std::size_t>(behind) - 1),
             fmt::format("{} is there twice in one object", parsed.dump()));
      }
      return true;
    };
    try {
      return json::parse(in, watch);
    } catch (const json::parse_error& error) {
      fail(place_in(text_, error.byte == 0 ? 0 : error.byte - 1), syntax_error(error));
    } catch (const json::exception& error) {  // a number that no double can hold
      fail(place_in(text_, text_.size()), error.what());
    }
    return {};
  }

  void fail(const std::string& where, const std::string& what) {
    std::string line = fmt::format("{}: {}: {}", file_, where, what);
    std::replace(line.begin(), line.end(), '\n', ' ');  // a key may have one in it
    out_.errors.push_back(std::move(line));
  }
  bool has_shape(const json& value, const std::string& at, const char* wanted, json::value_t type) {
    if (value.type() == type) return true;
    fail(at.empty() ? "the whole" : at, fmt::format("{} expected, {} found", wanted, value.type_name()));
    return false;
  }
  void keys(const json& object, const std::string& at, const std::set<std::string>& known,
            const std::set<std::string>& needed) {
    for (const auto& [key, value] : object.items()) {
      if (!known.contains(key)) {
        fail(at + "/" + key, fmt::format("unknown key; accepted here: {}", fmt::join(known, ", ")));
      }
    }
    for (const std::string& key : needed) {
      if (!object.contains(key)) fail(at.empty() ? "the whole" : at, fmt::format("{} is missing", key));
    }
  }
  template <class Item>
  void list(const json& object, const std::string& at, const char* key, Item item) {
    const auto found = object.find(key);
    const std::string place = fmt::format("{}/{}", at, key);
    if (found == object.end() || !has_shape(*found, place, "an array", json::value_t::array)) return;
    for (std::size_t i = 0; i < found->size(); ++i) item((*found)[i], fmt::format("{}/{}", place, i));
  }
  void flag(const json& object, const std::string& at, const char* key, bool& into) {
    const auto found = object.find(key);
    if (found == object.end()) return;
    if (has_shape(*found, fmt::format("{}/{}", at, key), "true or false", json::value_t::boolean))
      into = found->get<bool>();
  }

  void kernel(const json& object, const std::string& at) {
    if (!has_shape(object, at, "an object", json::value_t::object)) return;
    keys(object, at, {"name", "parameters", "replayable"}, {"name", "parameters", "replayable"});
    StatedKernel entry;
    name(object, at, entry.name);
    flag(object, at, "replayable", entry.replayable);
    list(object, at, "parameters",
         [&](const json& item, const std::string& place) { pointer(item, place, entry.pointers); });
    std::sort(entry.pointers.begin(), entry.pointers.end(),
              [](const auto& a, const auto& b) { return a.offset_bytes < b.offset_bytes; });
    for (std::size_t i = 1; i < entry.pointers.size(); ++i) {
      const std::uint32_t before = entry.pointers[i - 1].offset_bytes, here = entry.pointers[i].offset_bytes;
      if (here < before + kAddressBytes)
        fail(at + "/parameters", fmt::format("the addresses at offsets {} and {} overlap", before, here));
    }
    out_.manifest.kernels.push_back(std::move(entry));
  }
  void name(const json& object, const std::string& at, std::string& into) {
    const auto found = object.find("name");
    const std::string place = at + "/name";
    if (found == object.end() || !has_shape(*found, place, "a string", json::value_t::string)) return;
    into = found->get<std::string>();
    if (into.empty() || into == "*") fail(place, "the name of a kernel expected, or its beginning and a *");
    if (!names_.insert(into).second) fail(place, fmt::format("{} is there twice", into));
  }
  void pointer(const json& object, const std::string& at, std::vector<StatedPointer>& into) {
    if (!has_shape(object, at, "an object", json::value_t::object)) return;
    keys(object, at, {"offset", "read", "written", "whole_overwrite"}, {"offset", "read", "written"});
    StatedPointer pointer;
    flag(object, at, "read", pointer.read);
    flag(object, at, "written", pointer.written);
    flag(object, at, "whole_overwrite", pointer.whole_overwrite);
    if (pointer.whole_overwrite && (pointer.read || !pointer.written))
      fail(at + "/whole_overwrite", "only of what is written and not read");
    const auto found = object.find("offset");
    if (found == object.end()) return;
    const bool fits = found->is_number_unsigned() &&
                      found->get<std::uint64_t>() <= std::uint64_t{kMostParamBytes - kAddressBytes};
    if (!fits) {
      fail(at + "/offset", fmt::format("bytes from the beginning of the parameters expected, at most {}",
                                       kMostParamBytes - kAddressBytes));
      return;
    }
    pointer.offset_bytes = found->get<std::uint32_t>();
    into.push_back(pointer);
  }

  std::string_view text_;
  const std::string& file_;
  std::set<std::string> names_;
  ParsedManifest out_;
};

bool matches(const std::string& pattern, const std::string& name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
}

}  // namespace

const StatedKernel* Manifest::find(const std::string& mangled_name) const {
  if (kernels.empty()) return nullptr;
  const std::string source_name = demangled(mangled_name);
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const StatedKernel& entry) {
    return matches(entry.name, mangled_name) || matches(entry.name, source_name);
  });
  return found == kernels.end() ? nullptr : &*found;
}

ParsedManifest parse_manifest(std::string_view text, const std::string& file) {
  return Reader(text, file).run();
}

ParsedManifest read_manifest(const std::string& file) {
  const bool is_folder = std::filesystem::is_directory(file);
  std::ifstream in(file, std::ios::binary);
  if (is_folder || !in) {
    ParsedManifest out;
    out.errors.push_back(
        fmt::format("{}: cannot be read: {}", file, std::strerror(is_folder ? EISDIR : errno)));
    return out;
  }
  std::ostringstream text;
  text << in.rdbuf();
  return parse_manifest(text.str(), file);
}

std::string contradiction(const KernelAccess& facts, const StatedKernel& entry) {
  for (const PointerAccess& pointer : facts.pointers) {
    const auto stated = std::find_if(entry.pointers.begin(), entry.pointers.end(),
                                     [&](const auto& p) { return p.offset_bytes == pointer.offset_bytes; });
    const bool listed = stated != entry.pointers.end();
    const auto denied = [&](const char* does, const char* as) {
      return fmt::format("its PTX {} memory through the parameter at offset {}, which is not listed as {}",
                         does, pointer.offset_bytes, as);
    };
    if ((pointer.read || pointer.atomic) && !(listed && stated->read)) return denied("reads", "read");
    if ((pointer.written || pointer.atomic) && !(listed && stated->written))
      return denied("writes", "written");
  }
  const std::uint32_t differs = facts.effects & ~kUnboundedEffects;
  if (!entry.replayable || differs == kNoEffect) return {};
  return fmt::format("its PTX {}, so that it cannot be replayable", gravest(differs));
}

}  // namespace refrain::access
