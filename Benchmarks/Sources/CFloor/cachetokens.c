#include "cache.h"

#include <gssapi/gssapi_krb5.h>
#include <stdio.h>

static int acquire(cfloor_cache *self, gss_cred_id_t *credential) {
    OM_uint32 minor;
    gss_OID_set_desc mechanism = {1, &cfloor_krb5};
    // This thread's default cache: like most programs, this one gives no name.
    OM_uint32 major = gss_krb5_ccache_name(&minor, self->name, NULL);
    if (!GSS_ERROR(major))
        major = gss_acquire_cred(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, &mechanism, GSS_C_INITIATE, credential, NULL, NULL);
    if (!GSS_ERROR(major)) return 1;
    cfloor_cache_check(self, "gss_acquire_cred", (krb5_error_code)minor);
    return 0;
}

static int make_token(cfloor_cache *self, gss_cred_id_t credential) {
    OM_uint32 minor, ignored;
    gss_ctx_id_t context = GSS_C_NO_CONTEXT;
    gss_buffer_desc output = GSS_C_EMPTY_BUFFER;
    OM_uint32 major = gss_init_sec_context(&minor, credential, &context, self->target, &cfloor_krb5, GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG, 0,
                                           GSS_C_NO_CHANNEL_BINDINGS, GSS_C_NO_BUFFER, NULL, &output, NULL, NULL);
    int ok = !GSS_ERROR(major) && output.length > 0;
    if (!ok) cfloor_cache_check(self, "gss_init_sec_context", (krb5_error_code)minor);
    gss_release_buffer(&ignored, &output);
    gss_delete_sec_context(&ignored, &context, GSS_C_NO_BUFFER);
    return ok;
}

double cfloor_cache_held_token(cfloor_cache *self, unsigned count) {
    if (self->held == GSS_C_NO_CREDENTIAL && !(acquire(self, &self->held) && make_token(self, self->held))) return -1;
    double start = cfloor_now();
    for (unsigned i = 0; i < count; i++)
        if (!make_token(self, self->held)) return -1;
    return (cfloor_now() - start) / count;
}

double cfloor_cache_fresh_token(cfloor_cache *self, unsigned count) {
    double start = cfloor_now();
    for (unsigned i = 0; i < count; i++) {
        OM_uint32 minor;
        gss_cred_id_t credential = GSS_C_NO_CREDENTIAL;
        int ok = acquire(self, &credential) && make_token(self, credential);
        gss_release_cred(&minor, &credential);
        if (!ok) return -1;
    }
    return (cfloor_now() - start) / count;
}
