// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

/// @file
/// What the programs of a benchmark share: their options, and how they end.

namespace chime::bench {

/// "--name VALUE", or a switch without a value.
struct Argument {
  const char* name;
  std::function<void(const char* value)> take;
  bool has_value = true;
};

/// A whole number from `least` to `most` into `where`.
template <class T>
Argument number(const char* name, T& where, unsigned long least = 0, unsigned long most = 0xffffffff) {
  return {name, [name, &where, least, most](const char* text) {
            char* end = nullptr;
            const unsigned long value = std::strtoul(text, &end, 0);
            if (*text == '\0' || *end != '\0' || value < least || value > most)
              throw std::runtime_error(std::string("--") + name + ": '" + text + "' is not a number of " +
                                       std::to_string(least) + " to " + std::to_string(most));
            where = static_cast<T>(value);
          }};
}

inline Argument text(const char* name, std::string& where) {
  return {name, [&where](const char* value) { where = value; }};
}

/// --help prints the usage and ends the program; so does what is not known, with status 2.
inline void parse(int argc, char** argv, const char* usage, const std::vector<Argument>& arguments) {
  constexpr int first = 256;  // above getopt's own answers
  std::vector<option> known;
  for (const Argument& argument : arguments)
    known.push_back({argument.name, argument.has_value ? required_argument : no_argument, nullptr,
                     first + static_cast<int>(known.size())});
  const int help = first + static_cast<int>(known.size());
  known.push_back({"help", no_argument, nullptr, help});
  known.push_back({nullptr, 0, nullptr, 0});
  for (int c; (c = getopt_long(argc, argv, "", known.data(), nullptr)) != -1;) {
    if (c < first || c == help) {
      std::fputs(usage, c == help ? stdout : stderr);
      std::exit(c == help ? 0 : 2);
    }
    arguments[static_cast<std::size_t>(c - first)].take(optarg);
  }
}

/// A program's main function: what is thrown is told, and the status is 1.
inline int main_of(const char* name, int (*run)(int, char**), int argc, char** argv) noexcept {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace chime::bench
