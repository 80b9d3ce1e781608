#include "cfloor.h"
#include "internal.h"

#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

gss_OID_desc cfloor_spnego = {6, "\x2b\x06\x01\x05\x05\x02"};
gss_OID_desc cfloor_krb5 = {9, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"};
static gss_OID_desc principal_name = {10, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01"};

/// Copies the ticket for the service from a cache into its own MEMORY cache.
static int copy_ticket(cfloor *self, const char *source_cache, const char *service) {
    krb5_ccache source = NULL;
    krb5_creds wanted, found;
    int ok = 0;
    memset(&wanted, 0, sizeof wanted);
    memset(&found, 0, sizeof found);
    if (krb5_cc_resolve(self->context, source_cache, &source)) return 0;
    if (krb5_cc_get_principal(self->context, source, &wanted.client)) goto out;
    if (krb5_parse_name(self->context, service, &wanted.server)) goto out;
    if (krb5_cc_retrieve_cred(self->context, source, 0, &wanted, &found)) goto out;
    if (krb5_cc_new_unique(self->context, "MEMORY", NULL, &self->cache)) goto out;
    if (krb5_cc_initialize(self->context, self->cache, wanted.client)) goto out;
    ok = krb5_cc_store_cred(self->context, self->cache, &found) == 0;
out:
    krb5_free_cred_contents(self->context, &found);
    krb5_free_cred_contents(self->context, &wanted);
    krb5_cc_close(self->context, source);
    return ok;
}

cfloor *cfloor_open(const char *source_cache, const char *service) {
    cfloor *self = calloc(1, sizeof *self);
    OM_uint32 minor;
    char *name = NULL;
    if (krb5_init_context(&self->context) || !copy_ticket(self, source_cache, service)) goto fail;
    if (krb5_cc_get_full_name(self->context, self->cache, &name)) goto fail;
    gss_key_value_element_desc element = {"ccache", name};
    gss_key_value_set_desc store = {1, &element};
    gss_OID_set_desc want = {1, &cfloor_spnego}, inside = {1, &cfloor_krb5};
    OM_uint32 major = gss_acquire_cred_from(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, &want, GSS_C_INITIATE, &store, &self->credential, NULL, NULL);
    krb5_free_string(self->context, name);
    if (GSS_ERROR(major) || GSS_ERROR(gss_set_neg_mechs(&minor, self->credential, &inside))) goto fail;
    gss_buffer_desc buffer = {strlen(service), (void *)service};
    if (GSS_ERROR(gss_import_name(&minor, &buffer, &principal_name, &self->target))) goto fail;
    return self;
fail:
    cfloor_close(self);
    return NULL;
}

static double microseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

double cfloor_now(void) { return microseconds(CLOCK_MONOTONIC); }

double cfloor_processor_time(void) { return microseconds(CLOCK_THREAD_CPUTIME_ID); }

OM_uint32 cfloor_first_leg(cfloor *self, gss_ctx_id_t *context, gss_buffer_t output) {
    OM_uint32 minor, granted;
    return gss_init_sec_context(&minor, self->credential, context, self->target, &cfloor_spnego, GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG, 0,
                                GSS_C_NO_CHANNEL_BINDINGS, GSS_C_NO_BUFFER, NULL, output, &granted, NULL);
}

unsigned long cfloor_token(cfloor *self) {
    OM_uint32 minor;
    gss_ctx_id_t context = GSS_C_NO_CONTEXT;
    gss_buffer_desc output = GSS_C_EMPTY_BUFFER;
    OM_uint32 major = cfloor_first_leg(self, &context, &output);
    unsigned long length = GSS_ERROR(major) ? 0 : output.length;
    gss_release_buffer(&minor, &output);
    gss_delete_sec_context(&minor, &context, GSS_C_NO_BUFFER);
    return length;
}

void cfloor_close(cfloor *self) {
    OM_uint32 minor;
    if (self->target) gss_release_name(&minor, &self->target);
    if (self->credential) gss_release_cred(&minor, &self->credential);
    if (self->cache) krb5_cc_destroy(self->context, self->cache);
    if (self->context) krb5_free_context(self->context);
    free(self);
}
