// SPDX-License-Identifier: BSD-3-Clause
#include <rte_pmd_chime.h>

#include <exception>

#include "subcommands.h"

int main(int argc, char** argv) {
  CLI::App app("Tool of the Chime driver for ConnectX adapters.", "chime");
  app.set_version_flag("--version", rte_pmd_chime_version());
  app.require_subcommand(1);
  int status = 0;
  chime::app::add_atomics(app, status);
  chime::app::add_explain(app, status);
  chime::app::add_serve(app, status);
  CLI11_PARSE(app, argc, argv);
  return status;
}
