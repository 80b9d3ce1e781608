#ifndef CFLOOR_COMMANDS_H
#define CFLOOR_COMMANDS_H

/// Runs a program to its end with these arguments and variables, both terminated by NULL, and without input and output. Returns the
/// microseconds, negative if it cannot be started or does not exit with status 0; `processor` receives the microseconds of processor time.
double cfloor_command(char *const *arguments, char *const *variables, double *processor);

#endif
