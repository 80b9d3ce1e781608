#ifndef CFLOOR_H
#define CFLOOR_H

typedef struct cfloor cfloor;

/// Holds a credential over a cache (a copy of one ticket in MEMORY) and a target name; NULL when that fails.
cfloor *cfloor_open(const char *source_cache, const char *service);
/// Makes one token and drops the context; returns the token's length, 0 on failure.
unsigned long cfloor_token(cfloor *self);
void cfloor_close(cfloor *self);

#endif
