#ifndef CFLOOR_INTERNAL_H
#define CFLOOR_INTERNAL_H

#include "cfloor.h"

#include <gssapi/gssapi.h>
#include <krb5/krb5.h>

struct cfloor {
    krb5_context context;
    krb5_ccache cache;
    gss_cred_id_t credential;
    gss_name_t target;
};

extern gss_OID_desc cfloor_spnego;
extern gss_OID_desc cfloor_krb5;

/// The first leg; the caller deletes the context.
OM_uint32 cfloor_first_leg(cfloor *self, gss_ctx_id_t *context, gss_buffer_t output);
/// Microseconds of a monotonic clock.
double cfloor_now(void);
/// Microseconds of this thread's processor time, which does not depend on other load.
double cfloor_processor_time(void);
/// The base64 text of a new token, which the caller frees; NULL on failure.
char *cfloor_token_text(cfloor *self);

/// Connects to a Unix socket, or to a port on loopback; -1 on failure.
int cfloor_connect_path(const char *path);
int cfloor_connect_port(int port);
/// Stores a failure for cfloor_failure(); returns 0.
int cfloor_fail(const char *what, const char *detail);
/// Whether a message is complete: its head, and a body of Content-Length bytes or with the last chunk.
int cfloor_is_whole(const char *text, size_t length);

#endif
