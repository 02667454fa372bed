// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>

/// @file
/// The subcommands, one file each. They add themselves to the command line; `status` becomes the program's
/// exit status.

namespace chime::app {

void add_atomics(CLI::App& app, int& status);
void add_explain(CLI::App& app, int& status);
void add_serve(CLI::App& app, int& status);

}  // namespace chime::app
