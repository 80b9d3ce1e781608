#include "cfloor_caches.h"
#include "internal.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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
    int socket_ = cfloor_connect_path(path), ok = socket_ >= 0 && round_trip(socket_, sent, received);
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
        int socket_ = cfloor_connect_path(path);
        ok = socket_ >= 0;
        for (unsigned k = 0; ok && k < 4; k++) ok = round_trip(socket_, 700, 700);
        if (socket_ >= 0) close(socket_);
    }
    return ok ? (cfloor_now() - start) / count : -1;
}
