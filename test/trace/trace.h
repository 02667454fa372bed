// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

/// @file
/// The commands of a recorded trace, as test/trace/with-trace hands them to a test.

namespace chime::trace {

/// A command's input or output; bytes that the trace lacks are zero.
struct Message {
  std::vector<std::byte> bytes;
  std::size_t known = 0;  ///< bytes from the front that are in the trace
};

struct Command {
  std::uint32_t opcode = 0;
  Message input;
  Message output;
};

inline Message message(std::istream& words) {
  Message message;
  std::size_t length = 0;
  std::string word;
  words >> length >> message.known;
  while (words >> word) {
    for (std::size_t i = 0; i + 1 < word.size(); i += 2) {
      message.bytes.push_back(static_cast<std::byte>(std::stoul(word.substr(i, 2), nullptr, 16)));
    }
  }
  message.bytes.resize(length);
  return message;
}

/// The trace that the variable CHIME_TRACE names; empty if there is none.
inline std::vector<Command> load() {
  std::vector<Command> commands;
  const char* path = std::getenv("CHIME_TRACE");
  if (path == nullptr) return commands;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "command") {
      std::string opcode;
      words >> opcode;
      commands.emplace_back().opcode = static_cast<std::uint32_t>(std::stoul(opcode, nullptr, 16));
    } else if (kind == "in") {
      commands.back().input = message(words);
    } else if (kind == "out") {
      commands.back().output = message(words);
    }
  }
  return commands;
}

}  // namespace chime::trace
