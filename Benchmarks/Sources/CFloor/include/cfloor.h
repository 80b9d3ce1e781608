#ifndef CFLOOR_H
#define CFLOOR_H

typedef struct cfloor cfloor;

/// Opens a credential for a cache (a copy of one ticket in MEMORY) and a target name; NULL on failure.
cfloor *cfloor_open(const char *source_cache, const char *service);
/// Makes one token and drops the context; returns the token's length, 0 on failure.
unsigned long cfloor_token(cfloor *self);
/// Writes the base64 text of a new token; 0 on failure.
int cfloor_make_token_text(cfloor *self, char *text, unsigned long size);
void cfloor_close(cfloor *self);

/// Tokens per second of this many threads (at most 64), each with its own credential and `count` tokens; negative on failure.
double cfloor_threads(const char *source_cache, const char *service, unsigned threads, unsigned count);

/// Microseconds of processor time for each step of one exchange.
typedef struct {
    /// The client's first leg.
    double token;
    /// The server's check of the token and the client's name, with a credential that stays open.
    double accept;
    /// The client's check of the server's token.
    double verify;
    /// Opening the server's credential, which mod_auth_gssapi does for each request.
    double acquire;
} cfloor_times;

/// Makes `count` tokens, accepts each once with the keytab and without a replay cache, and verifies the server's tokens; 0 on failure.
int cfloor_exchanges(cfloor *self, const char *keytab, unsigned count, cfloor_times *times);

/// The minimum work of a client: sends `count` requests over persistent connections, each with a token made beforehand or, if `self` is NULL,
/// without one, and reads each response completely. Returns the microseconds per request, negative on failure; a response without `expected`
/// is a failure.
double cfloor_requests(cfloor *self, int port, const char *path, const char *expected, unsigned count);

/// Sends `count` requests with one libcurl handle, as `curl --negotiate` does, or without authentication. Returns the microseconds per
/// request, negative on failure; a response without `expected` is a failure.
double cfloor_libcurl(const char *url, const char *certificate, int signs_in, const char *expected, unsigned count);

#endif
