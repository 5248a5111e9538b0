// Whether an instruction has one of the forms in forms.def. It decides nothing about operands.
#include "simgpu/exec/forms.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

namespace refrain::simgpu {
namespace {

using Words = std::vector<std::string_view>;

// One place in a form: what may stand there.
struct Slot {
  Words words;
  bool optional = false;
  bool is_ordered = false;  // a type, or the layout of a matrix
};
using Form = std::vector<Slot>;

Words split(std::string_view text, char separator) {
  Words parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool is_type(std::string_view word) {
  static const std::vector<std::string_view> types = {
#define PTX_TYPE(id, text, bits, kind) text,
#include "ptx/types.def"
#undef PTX_TYPE
  };
  return std::find(types.begin(), types.end(), word) != types.end();
}

struct NamedWords {
  std::string_view name;
  std::string_view words;
};
constexpr NamedWords kNamedWords[] = {
#define WORDS(name, words) {name, words},
#define FORM(opcode, words)
#include "simgpu/exec/forms.def"
#undef FORM
#undef WORDS
};

Form read_form(std::string_view text) {
  Form form;
  for (std::string_view part : split(text, '.')) {
    Slot slot;
    if (part.back() == '?') {
      slot.optional = true;
      part.remove_suffix(1);
    }
    const auto named = std::find_if(std::begin(kNamedWords), std::end(kNamedWords),
                                    [&](const NamedWords& known) { return known.name == part; });
    slot.words = split(named != std::end(kNamedWords) ? named->words : part, '|');
    slot.is_ordered =
        is_type(slot.words.front()) || slot.words.front() == "row" || slot.words.front() == "col";
    form.push_back(std::move(slot));
  }
  return form;
}

struct FormTable {
  std::array<std::vector<Form>, static_cast<std::size_t>(ptx::Opcode::kUnknown) + 1> forms;

  FormTable() {
#define WORDS(name, words)
#define FORM(opcode, words) add(ptx::Opcode::opcode, words);
#include "simgpu/exec/forms.def"
#undef FORM
#undef WORDS
  }
  void add(ptx::Opcode opcode, std::string_view words) {
    forms[static_cast<std::size_t>(opcode)].push_back(read_form(words));
  }
};

const FormTable& form_table() {
  static const FormTable table;
  return table;
}

// Each word takes the first free slot that knows it; types and layouts keep their order.
bool matches(const Form& form, const Words& words) {
  std::uint32_t filled = 0;
  std::size_t next_ordered = 0;
  for (const std::string_view word : words) {
    std::size_t at = 0;
    while (at < form.size() &&
           ((filled >> at & 1u) != 0 ||
            std::find(form[at].words.begin(), form[at].words.end(), word) == form[at].words.end())) {
      ++at;
    }
    if (at == form.size()) return false;
    if (form[at].is_ordered) {
      if (at < next_ordered) return false;
      next_ordered = at + 1;
    }
    filled |= 1u << at;
  }
  for (std::size_t at = 0; at < form.size(); ++at) {
    if ((filled >> at & 1u) == 0 && !form[at].optional) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string_view> words_of(const ptx::Instruction& instruction) {
  Words words = split(instruction.text, '.');
  // Blanks may stand around a dot; they are no part of a word. What follows these spaces says nothing more.
  for (std::string_view& word : words) {
    const std::size_t first = word.find_first_not_of(" \t\r\n");
    const std::size_t last = word.find_last_not_of(" \t\r\n");
    word = first == std::string_view::npos ? std::string_view() : word.substr(first, last - first + 1);
    if (word == "shared::cta") word = "shared";
    if (word == "param::entry" || word == "param::func") word = "param";
  }
  if (!words.empty()) words.erase(words.begin());
  return words;
}

bool is_supported_form(const ptx::Instruction& instruction) {
  // A program has few different instructions: each is matched once.
  thread_local std::unordered_map<std::string, bool> known;
  if (const auto found = known.find(std::string(instruction.text)); found != known.end())
    return found->second;
  const Words words = words_of(instruction);
  const auto& forms = form_table().forms[static_cast<std::size_t>(instruction.opcode)];
  const bool supported =
      std::any_of(forms.begin(), forms.end(), [&](const Form& form) { return matches(form, words); });
  constexpr std::size_t kMostKnown = 1u << 14;
  if (known.size() >= kMostKnown) known.clear();
  known.emplace(instruction.text, supported);
  return supported;
}

std::vector<std::string> all_forms(ptx::Opcode opcode) {
  std::vector<std::string> result;
  for (const Form& form : form_table().forms[static_cast<std::size_t>(opcode)]) {
    std::vector<std::string> texts{std::string(ptx::name_of(opcode))};
    for (const Slot& slot : form) {
      std::vector<std::string> longer;
      for (const std::string& text : texts) {
        if (slot.optional) longer.push_back(text);
        for (const std::string_view word : slot.words) longer.push_back(text + '.' + std::string(word));
      }
      texts = std::move(longer);
    }
    result.insert(result.end(), texts.begin(), texts.end());
  }
  return result;
}

}  // namespace refrain::simgpu
