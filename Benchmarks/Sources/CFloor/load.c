#define _GNU_SOURCE
#include "cfloor_caches.h"
#include "cfloor_tunnels.h"
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct connection {
    /// -1 if the next request opens a connection.
    int socket_;
    double sent;
    size_t length;
    char answer[16384];
};

struct load {
    /// NULL for a port on loopback.
    const char *path;
    int port;
    /// What a new connection sends instead of the request; NULL for the request.
    const char *first;
    const char *request, *expected;
    int reconnects, events;
    unsigned begun, done, count;
    double *latencies;
};

static int open_connection(struct load *load, struct connection *connection) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    connection->socket_ = load->path ? cfloor_connect_path(load->path) : cfloor_connect_port(load->port);
    return (connection->socket_ >= 0 && epoll_ctl(load->events, EPOLL_CTL_ADD, connection->socket_, &event) == 0)
           || cfloor_fail("connecting", strerror(errno));
}

static void close_connection(struct load *load, struct connection *connection) {
    if (connection->socket_ < 0) return;
    epoll_ctl(load->events, EPOLL_CTL_DEL, connection->socket_, NULL);
    close(connection->socket_);
    connection->socket_ = -1;
}

static int begin(struct load *load, struct connection *connection) {
    if (load->begun == load->count) return 1;
    load->begun++;
    connection->length = 0;
    connection->sent = cfloor_now();
    int is_new = connection->socket_ < 0;
    if (is_new && !open_connection(load, connection)) return 0;
    const char *request = is_new && load->first ? load->first : load->request;
    size_t length = strlen(request);
    return send(connection->socket_, request, length, MSG_NOSIGNAL) == (ssize_t)length || cfloor_fail("sending a request", strerror(errno));
}

/// Whether the head of a response announces the end of the connection.
static int announces_close(const struct connection *connection) {
    const char *end = strstr(connection->answer, "\r\n\r\n"), *field = strcasestr(connection->answer, "\r\nConnection: close");
    return field != NULL && field < end;
}

/// Reads the available bytes; 1 for a complete response, 0 for a part, -1 for an unexpected one.
static int receive(struct load *load, struct connection *connection) {
    ssize_t more = recv(connection->socket_, connection->answer + connection->length, sizeof connection->answer - 1 - connection->length, 0);
    if (more <= 0) {
        connection->answer[connection->length] = 0;
        cfloor_fail(more == 0 ? "the connection closed after" : strerror(errno), connection->answer);
        return -1;
    }
    connection->length += (size_t)more;
    connection->answer[connection->length] = 0;
    if (!cfloor_is_whole(connection->answer, connection->length)) {
        if (connection->length < sizeof connection->answer - 1) return 0;
        cfloor_fail("a response is too long", connection->answer);
        return -1;
    }
    const char *end = strstr(connection->answer, "\r\n\r\n");
    if (strncmp(connection->answer, "HTTP/1.1 200 ", 13) == 0 && end != NULL && strstr(end, load->expected) != NULL) return 1;
    cfloor_fail("an unexpected response", connection->answer);
    return -1;
}

/// Each connection sends its next request when the response to the previous one is complete.
static int run(struct load *load, struct connection *connections, unsigned number) {
    struct epoll_event ready[64];
    for (unsigned i = 0; i < number; i++)
        if (!begin(load, &connections[i])) return 0;
    while (load->done < load->count) {
        int count = epoll_wait(load->events, ready, 64, 10000);
        if (count <= 0) return cfloor_fail("waiting for responses", count == 0 ? "none came within 10 seconds" : strerror(errno));
        for (int i = 0; i < count; i++) {
            struct connection *connection = ready[i].data.ptr;
            int state = receive(load, connection);
            if (state < 0) return 0;
            if (state == 0) continue;
            double latency = cfloor_now() - connection->sent;
            if (load->latencies != NULL) load->latencies[load->done] = latency;
            load->done++;
            if (load->reconnects || announces_close(connection)) close_connection(load, connection);
            if (!begin(load, connection)) return 0;
        }
    }
    return 1;
}

static double measure(struct load *load, unsigned number) {
    struct connection *connections = calloc(number, sizeof *connections);
    load->events = epoll_create1(EPOLL_CLOEXEC);
    int ok = connections != NULL && load->events >= 0;
    for (unsigned i = 0; connections != NULL && i < number; i++) connections[i].socket_ = -1;
    if (ok && !load->reconnects) {
        // The first request of each connection opens it, and may authenticate it.
        struct load warmup = *load;
        warmup.count = number;
        warmup.latencies = NULL;
        ok = run(&warmup, connections, number);
    }
    double start = cfloor_now();
    ok = ok && run(load, connections, number);
    double seconds = (cfloor_now() - start) / 1e6;
    for (unsigned i = 0; connections != NULL && i < number; i++) close_connection(load, &connections[i]);
    if (load->events >= 0) close(load->events);
    free(connections);
    return ok ? seconds : -1;
}

double cfloor_load(const char *path, const char *request, const char *expected, unsigned connections, unsigned count, double *latencies) {
    struct load load = {.path = path, .request = request, .expected = expected, .count = count, .latencies = latencies};
    return measure(&load, connections);
}

double cfloor_load_port(int port, const char *first, const char *request, const char *expected, int reconnects, unsigned connections,
                        unsigned count, double *latencies) {
    struct load load = {.port = port, .first = first, .request = request, .expected = expected, .reconnects = reconnects, .count = count,
                        .latencies = latencies};
    return measure(&load, connections);
}
