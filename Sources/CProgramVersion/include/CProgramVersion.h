#ifndef CPROGRAMVERSION_H
#define CPROGRAMVERSION_H

/// The version of the programs, such as `0.1.0`, or `0.1.0+12.gabc1234` in a release build of a later commit.
const char *program_version(void);

#endif
