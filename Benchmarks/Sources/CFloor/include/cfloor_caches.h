#ifndef CFLOOR_CACHES_H
#define CFLOOR_CACHES_H

/// A credential cache that is filled and then used, as a program over libkrb5 does. One thread at a time.
typedef struct cfloor_cache cfloor_cache;

/// Opens a cache by name, such as `KCM:`, and reads the tickets to fill it with out of another one: that for `service`, and the ticket-granting
/// ticket. With `ticket_bytes` above 0 the tickets that fill are as long, else as long as the service's. NULL when that fails.
cfloor_cache *cfloor_cache_open(const char *name, const char *source_cache, const char *service, unsigned ticket_bytes);
/// Initialises the cache and stores so many tickets one by one, the real one last; with one ticket it is the only one. Stops after so many
/// seconds. Returns how many were stored, negative on failure.
int cfloor_cache_fill(cfloor_cache *self, unsigned tickets, double seconds);
/// libkrb5's words for the last failure.
const char *cfloor_cache_error(cfloor_cache *self);
void cfloor_cache_close(cfloor_cache *self);

// Each of these does its work `count` times and returns the microseconds for one; negative on failure.

/// krb5_cc_store_cred of tickets that are not there.
double cfloor_cache_store(cfloor_cache *self, unsigned count);
/// krb5_cc_store_cred of tickets that are.
double cfloor_cache_replace(cfloor_cache *self, unsigned count);
/// krb5_cc_retrieve_cred with the flags of libkrb5's own look-up of a service ticket, for tickets from all over the cache.
double cfloor_cache_retrieve(cfloor_cache *self, unsigned count);
/// gss_init_sec_context with a credential that is held.
double cfloor_cache_held_token(cfloor_cache *self, unsigned count);
/// gss_acquire_cred and gss_init_sec_context.
double cfloor_cache_fresh_token(cfloor_cache *self, unsigned count);

/// Round trips with the empty server on one connection: so many bytes there, so many back.
double cfloor_round_trips(const char *path, unsigned sent, unsigned received, unsigned count);
/// One connect, four round trips, one close: what one token with a held credential asks of the server of a cache.
double cfloor_connections(const char *path, unsigned count);

/// Sends the same request over `connections` kept connections at once, `count` in all, and reads each answer whole; one that is not a 200 with
/// `expected` in it is a failure. `latencies` takes the microseconds of each. Returns the seconds for all, negative on failure.
double cfloor_load(const char *path, const char *request, const char *expected, unsigned connections, unsigned count, double *latencies);

#endif
