// The .npy header and element types. See npy.hpp.
#include "npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "weft/error.hpp"

namespace weft::command {
namespace {

constexpr char kNativeOrder = std::endian::native == std::endian::little ? '<' : '>';

template <class T>
T load(const std::byte* from, bool swap) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), from, sizeof(T));
  if (swap) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

template <class T>
void numbers_to_double(const std::byte* from, std::int64_t scalars, bool swap, double* to) {
  for (std::int64_t i = 0; i < scalars; ++i)
    to[i] = static_cast<double>(load<T>(from + i * static_cast<std::int64_t>(sizeof(T)), swap));
}

/// IEEE 754 binary16: 1 sign, 5 exponent (bias 15) and 10 mantissa bits.
double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const double mantissa = bits & 0x3ff;
  double value = 0;
  if (exponent == 31)
    value = mantissa == 0 ? HUGE_VAL : std::nan("");
  else
    value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

void halves_to_double(const std::byte* from, std::int64_t scalars, bool swap, double* to) {
  for (std::int64_t i = 0; i < scalars; ++i)
    to[i] = half_to_double(load<std::uint16_t>(from + 2 * i, swap));
}

struct NpyType {
  std::string_view code;
  std::string_view name;
  bool complex;
  int bytes;
  ToDouble to_double;
};

/// NumPy's type codes without the byte order.
constexpr NpyType kTypes[] = {
    {"b1", "bool", false, 1, numbers_to_double<std::uint8_t>},
    {"i1", "int8", false, 1, numbers_to_double<std::int8_t>},
    {"i2", "int16", false, 2, numbers_to_double<std::int16_t>},
    {"i4", "int32", false, 4, numbers_to_double<std::int32_t>},
    {"i8", "int64", false, 8, numbers_to_double<std::int64_t>},
    {"u1", "uint8", false, 1, numbers_to_double<std::uint8_t>},
    {"u2", "uint16", false, 2, numbers_to_double<std::uint16_t>},
    {"u4", "uint32", false, 4, numbers_to_double<std::uint32_t>},
    {"u8", "uint64", false, 8, numbers_to_double<std::uint64_t>},
    {"f2", "float16", false, 2, halves_to_double},
    {"f4", "float32", false, 4, numbers_to_double<float>},
    {"f8", "float64", false, 8, numbers_to_double<double>},
    {"c8", "complex64", true, 8, numbers_to_double<float>},
    {"c16", "complex128", true, 16, numbers_to_double<double>},
};

[[noreturn]] void damaged(const std::string& what) {
  throw Error(ErrorCode::io_failure, fmt::format("damaged .npy header: {}", what));
}

/// What follows `'key':` in the dictionary.
std::string_view value_of(std::string_view text, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    const std::string quoted = fmt::format("{}{}{}", quote, key, quote);
    std::size_t at = text.find(quoted);
    if (at == std::string_view::npos) continue;
    at = text.find(':', at + quoted.size());
    if (at != std::string_view::npos) at = text.find_first_not_of(' ', at + 1);
    if (at != std::string_view::npos) return text.substr(at);
  }
  damaged(fmt::format("it has no '{}'", key));
}

Shape parse_shape(std::string_view text) {
  if (text.empty() || text.front() != '(') damaged("its shape is no tuple");
  const std::size_t end = text.find(')');
  if (end == std::string_view::npos) damaged("its shape has no end");
  Shape shape;
  std::int64_t number = -1;
  for (char c : text.substr(1, end)) {
    if (c >= '0' && c <= '9') {
      number = std::max<std::int64_t>(number, 0) * 10 + (c - '0');
    } else if (number >= 0) {
      shape.push_back(number);
      number = -1;
    }
  }
  return shape;
}

void set_type(std::string_view text, NpyHeader& header) {
  if (text.empty() || (text.front() != '\'' && text.front() != '"'))
    throw Error(ErrorCode::io_failure,
                "the .npy file holds records; a field has one number per point");
  const std::string_view descr = text.substr(1, text.find(text.front(), 1) - 1);
  if (descr.size() < 3) damaged(fmt::format("its type is '{}'", descr));
  const auto* const type =
      std::find_if(std::begin(kTypes), std::end(kTypes),
                   [&](const NpyType& each) { return each.code == descr.substr(1); });
  if (type == std::end(kTypes))
    throw Error(ErrorCode::io_failure,
                fmt::format("the .npy file holds elements of type '{}'; integers, bool, float16 to "
                            "float64 and complex64 or "
                            "complex128 can be read",
                            descr));
  const char order = descr.front() == '=' || descr.front() == '|' ? kNativeOrder : descr.front();
  header.swap = order != kNativeOrder;
  header.complex = type->complex;
  header.element_bytes = type->bytes;
  header.to_double = type->to_double;
  header.type =
      fmt::format("{}{}", order == '>' && type->bytes > 1 ? "big-endian " : "", type->name);
}

}  // namespace

NpyPreamble parse_npy_preamble(const std::string& bytes) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::int64_t>(static_cast<unsigned char>(bytes.at(i)));
  };
  const std::int64_t version = byte(6);
  if (version == 1) return {10, byte(8) + (byte(9) << 8)};
  if (version == 2 || version == 3)
    return {12, byte(8) + (byte(9) << 8) + (byte(10) << 16) + (byte(11) << 24)};
  throw Error(ErrorCode::io_failure,
              fmt::format(".npy format version {} is not known; 1 to 3 are", version));
}

NpyHeader parse_npy_header(const std::string& text, std::int64_t data_offset) {
  NpyHeader header;
  header.data_offset = data_offset;
  set_type(value_of(text, "descr"), header);
  header.fortran_order = value_of(text, "fortran_order").substr(0, 4) == "True";
  header.shape = parse_shape(value_of(text, "shape"));
  return header;
}

std::string format_npy_header(const Shape& shape, const std::string& type) {
  std::string text =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': (", kNativeOrder, type);
  for (std::int64_t extent : shape) text += fmt::format("{}, ", extent);
  text += "), }";
  constexpr std::size_t kPreamble = 10;
  constexpr std::size_t kAlignment = 64;
  while ((kPreamble + text.size() + 1) % kAlignment != 0) text += ' ';
  text += '\n';
  std::string header = "\x93NUMPY";
  header +=
      {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace weft::command
