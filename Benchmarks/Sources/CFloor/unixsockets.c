#define _GNU_SOURCE
#include "cfloor_caches.h"
#include "internal.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return -1;
    strcpy(address.sun_path, path);
    int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0 || connect(socket_, (struct sockaddr *)&address, sizeof address) == 0) return socket_;
    close(socket_);
    return -1;
}

// MARK: - The empty server: u32 length of the rest, u32 length of the response, padding; it responds with as many bytes.

static int round_trip(int socket_, unsigned sent, unsigned received) {
    char buffer[8192] = {0};
    unsigned head[2] = {htonl(sent - 4), htonl(received)}, length = 0;
    if (sent < sizeof head || sent > sizeof buffer || received > sizeof buffer) return 0;
    memcpy(buffer, head, sizeof head);
    if (send(socket_, buffer, sent, MSG_NOSIGNAL) != (ssize_t)sent) return 0;
    while (length < received) {
        ssize_t more = recv(socket_, buffer, received - length, 0);
        if (more <= 0) return 0;
        length += (unsigned)more;
    }
    return 1;
}

double cfloor_round_trips(const char *path, unsigned sent, unsigned received, unsigned count) {
    int socket_ = connect_to(path), ok = socket_ >= 0 && round_trip(socket_, sent, received);
    double start = cfloor_now();
    for (unsigned i = 0; ok && i < count; i++) ok = round_trip(socket_, sent, received);
    double time = (cfloor_now() - start) / count;
    if (socket_ >= 0) close(socket_);
    return ok ? time : -1;
}

double cfloor_connections(const char *path, unsigned count) {
    int ok = 1;
    double start = cfloor_now();
    for (unsigned i = 0; ok && i < count; i++) {
        int socket_ = connect_to(path);
        ok = socket_ >= 0;
        for (unsigned k = 0; ok && k < 4; k++) ok = round_trip(socket_, 700, 700);
        if (socket_ >= 0) close(socket_);
    }
    return ok ? (cfloor_now() - start) / count : -1;
}

// MARK: - Load over HTTP

struct connection {
    int socket_;
    double sent;
    size_t length;
    char answer[16384];
};

struct load {
    const char *request, *expected;
    size_t request_length;
    unsigned begun, done, count;
    double *latencies;
};

static int begin(struct load *load, struct connection *connection) {
    if (load->begun == load->count) return 1;
    load->begun++;
    connection->length = 0;
    connection->sent = cfloor_now();
    return send(connection->socket_, load->request, load->request_length, MSG_NOSIGNAL) == (ssize_t)load->request_length;
}

/// Reads the available bytes; 1 for a complete response, 0 for a part, -1 for an unexpected one.
static int receive(struct load *load, struct connection *connection) {
    ssize_t more = recv(connection->socket_, connection->answer + connection->length, sizeof connection->answer - 1 - connection->length, 0);
    if (more <= 0) return -1;
    connection->length += (size_t)more;
    connection->answer[connection->length] = 0;
    const char *end = strstr(connection->answer, "\r\n\r\n"), *field = strcasestr(connection->answer, "\r\nContent-Length:");
    if (end == NULL) return 0;
    if (field == NULL || field > end || strncmp(connection->answer, "HTTP/1.1 200 ", 13) != 0) return -1;
    if (connection->length < (size_t)(end + 4 - connection->answer) + strtoul(field + 17, NULL, 10)) return 0;
    return strstr(end, load->expected) != NULL ? 1 : -1;
}

static int run(struct load *load, int events, struct connection *connections, unsigned count) {
    struct epoll_event ready[64];
    for (unsigned i = 0; i < count; i++)
        if (!begin(load, &connections[i])) return 0;
    while (load->done < load->count) {
        int number = epoll_wait(events, ready, 64, 10000);
        if (number <= 0) return 0;
        for (int i = 0; i < number; i++) {
            struct connection *connection = ready[i].data.ptr;
            int state = receive(load, connection);
            if (state < 0) return 0;
            if (state == 0) continue;
            load->latencies[load->done++] = cfloor_now() - connection->sent;
            if (!begin(load, connection)) return 0;
        }
    }
    return 1;
}

double cfloor_load(const char *path, const char *request, const char *expected, unsigned connections, unsigned count, double *latencies) {
    struct load load = {request, expected, strlen(request), 0, 0, count, latencies};
    struct connection *all = calloc(connections, sizeof *all);
    int events = epoll_create1(EPOLL_CLOEXEC), ok = all != NULL && events >= 0;
    for (unsigned i = 0; all != NULL && i < connections; i++) all[i].socket_ = -1;
    for (unsigned i = 0; ok && i < connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
        all[i].socket_ = connect_to(path);
        ok = all[i].socket_ >= 0 && epoll_ctl(events, EPOLL_CTL_ADD, all[i].socket_, &event) == 0;
    }
    double start = cfloor_now();
    ok = ok && run(&load, events, all, connections);
    double seconds = (cfloor_now() - start) / 1e6;
    for (unsigned i = 0; all != NULL && i < connections; i++)
        if (all[i].socket_ >= 0) close(all[i].socket_);
    if (events >= 0) close(events);
    free(all);
    return ok ? seconds : -1;
}
