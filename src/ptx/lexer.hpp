// PTX text to tokens, one at a time. It knows no opcode and no directive.
#pragma once

#include "ptx/ast.hpp"

namespace refrain::ptx {

enum class TokenKind : std::uint8_t {
  kEnd,
  kWord,     // name, register, opcode
  kDotWord,  // .word, text without the dot
  kInteger,  // value
  kFloat32,  // value: bits of 0f…
  kFloat64,  // value: bits of 0d… or a decimal fraction
  kString,   // text without quotes
  kPunctuation,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  std::uint64_t value = 0;
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  bool is(char punctuation) const noexcept {
    return kind == TokenKind::kPunctuation && text.size() == 1 && text[0] == punctuation;
  }
  bool is_dot(std::string_view word) const noexcept { return kind == TokenKind::kDotWord && text == word; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text);
  Token next();  // throws Error

 private:
  void skip_blank();
  void skip_line();
  Token word(Token token);
  Token number(Token token);
  Token hex_float(Token token, int digits);
  Token string(Token token);
  [[noreturn]] void fail(const Token& at, const std::string& message) const;
  char peek(std::size_t ahead = 0) const noexcept {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace refrain::ptx
