// The events of the log, one struct a kind, expanded from events.def. Plain data; reading and writing is
// src/trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace refrain::event {

// Of the log's lines. A reader refuses a higher number and reads every lower one.
inline constexpr int kSchema = 1;

#define BEGIN_EVENT(Type, kind) \
  struct Type {                 \
    static constexpr std::string_view kKind = #kind;
#define FIELD(type, name, meaning) type name{};
#define END_EVENT(Type) \
  }                     \
  ;
#include "refrain/events.def"
#undef BEGIN_EVENT
#undef FIELD
#undef END_EVENT

// Calls visitor(field name, field) for every field, in the order of the log.
#define BEGIN_EVENT(Type, kind)                             \
  template <class Event, class Visitor>                     \
  requires std::is_same_v<std::remove_const_t<Event>, Type> \
  void visit(Event& event, Visitor&& visitor) {
#define FIELD(type, name, meaning) visitor(std::string_view(#name), event.name);
#define END_EVENT(Type) }
#include "refrain/events.def"
#undef BEGIN_EVENT
#undef FIELD
#undef END_EVENT

}  // namespace refrain::event
