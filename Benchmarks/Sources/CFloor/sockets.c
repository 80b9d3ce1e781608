#define _GNU_SOURCE
#include "cfloor_tunnels.h"
#include "internal.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char failure[512] = "no failure";

int cfloor_fail(const char *what, const char *detail) {
    snprintf(failure, sizeof failure, "%s: %.300s", what, detail);
    return 0;
}

const char *cfloor_failure(void) { return failure; }

static int connected(int socket_, const void *address, socklen_t length) {
    if (socket_ < 0 || connect(socket_, address, length) == 0) return socket_;
    close(socket_);
    return -1;
}

int cfloor_connect_path(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return -1;
    strcpy(address.sun_path, path);
    return connected(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), &address, sizeof address);
}

static struct sockaddr_in loopback(int port) {
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((unsigned short)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int cfloor_connect_port(int port) {
    struct sockaddr_in address = loopback(port);
    int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return connected(socket_, &address, sizeof address);
}

int cfloor_is_port_free(int port) {
    struct sockaddr_in address = loopback(port);
    int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int ok = socket_ >= 0 && bind(socket_, (struct sockaddr *)&address, sizeof address) == 0;
    if (socket_ >= 0) close(socket_);
    return ok;
}

int cfloor_is_listening(int port) {
    int socket_ = cfloor_connect_port(port);
    if (socket_ >= 0) close(socket_);
    return socket_ >= 0;
}

void cfloor_raise_file_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}
