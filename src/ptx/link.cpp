// Indices of modules to indices of the whole. It must not lose track of which module a name belongs to.
#include "ptx/link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace refrain::ptx {
namespace {

bool is_shared_between_modules(const Linkage& linkage) {
  return linkage.is_extern || linkage.is_visible || linkage.is_weak || linkage.is_common;
}

bool is_defined(const Function& function) {
  return function.is_defined || function.alias_of != Function::kNoAlias;
}
bool is_defined(const Variable& variable) {
  return !variable.is_extern;
}
bool is_tentative(const Variable& variable) {
  return variable.linkage.is_weak || variable.linkage.is_common;
}
bool is_tentative(const Function& function) {
  return function.linkage.is_weak;
}

// Whether `fresh` takes the place of `known`. Throws if both insist.
template <class T>
bool replaces(const T& known, const T& fresh) {
  if (!is_defined(fresh)) return false;
  if (!is_defined(known)) return true;
  if (is_tentative(known) && !is_tentative(fresh)) return true;
  if (!is_tentative(known) && !is_tentative(fresh)) {
    throw Error(fresh.line, 0, fmt::format("'{}' is defined in two modules", fresh.name));
  }
  return false;
}
bool is_larger_common(const Variable& known, const Variable& fresh) {
  return known.linkage.is_common && fresh.linkage.is_common && fresh.size_bytes > known.size_bytes;
}
bool is_larger_common(const Function&, const Function&) {
  return false;
}

// Where the things of one module are in the whole.
struct Places {
  std::vector<std::uint32_t> variables;
  std::vector<std::uint32_t> functions;
  std::uint32_t location_offset = 0;
};

class Linker {
 public:
  Module run(std::vector<Module> modules) {
    out_ = Module{};
    for (Module& module : modules) add(module);
    for (std::size_t i = 0; i < owners_.size(); ++i) move_function(out_.functions[i], places_[owners_[i]]);
    return std::move(out_);
  }

 private:
  void add(Module& module) {
    Places places;
    const auto number = static_cast<std::uint32_t>(places_.size());
    for (Variable& variable : module.variables) {
      localise(module, variable.relocations, number);
      places.variables.push_back(place(variable, out_.variables, variables_, number));
    }
    for (Function& function : module.functions) {
      const auto before = out_.functions.size();
      places.functions.push_back(place_function(function, number));
      if (out_.functions.size() > before) owners_.push_back(number);
    }
    add_sources(module, places, number);
    out_.version_major = std::max(out_.version_major, module.version_major);
    out_.version_minor = std::max(out_.version_minor, module.version_minor);
    out_.address_bits = module.address_bits;
    if (out_.target < module.target) out_.target = module.target;
    out_.texts.push_back(module.text);
    out_.text = module.text;
    places_.push_back(std::move(places));
  }

  // A name that stays its module's own gets the module's number, so that no other is taken for it.
  static std::string own_name(const std::string& name, std::uint32_t number) {
    return number == 0 ? name : fmt::format("{}@{}", name, number);
  }

  static void localise(const Module& module, std::vector<Relocation>& relocations, std::uint32_t number) {
    for (Relocation& relocation : relocations) {
      const Variable* variable = module.find_variable(relocation.symbol);
      const Function* function = module.find_function(relocation.symbol);
      const bool shared = (variable != nullptr && is_shared_between_modules(variable->linkage)) ||
                          (function != nullptr && is_shared_between_modules(function->linkage));
      if (!shared) relocation.symbol = own_name(relocation.symbol, number);
    }
  }

  template <class T>
  std::uint32_t place(T& thing, std::vector<T>& all, std::map<std::string, std::uint32_t>& known,
                      std::uint32_t number) {
    const auto fresh = static_cast<std::uint32_t>(all.size());
    if (!is_shared_between_modules(thing.linkage)) {
      thing.name = own_name(thing.name, number);
      all.push_back(std::move(thing));
      return fresh;
    }
    const auto [entry, added] = known.emplace(thing.name, fresh);
    if (added) {
      all.push_back(std::move(thing));
    } else if (is_larger_common(all[entry->second], thing) || replaces(all[entry->second], thing)) {
      all[entry->second] = std::move(thing);
      replaced_ = entry->second;
    }
    return entry->second;
  }

  std::uint32_t place_function(Function& function, std::uint32_t number) {
    replaced_ = kNothing;
    const std::uint32_t index = place(function, out_.functions, functions_, number);
    if (replaced_ != kNothing) owners_[replaced_] = number;
    return index;
  }

  void add_sources(Module& module, Places& places, std::uint32_t number) {
    constexpr std::uint32_t kFilesOfAModule = 1u << 20;
    places.location_offset = static_cast<std::uint32_t>(out_.locations.size());
    for (SourceFile& file : module.files) {
      file.number += number * kFilesOfAModule;
      out_.files.push_back(std::move(file));
    }
    for (SourceLocation& location : module.locations) {
      location.file += number * kFilesOfAModule;
      if (location.inlined_at != SourceLocation::kNotInlined) location.inlined_at += places.location_offset;
      out_.locations.push_back(location);
    }
  }

  void move_function(Function& function, const Places& places) {
    if (function.alias_of != Function::kNoAlias) function.alias_of = places.functions[function.alias_of];
    for (Instruction& in : function.body) {
      if (in.location != Instruction::kNoLocation) in.location += places.location_offset;
      for (Operand& operand : in.operands) move_operand(operand, places);
    }
    for (TargetList& list : function.call_targets) {
      for (std::uint32_t& target : list.targets) target = places.functions[target];
    }
  }

  void move_operand(Operand& operand, const Places& places) {
    const bool variable =
        operand.kind == OperandKind::kModuleVariable ||
        (operand.kind == OperandKind::kAddress && operand.base == AddressBase::kModuleVariable);
    if (variable) operand.index = places.variables[operand.index];
    if (operand.kind == OperandKind::kFunction) {
      operand.index = places.functions[operand.index];
      const std::uint32_t alias = out_.functions[operand.index].alias_of;
      if (alias != Function::kNoAlias) operand.index = alias;
    }
    for (Operand& element : operand.elements) move_operand(element, places);
  }

  static constexpr std::uint32_t kNothing = 0xffffffff;

  Module out_;
  std::vector<Places> places_;
  std::vector<std::uint32_t> owners_;  // of out_.functions: the module that the body comes from
  std::map<std::string, std::uint32_t> variables_;
  std::map<std::string, std::uint32_t> functions_;
  std::uint32_t replaced_ = kNothing;
};

}  // namespace

Module link(std::vector<Module> modules) {
  if (modules.size() == 1) return std::move(modules.front());
  return Linker().run(std::move(modules));
}

}  // namespace refrain::ptx
