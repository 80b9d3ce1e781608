#define _GNU_SOURCE
#include "tunnels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { period = 65521 };

static char pattern[period + tunnel_chunk];

void tunnel_make_pattern(void) {
    for (size_t i = 0; i < sizeof pattern; i++) pattern[i] = (char)(i % period * 2654435761u >> 24);
}

const char *tunnel_pattern(uint64_t position) { return pattern + position % period; }

int tunnel_matches(const char *bytes, size_t length, uint64_t position) {
    return bytes[0] == *tunnel_pattern(position) && bytes[length - 1] == *tunnel_pattern(position + length - 1);
}

// MARK: - Opening

/// One tunnel that is being opened.
struct opening {
    int socket_;
    double start;
    /// Whether the proxy has answered, so that the server's answer is next.
    int is_open;
    size_t length;
    char answer[2048];
};

struct openings {
    int port, events;
    const char *authority;
    unsigned begun, done, count;
    double *latencies;
    int *sockets;
};

/// Asks the server for its answer, which shows that the tunnel leads to it.
static int send_echo(struct opening *opening) {
    struct tunnel_command command = {tunnel_echoes, 0};
    opening->is_open = 1;
    opening->length = 0;
    return send(opening->socket_, &command, sizeof command, MSG_NOSIGNAL) == sizeof command;
}

static int send_connect(struct openings *all, struct opening *opening) {
    char request[256];
    int length = snprintf(request, sizeof request, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", all->authority, all->authority);
    return send(opening->socket_, request, (size_t)length, MSG_NOSIGNAL) == length;
}

static int begin(struct openings *all, struct opening *opening) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = opening};
    if (all->begun == all->count) return 1;
    all->begun++;
    opening->is_open = 0;
    opening->length = 0;
    opening->start = cfloor_now();
    opening->socket_ = cfloor_connect_port(all->port);
    return (opening->socket_ >= 0 && epoll_ctl(all->events, EPOLL_CTL_ADD, opening->socket_, &event) == 0
            && (all->authority != NULL ? send_connect(all, opening) : send_echo(opening)))
           || cfloor_fail("opening a tunnel", strerror(errno));
}

/// Reads the available bytes; 1 if the tunnel is open, 0 if not yet, -1 on failure.
static int receive(struct opening *opening) {
    size_t room = opening->is_open ? sizeof(struct tunnel_command) : sizeof opening->answer - 1;
    ssize_t more = recv(opening->socket_, opening->answer + opening->length, room - opening->length, 0);
    if (more <= 0) {
        cfloor_fail("opening a tunnel", more == 0 ? "the connection closed" : strerror(errno));
        return -1;
    }
    opening->length += (size_t)more;
    if (opening->is_open) return opening->length == sizeof(struct tunnel_command);
    opening->answer[opening->length] = 0;
    if (strstr(opening->answer, "\r\n\r\n") == NULL) return opening->length < room ? 0 : -1;
    // The server has sent nothing yet, so these are the bytes of the head only.
    if (strncmp(opening->answer, "HTTP/1.", 7) == 0 && strncmp(opening->answer + 8, " 200", 4) == 0 && send_echo(opening)) return 0;
    cfloor_fail("an unexpected answer to CONNECT", opening->answer);
    return -1;
}

static int finish(struct openings *all, struct opening *opening) {
    if (all->latencies != NULL) all->latencies[all->done] = cfloor_now() - opening->start;
    epoll_ctl(all->events, EPOLL_CTL_DEL, opening->socket_, NULL);
    if (all->sockets != NULL) {
        all->sockets[all->done] = opening->socket_;
    } else {
        close(opening->socket_);
    }
    opening->socket_ = -1;
    all->done++;
    return begin(all, opening);
}

static int run(struct openings *all, struct opening *openings, unsigned number) {
    struct epoll_event ready[64];
    for (unsigned i = 0; i < number; i++)
        if (!begin(all, &openings[i])) return 0;
    while (all->done < all->count) {
        int count = epoll_wait(all->events, ready, 64, 10000);
        if (count <= 0) return cfloor_fail("opening a tunnel", count == 0 ? "no answer within 10 seconds" : strerror(errno));
        for (int i = 0; i < count; i++) {
            int state = receive(ready[i].data.ptr);
            if (state < 0 || (state > 0 && !finish(all, ready[i].data.ptr))) return 0;
        }
    }
    return 1;
}

double cfloor_open_tunnels(int port, const char *authority, unsigned at_once, unsigned count, double *latencies, int *sockets) {
    struct openings all = {.port = port, .authority = authority, .count = count, .latencies = latencies, .sockets = sockets};
    struct opening *openings = calloc(at_once, sizeof *openings);
    all.events = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; openings != NULL && i < at_once; i++) openings[i].socket_ = -1;
    double start = cfloor_now();
    int ok = openings != NULL && all.events >= 0 && run(&all, openings, at_once);
    double seconds = (cfloor_now() - start) / 1e6;
    for (unsigned i = 0; openings != NULL && i < at_once; i++)
        if (openings[i].socket_ >= 0) close(openings[i].socket_);
    if (all.events >= 0) close(all.events);
    free(openings);
    return ok ? seconds : -1;
}

