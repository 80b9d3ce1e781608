#ifndef CFLOOR_TUNNELS_H
#define CFLOOR_TUNNELS_H

// The load on proxies: requests and tunnels. For one thread at a time, which is blocked while the load runs.

/// The message for the last failure of these functions.
const char *cfloor_failure(void);
/// Raises this process's limit of open files, which child processes inherit, to the highest permitted one.
void cfloor_raise_file_limit(void);
/// Whether a program can listen on this port on loopback, and whether one does.
int cfloor_is_port_free(int port);
int cfloor_is_listening(int port);

/// Sends the same request over `connections` concurrent connections to a port on loopback, `count` in total, and reads each response
/// completely; one that is not a 200 with `expected` in it is a failure. A new connection sends `first` instead if that is not NULL. If
/// `reconnects`, each request has a new connection, and its latency includes opening it; otherwise one request of each connection is not
/// measured. `latencies` receives the microseconds of each. Returns the total seconds, negative on failure.
double cfloor_load_port(int port, const char *first, const char *request, const char *expected, int reconnects, unsigned connections,
                        unsigned count, double *latencies);

/// Starts a thread with the server at the other end of the tunnels. Returns its port on loopback, negative on failure.
int cfloor_target_start(void);
/// Opens `count` tunnels, this many at once, each with a CONNECT to `authority` (NULL for a relay that needs none) and an answer of the
/// server. `latencies`, unless NULL, receives the microseconds of each. `sockets` receives the open tunnels, also on failure; NULL closes
/// each at once. Returns the total seconds, negative on failure.
double cfloor_open_tunnels(int port, const char *authority, unsigned at_once, unsigned count, double *latencies, int *sockets);
/// Transfers this many bytes through each of the open tunnels concurrently, and checks them. Returns the seconds, negative on failure.
double cfloor_transfer(const int *sockets, unsigned count, unsigned long long bytes, int sends);
/// The number of tunnels through which the server answers.
unsigned cfloor_working_tunnels(const int *sockets, unsigned count);
void cfloor_close_tunnels(const int *sockets, unsigned count);

#endif
