#ifndef CFLOOR_CACHES_H
#define CFLOOR_CACHES_H

/// A credential cache that is filled and then used through libkrb5. For one thread at a time.
typedef struct cfloor_cache cfloor_cache;

/// Opens a cache by name, such as `KCM:`, and reads the tickets to fill it with from another one: the ticket for `service`, and the
/// ticket-granting ticket. If `ticket_bytes` is positive, the filling tickets have this length, otherwise the service ticket's. NULL on
/// failure.
cfloor_cache *cfloor_cache_open(const char *name, const char *source_cache, const char *service, unsigned ticket_bytes);
/// Initializes the cache and stores this many tickets one by one, the real one last; a single ticket is the real one. Stops after this many
/// seconds. Returns the number of stored tickets, negative on failure.
int cfloor_cache_fill(cfloor_cache *self, unsigned tickets, double seconds);
/// libkrb5's message for the last failure.
const char *cfloor_cache_error(cfloor_cache *self);
void cfloor_cache_close(cfloor_cache *self);

// Each of these runs `count` times and returns the microseconds for one run; negative on failure.

/// krb5_cc_store_cred of new tickets.
double cfloor_cache_store(cfloor_cache *self, unsigned count);
/// krb5_cc_store_cred of tickets that exist already.
double cfloor_cache_replace(cfloor_cache *self, unsigned count);
/// krb5_cc_retrieve_cred with the flags of libkrb5's own look-up of a service ticket, for tickets at positions throughout the cache.
double cfloor_cache_retrieve(cfloor_cache *self, unsigned count);
/// gss_init_sec_context with a credential that stays open.
double cfloor_cache_held_token(cfloor_cache *self, unsigned count);
/// gss_acquire_cred and gss_init_sec_context.
double cfloor_cache_fresh_token(cfloor_cache *self, unsigned count);

/// Round trips to the empty server on one connection, with these numbers of bytes in each direction.
double cfloor_round_trips(const char *path, unsigned sent, unsigned received, unsigned count);
/// One connect, four round trips, one close: the requests of one token with an open credential to the server of a cache.
double cfloor_connections(const char *path, unsigned count);

/// Sends the same request over `connections` concurrent persistent connections, `count` in total, and reads each response completely; one that
/// is not a 200 with `expected` in it is a failure. `latencies` receives the microseconds of each. Returns the total seconds, negative on
/// failure.
double cfloor_load(const char *path, const char *request, const char *expected, unsigned connections, unsigned count, double *latencies);

#endif