void cfloor_close_tunnels(const int *sockets, unsigned count) {
    for (unsigned i = 0; i < count; i++) close(sockets[i]);
}

unsigned cfloor_working_tunnels(const int *sockets, unsigned count) {
    struct tunnel_command command = {tunnel_echoes, 0}, answer;
    struct timeval limit = {.tv_sec = 5};
    unsigned working = 0;
    for (unsigned i = 0; i < count; i++) {
        setsockopt(sockets[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        if (send(sockets[i], &command, sizeof command, MSG_NOSIGNAL) == sizeof command
            && recv(sockets[i], &answer, sizeof answer, MSG_WAITALL) == sizeof answer)
            working++;
    }
    return working;
}

// MARK: - Transferring

struct transfer {
    int socket_;
    struct tunnel_command command;
    uint64_t position;
    /// The number of bytes of the server's last answer that were received.
    size_t answered;
};

static char scratch[tunnel_chunk];

/// Sends what the tunnel takes; 0 on failure.
static int send_part(struct transfer *transfer, int events) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = transfer};
    while (transfer->position < transfer->command.length) {
        uint64_t rest = transfer->command.length - transfer->position;
        size_t length = rest < tunnel_chunk ? (size_t)rest : tunnel_chunk;
        ssize_t sent = send(transfer->socket_, tunnel_pattern(transfer->position), length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) return errno == EAGAIN || cfloor_fail("sending through a tunnel", strerror(errno));
        transfer->position += (uint64_t)sent;
    }
    return epoll_ctl(events, EPOLL_CTL_MOD, transfer->socket_, &event) == 0;
}

/// Receives what has arrived: the bytes, and the server's last answer; 0 on failure.
static int receive_part(struct transfer *transfer) {
    int receives = transfer->command.kind == tunnel_receives;
    while (1) {
        uint64_t rest = receives ? transfer->command.length - transfer->position : 0;
        size_t length = rest == 0 ? sizeof transfer->command - transfer->answered : rest < tunnel_chunk ? (size_t)rest : tunnel_chunk;
        if (length == 0) return 1;
        ssize_t more = recv(transfer->socket_, scratch, length, MSG_DONTWAIT);
        if (more < 0 && errno == EAGAIN) return 1;
        if (more <= 0) return cfloor_fail("receiving through a tunnel", more == 0 ? "the connection closed" : strerror(errno));
        if (rest == 0) {
            transfer->answered += (size_t)more;
        } else if (!tunnel_matches(scratch, (size_t)more, transfer->position)) {
            return cfloor_fail("receiving through a tunnel", "wrong bytes");
        } else {
            transfer->position += (uint64_t)more;
        }
    }
}

static int start(struct transfer *transfer, int socket_, uint64_t bytes, int sends, int events) {
    struct epoll_event event = {.events = sends ? EPOLLOUT : EPOLLIN, .data.ptr = transfer};
    transfer->socket_ = socket_;
    transfer->command = (struct tunnel_command){sends ? tunnel_sends : tunnel_receives, bytes};
    return (epoll_ctl(events, EPOLL_CTL_ADD, socket_, &event) == 0
            && send(socket_, &transfer->command, sizeof transfer->command, MSG_NOSIGNAL) == sizeof transfer->command)
           || cfloor_fail("starting a transfer", strerror(errno));
}

double cfloor_transfer(const int *sockets, unsigned count, unsigned long long bytes, int sends) {
    struct transfer *transfers = calloc(count, sizeof *transfers);
    struct epoll_event ready[64];
    unsigned done = 0;
    int events = epoll_create1(EPOLL_CLOEXEC), ok = transfers != NULL && events >= 0;
    double begin = cfloor_now();
    for (unsigned i = 0; ok && i < count; i++) ok = start(&transfers[i], sockets[i], bytes, sends, events);
    while (ok && done < count) {
        int number = epoll_wait(events, ready, 64, 10000);
        if (number <= 0) ok = cfloor_fail("transferring", number == 0 ? "nothing came for 10 seconds" : strerror(errno));
        for (int i = 0; ok && i < number; i++) {
            struct transfer *transfer = ready[i].data.ptr;
            ok = sends && transfer->position < bytes ? send_part(transfer, events) : receive_part(transfer);
            if (ok && transfer->answered == sizeof transfer->command) {
                epoll_ctl(events, EPOLL_CTL_DEL, transfer->socket_, NULL);
                done++;
            }
        }
    }
    double seconds = (cfloor_now() - begin) / 1e6;
    if (events >= 0) close(events);
    free(transfers);
    return ok ? seconds : -1;
}
