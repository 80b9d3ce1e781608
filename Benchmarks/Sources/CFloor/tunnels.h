#ifndef CFLOOR_TUNNELS_PRIVATE_H
#define CFLOOR_TUNNELS_PRIVATE_H

#include "cfloor_tunnels.h"
#include "internal.h"

#include <stdint.h>

enum {
    /// The number of bytes of one call of the system.
    tunnel_chunk = 1 << 18,
    /// What a client asks the server at the other end of a tunnel: nothing, bytes, or to take bytes.
    tunnel_echoes = 1,
    tunnel_receives,
    tunnel_sends,
};

/// A client sends a command. The server sends or receives as many bytes, and then sends the command back.
struct tunnel_command {
    uint64_t kind, length;
};

/// The bytes of a transfer from a position on, at least `tunnel_chunk`.
const char *tunnel_pattern(uint64_t position);
void tunnel_make_pattern(void);
/// Whether the first and the last byte that were received at a position are those of the pattern.
int tunnel_matches(const char *bytes, size_t length, uint64_t position);

#endif
