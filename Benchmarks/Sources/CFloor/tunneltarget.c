#define _GNU_SOURCE
#include "tunnels.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/// One accepted connection.
struct peer {
    int socket_;
    /// What epoll waits for.
    uint32_t awaited;
    struct tunnel_command command;
    /// The number of bytes of the command that were received.
    size_t received;
    /// The number of bytes of the transfer that were sent or received.
    uint64_t position;
};

static struct {
    int listener, events;
    char scratch[tunnel_chunk];
} target;

static int await(struct peer *peer, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = peer};
    if (peer->awaited == events) return 1;
    peer->awaited = events;
    return epoll_ctl(target.events, EPOLL_CTL_MOD, peer->socket_, &event) == 0;
}

/// Sends the command back, as the end of a transfer.
static int reply(struct peer *peer) {
    peer->received = 0;
    peer->position = 0;
    return send(peer->socket_, &peer->command, sizeof peer->command, MSG_NOSIGNAL) == sizeof peer->command;
}

/// Reads a part of a command; 1 if it is complete, 0 if it is not, -1 at the end.
static int read_command(struct peer *peer) {
    char *start = (char *)&peer->command;
    ssize_t more = recv(peer->socket_, start + peer->received, sizeof peer->command - peer->received, 0);
    if (more <= 0) return more < 0 && errno == EAGAIN ? 0 : -1;
    peer->received += (size_t)more;
    return peer->received == sizeof peer->command;
}

/// Sends a part of a transfer; 1 if it is complete, 0 if it is not, -1 at the end.
static int send_part(struct peer *peer) {
    while (peer->position < peer->command.length) {
        uint64_t rest = peer->command.length - peer->position;
        size_t length = rest < tunnel_chunk ? (size_t)rest : tunnel_chunk;
        ssize_t sent = send(peer->socket_, tunnel_pattern(peer->position), length, MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN ? 0 : -1;
        peer->position += (uint64_t)sent;
    }
    return 1;
}

/// Receives a part of a transfer; 1 if it is complete, 0 if it is not, -1 at the end or for wrong bytes.
static int receive_part(struct peer *peer) {
    while (peer->position < peer->command.length) {
        uint64_t rest = peer->command.length - peer->position;
        ssize_t more = recv(peer->socket_, target.scratch, rest < tunnel_chunk ? (size_t)rest : tunnel_chunk, 0);
        if (more < 0 && errno == EAGAIN) return 0;
        if (more <= 0 || !tunnel_matches(target.scratch, (size_t)more, peer->position)) return -1;
        peer->position += (uint64_t)more;
    }
    return 1;
}

/// Continues what the connection does; 0 closes it.
static int serve(struct peer *peer) {
    while (1) {
        if (peer->received < sizeof peer->command) {
            int state = read_command(peer);
            if (state <= 0) return state == 0;
        }
        int state = 1;
        if (peer->command.kind == tunnel_receives) state = send_part(peer);
        if (peer->command.kind == tunnel_sends) state = receive_part(peer);
        if (state < 0) return 0;
        if (state == 0) return await(peer, peer->command.kind == tunnel_receives ? EPOLLOUT : EPOLLIN);
        if (!reply(peer) || !await(peer, EPOLLIN)) return 0;
    }
}

static void accept_peers(void) {
    int socket_, on = 1;
    while ((socket_ = accept4(target.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct peer *peer = calloc(1, sizeof *peer);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
        setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (peer != NULL) {
            peer->socket_ = socket_;
            peer->awaited = EPOLLIN;
        }
        if (peer != NULL && epoll_ctl(target.events, EPOLL_CTL_ADD, socket_, &event) == 0) continue;
        close(socket_);
        free(peer);
    }
}

static void close_peer(struct peer *peer) {
    // A child process has a copy of the descriptor until it calls exec. Meanwhile, epoll would report the freed peer after close alone.
    epoll_ctl(target.events, EPOLL_CTL_DEL, peer->socket_, NULL);
    close(peer->socket_);
    free(peer);
}

static void *run(void *argument) {
    struct epoll_event ready[64];
    (void)argument;
    while (1) {
        int count = epoll_wait(target.events, ready, 64, -1);
        for (int i = 0; i < count; i++) {
            struct peer *peer = ready[i].data.ptr;
            if (peer == NULL) {
                accept_peers();
            } else if (!serve(peer)) {
                close_peer(peer);
            }
        }
    }
    return NULL;
}

int cfloor_target_start(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    pthread_t thread;
    tunnel_make_pattern();
    target.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    target.events = epoll_create1(EPOLL_CLOEXEC);
    if (target.listener < 0 || target.events < 0 || bind(target.listener, (struct sockaddr *)&address, length) != 0
        || listen(target.listener, 4096) != 0 || getsockname(target.listener, (struct sockaddr *)&address, &length) != 0
        || epoll_ctl(target.events, EPOLL_CTL_ADD, target.listener, &event) != 0 || pthread_create(&thread, NULL, run, NULL) != 0)
        return -1;
    pthread_detach(thread);
    return ntohs(address.sin_port);
}
