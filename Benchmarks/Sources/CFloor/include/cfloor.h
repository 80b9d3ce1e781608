#ifndef CFLOOR_H
#define CFLOOR_H

typedef struct cfloor cfloor;

/// Holds a credential over a cache (a copy of one ticket in MEMORY) and a target name; NULL when that fails.
cfloor *cfloor_open(const char *source_cache, const char *service);
/// Makes one token and drops the context; returns the token's length, 0 on failure.
unsigned long cfloor_token(cfloor *self);
void cfloor_close(cfloor *self);

/// Tokens a second of so many threads (64 at most), each with a credential of its own and `count` tokens; negative on failure.
double cfloor_threads(const char *source_cache, const char *service, unsigned threads, unsigned count);

/// Microseconds of processor time for each step of one exchange.
typedef struct {
    /// The client's first leg.
    double token;
    /// The server's check of the token and the name of the client, with a credential that is held.
    double accept;
    /// The client's check of the server's answer.
    double verify;
    /// Opening the server's credential, which mod_auth_gssapi does for each request.
    double acquire;
} cfloor_times;

/// Makes `count` tokens, accepts each once with the keytab and no replay cache, and verifies the answers; 0 on failure.
int cfloor_exchanges(cfloor *self, const char *keytab, unsigned count, cfloor_times *times);

/// The least that a client can do: sends `count` requests over kept connections, each with a token made ahead or, with `self` NULL, with
/// none, and reads each answer whole. Returns the microseconds for a request, negative on failure; an answer without `expected` is one.
double cfloor_requests(cfloor *self, int port, const char *path, const char *expected, unsigned count);

/// Sends `count` requests with one libcurl handle, as `curl --negotiate` does, or without signing in. Returns the microseconds for a request, negative on failure;
/// an answer without `expected` is one.
double cfloor_libcurl(const char *url, const char *certificate, int signs_in, const char *expected, unsigned count);

#endif
