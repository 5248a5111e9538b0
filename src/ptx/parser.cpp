// Token helpers and the entry point of the parser. Declarations and bodies have files of their own.
#include "ptx/parser.hpp"

#include <fmt/format.h>

namespace refrain::ptx {

Parser::Parser(std::string_view text)
    : text_(std::make_shared<const std::string>(text)), lexer_(std::string_view(*text_)) {
  module_.text = text_;
  advance();
}

void Parser::fail_at(const Token& at, const std::string& message) const {
  throw Error(at.line, at.column, message);
}
void Parser::fail(const std::string& message) const {
  fail_at(token_, message);
}

std::string Parser::shown() const {
  switch (token_.kind) {
    case TokenKind::kEnd: return "the end of the text";
    case TokenKind::kDotWord: return fmt::format("'.{}'", token_.text.substr(0, 60));
    case TokenKind::kInteger:
    case TokenKind::kFloat32:
    case TokenKind::kFloat64: return "a number";
    case TokenKind::kString: return "a string";
    default: return fmt::format("'{}'", token_.text.substr(0, 60));
  }
}

bool Parser::accept(char punctuation) {
  if (!token_.is(punctuation)) return false;
  advance();
  return true;
}

bool Parser::accept_dot(std::string_view word) {
  if (!token_.is_dot(word)) return false;
  advance();
  return true;
}

void Parser::expect(char punctuation, const char* where) {
  if (!accept(punctuation)) fail(fmt::format("'{}' expected {}, found {}", punctuation, where, shown()));
}

std::string_view Parser::expect_word(const char* what) {
  if (token_.kind != TokenKind::kWord) fail(fmt::format("{} expected, found {}", what, shown()));
  const std::string_view word = token_.text;
  advance();
  return word;
}

std::uint64_t Parser::expect_integer(const char* what) {
  if (token_.kind != TokenKind::kInteger) fail(fmt::format("{} expected, found {}", what, shown()));
  const std::uint64_t value = token_.value;
  advance();
  return value;
}

std::int64_t Parser::signed_integer(const char* what) {
  const bool negative = accept('-');
  if (!negative) accept('+');
  const std::uint64_t magnitude = expect_integer(what);
  return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

Module Parser::run() {
  while (token_.kind != TokenKind::kEnd) module_item();
  if (module_.version_major == 0) fail("PTX text has no .version directive");
  if (has_aliases_) resolve_aliases();
  return std::move(module_);
}

Module parse(std::string_view text) {
  return Parser(text).run();
}

}  // namespace refrain::ptx
