#include "CProgramVersion.h"

// The latest release in CHANGELOG.md, which Scripts/check compares. A release build defines it with the commit (Scripts/version). It is in a C
// file because Swift has no macros with values; only this file is compiled again for another commit.
#ifndef PROGRAM_VERSION
#define PROGRAM_VERSION "0.1.0"
#endif

const char *program_version(void) { return PROGRAM_VERSION; }
