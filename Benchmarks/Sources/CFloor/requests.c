#define _GNU_SOURCE
#include "cfloor.h"
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

int cfloor_is_whole(const char *text, size_t length) {
    static const char last_chunk[] = "\r\n0\r\n\r\n";
    const char *end = memmem(text, length, "\r\n\r\n", 4);
    if (end == NULL) return 0;
    const char *field = strcasestr(text, "\r\nContent-Length:");
    if (field != NULL && field < end) return length >= (size_t)(end + 4 - text) + strtoul(field + 17, NULL, 10);
    return memcmp(text + length - strlen(last_chunk), last_chunk, strlen(last_chunk)) == 0;
}

/// Sends one request and reads its response. Sometimes the server announces that it closes the connection; then a new one is opened.
static int round_trip(int *socket_, int port, const char *request, const char *expected) {
    char answer[8192];
    size_t length = 0;
    if (*socket_ < 0) *socket_ = cfloor_connect_port(port);
    if (*socket_ < 0 || send(*socket_, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request)) return 0;
    do {
        ssize_t more = recv(*socket_, answer + length, sizeof answer - 1 - length, 0);
        if (more <= 0) return 0;
        length += (size_t)more;
        answer[length] = 0;
    } while (!cfloor_is_whole(answer, length));
    if (strcasestr(answer, "\r\nConnection: close") != NULL) {
        close(*socket_);
        *socket_ = -1;
    }
    return strncmp(answer, "HTTP/1.1 200 ", 13) == 0 && strstr(answer, expected) != NULL;
}

static char *base64(const unsigned char *bytes, size_t length) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = calloc(1, (length + 2) / 3 * 4 + 1), *place = text;
    for (size_t i = 0; text != NULL && i < length; i += 3) {
        unsigned left = length - i < 3 ? (unsigned)(length - i) : 3;
        unsigned bits = bytes[i] << 16 | (left > 1 ? bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
        for (unsigned k = 0; k < 4; k++) *place++ = k <= left ? alphabet[bits >> (18 - 6 * k) & 63] : '=';
    }
    return text;
}

char *cfloor_token_text(cfloor *self) {
    char *text = NULL;
    OM_uint32 minor;
    gss_ctx_id_t context = GSS_C_NO_CONTEXT;
    gss_buffer_desc token = GSS_C_EMPTY_BUFFER;
    if (!GSS_ERROR(cfloor_first_leg(self, &context, &token))) text = base64(token.value, token.length);
    gss_release_buffer(&minor, &token);
    gss_delete_sec_context(&minor, &context, GSS_C_NO_BUFFER);
    return text;
}

int cfloor_make_token_text(cfloor *self, char *text, unsigned long size) {
    char *value = cfloor_token_text(self);
    int ok = value != NULL && strlen(value) < size;
    if (ok) strcpy(text, value);
    free(value);
    return ok;
}

/// The text of one request, with a new token if there is a credential.
static char *make_request(cfloor *self, const char *path) {
    char *text = NULL, *value = NULL;
    if (self == NULL) return asprintf(&text, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path) < 0 ? NULL : text;
    value = cfloor_token_text(self);
    if (value == NULL || asprintf(&text, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Negotiate %s\r\n\r\n", path, value) < 0)
        text = NULL;
    free(value);
    return text;
}

double cfloor_requests(cfloor *self, int port, const char *path, const char *expected, unsigned count) {
    char **requests = calloc(count, sizeof *requests);
    int ok = requests != NULL, socket_ = -1;
    for (unsigned i = 0; ok && i < count; i++) ok = (requests[i] = make_request(self, path)) != NULL;
    double start = cfloor_now();
    for (unsigned i = 0; ok && i < count; i++) ok = round_trip(&socket_, port, requests[i], expected);
    double time = (cfloor_now() - start) / count;
    if (socket_ >= 0) close(socket_);
    for (unsigned i = 0; requests != NULL && i < count; i++) free(requests[i]);
    free(requests);
    return ok ? time : -1;
}
