// with_instructions SET PROGRAM [ARGUMENT ...]: runs a program in which the engine weft uses that
// set of instructions, or says that this processor lacks it, and exits with 77.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "weft/error.hpp"
#include "weft/plan.hpp"

int main(int count, char** arguments) {
  if (count < 3) return EXIT_FAILURE;
  setenv("WEFT_INSTRUCTIONS", arguments[1], 1);
  try {
    weft::instructions();
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.code() == weft::ErrorCode::unavailable ? 77 : EXIT_FAILURE;
  }
  execv(arguments[2], arguments + 2);
  std::perror(arguments[2]);
  return EXIT_FAILURE;
}
