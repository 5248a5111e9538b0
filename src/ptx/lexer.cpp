// Blank space, comments, words, numbers and punctuation of PTX. It must stop at the end of the text whatever
// is in it.
#include "ptx/lexer.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>

namespace refrain::ptx {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$';
}

}  // namespace

Lexer::Lexer(std::string_view text) : text_(text) {}

void Lexer::fail(const Token& at, const std::string& message) const {
  throw Error(at.line, at.column, message);
}

void Lexer::skip_line() {
  while (position_ < text_.size() && text_[position_] != '\n') ++position_;
}

void Lexer::skip_blank() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '\n') {
      ++position_;
      ++line_;
      line_start_ = position_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++position_;
    } else if (c == '/' && peek(1) == '/') {
      skip_line();
    } else if (c == '/' && peek(1) == '*') {
      const std::uint32_t line = line_;
      const auto column = static_cast<std::uint32_t>(position_ - line_start_ + 1);
      for (position_ += 2; !(peek() == '*' && peek(1) == '/'); ++position_) {
        if (position_ >= text_.size()) throw Error(line, column, "comment is not closed");
        if (text_[position_] == '\n') {
          ++line_;
          line_start_ = position_ + 1;
        }
      }
      position_ += 2;
    } else {
      return;
    }
  }
}

Token Lexer::word(Token token) {
  token.kind = TokenKind::kWord;
  const std::size_t begin = position_++;
  while (position_ < text_.size() && in_word(text_[position_])) ++position_;
  token.text = text_.substr(begin, position_ - begin);
  return token;
}

Token Lexer::hex_float(Token token, int digits) {
  const std::size_t begin = position_ + 2;
  for (int i = 0; i < digits; ++i) {
    if (!is_hex(peek(2 + static_cast<std::size_t>(i)))) {
      fail(token, fmt::format("a 0{} literal has {} hex digits", peek(1), digits));
    }
  }
  const char* end = text_.data() + begin + digits;
  std::from_chars(text_.data() + begin, end, token.value, 16);
  token.kind = digits == 8 ? TokenKind::kFloat32 : TokenKind::kFloat64;
  position_ = begin + static_cast<std::size_t>(digits);
  if (in_word(peek()))
    fail(token, fmt::format("a 0{} literal has {} hex digits", digits == 8 ? 'f' : 'd', digits));
  return token;
}

Token Lexer::number(Token token) {
  const char second = peek(1);
  if (peek() == '0' && (second == 'f' || second == 'F')) return hex_float(token, 8);
  if (peek() == '0' && (second == 'd' || second == 'D')) return hex_float(token, 16);
  std::size_t begin = position_;
  std::size_t end = begin;
  int base = 10;
  if (peek() == '0' && (second == 'x' || second == 'X')) {
    base = 16;
    begin += 2;
    for (end = begin; end < text_.size() && is_hex(text_[end]);) ++end;
  } else if (peek() == '0' && (second == 'b' || second == 'B')) {
    base = 2;
    begin += 2;
    for (end = begin; end < text_.size() && (text_[end] == '0' || text_[end] == '1');) ++end;
  } else {
    while (end < text_.size() && is_digit(text_[end])) ++end;
    const char after = end < text_.size() ? text_[end] : '\0';
    if (after == '.' || after == 'e' || after == 'E') {
      double value = 0;
      const auto result = std::from_chars(text_.data() + begin, text_.data() + text_.size(), value);
      if (result.ec != std::errc()) fail(token, "number cannot be read");
      token.kind = TokenKind::kFloat64;
      token.value = std::bit_cast<std::uint64_t>(value);
      position_ = static_cast<std::size_t>(result.ptr - text_.data());
      return token;
    }
    if (peek() == '0' && end - begin > 1) base = 8;
  }
  const auto result = std::from_chars(text_.data() + begin, text_.data() + end, token.value, base);
  if (result.ec != std::errc() || result.ptr != text_.data() + end) {
    fail(token, "integer cannot be read: 64 bits, decimal, 0x…, 0b… or octal 0…");
  }
  position_ = end;
  if (peek() == 'U' || peek() == 'u') ++position_;
  if (in_word(peek())) fail(token, "integer is followed by a letter");
  token.kind = TokenKind::kInteger;
  return token;
}

Token Lexer::string(Token token) {
  const std::size_t begin = ++position_;
  while (position_ < text_.size() && text_[position_] != '"') {
    if (text_[position_] == '\n') break;
    position_ += text_[position_] == '\\' ? 2 : 1;
  }
  if (position_ >= text_.size() || text_[position_] != '"') fail(token, "string is not closed on its line");
  token.kind = TokenKind::kString;
  token.text = text_.substr(begin, position_ - begin);
  ++position_;
  return token;
}

Token Lexer::next() {
  skip_blank();
  Token token;
  token.line = line_;
  token.column = static_cast<std::uint32_t>(position_ - line_start_ + 1);
  if (position_ >= text_.size()) return token;
  const char c = text_[position_];
  if (begins_word(c)) return word(token);
  if (is_digit(c)) return number(token);
  if (c == '"') return string(token);
  if (c == '.' && (begins_word(peek(1)) || is_digit(peek(1)))) {
    const std::size_t begin = ++position_;
    // A modifier may hold a level or a scope: L2::128B, shared::cta.
    while (in_word(peek()) || (peek() == ':' && peek(1) == ':') ||
           (peek() == ':' && position_ > begin && text_[position_ - 1] == ':')) {
      ++position_;
    }
    token.kind = TokenKind::kDotWord;
    token.text = text_.substr(begin, position_ - begin);
    return token;
  }
  constexpr std::string_view kPunctuation = "()[]{}<>,;:|=+-!@~*/&^?.";
  if (kPunctuation.find(c) == std::string_view::npos) {
    fail(token, fmt::format("unexpected character 0x{:02x}", static_cast<unsigned char>(c)));
  }
  token.kind = TokenKind::kPunctuation;
  token.text = text_.substr(position_++, 1);
  return token;
}

}  // namespace refrain::ptx
