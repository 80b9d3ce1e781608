#include "cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static gss_OID_desc principal_name = {10, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01"};

/// Stores the library's error message; returns whether the call succeeded.
int cfloor_cache_check(cfloor_cache *self, const char *call, krb5_error_code code) {
    if (code == 0) return 1;
    const char *words = krb5_get_error_message(self->context, code);
    snprintf(self->error, sizeof self->error, "%s: %s", call, words);
    krb5_free_error_message(self->context, words);
    return 0;
}

static int find(cfloor_cache *self, krb5_ccache source, const char *service, krb5_creds *found) {
    krb5_creds wanted = {.client = self->client};
    krb5_error_code code = krb5_parse_name(self->context, service, &wanted.server);
    if (!code) code = krb5_cc_retrieve_cred(self->context, source, 0, &wanted, found);
    krb5_free_principal(self->context, wanted.server);
    return cfloor_cache_check(self, service, code);
}

static int read_source(cfloor_cache *self, const char *name, const char *service) {
    krb5_ccache source = NULL;
    char granting[512];
    int ok = cfloor_cache_check(self, name, krb5_cc_resolve(self->context, name, &source))
             && cfloor_cache_check(self, name, krb5_cc_get_principal(self->context, source, &self->client));
    if (ok) {
        const krb5_data *realm = &self->client->realm;
        snprintf(granting, sizeof granting, "krbtgt/%.*s@%.*s", (int)realm->length, realm->data, (int)realm->length, realm->data);
    }
    ok = ok && find(self, source, service, &self->service) && find(self, source, granting, &self->granting);
    if (source) krb5_cc_close(self->context, source);
    return ok;
}

/// The content of the tickets that fill the cache: the real ticket's bytes, repeated. They are never decrypted.
static int make_filler(cfloor_cache *self, unsigned bytes) {
    self->filler = self->service;
    if (bytes == 0) bytes = self->service.ticket.length;
    self->filler.ticket.data = malloc(bytes);
    self->filler.ticket.length = bytes;
    if (self->filler.ticket.data == NULL) return 0;
    for (unsigned i = 0; i < bytes; i++) self->filler.ticket.data[i] = self->service.ticket.data[i % self->service.ticket.length];
    return 1;
}

cfloor_cache *cfloor_cache_open(const char *name, const char *source_cache, const char *service, unsigned ticket_bytes) {
    cfloor_cache *self = calloc(1, sizeof *self);
    OM_uint32 minor;
    gss_buffer_desc buffer = {strlen(service), (void *)service};
    if (self == NULL || (self->name = strdup(name)) == NULL || krb5_init_context(&self->context) || !read_source(self, source_cache, service)
        || !make_filler(self, ticket_bytes) || krb5_cc_resolve(self->context, name, &self->cache)
        || GSS_ERROR(gss_import_name(&minor, &buffer, &principal_name, &self->target))) {
        if (self) cfloor_cache_close(self);
        return NULL;
    }
    return self;
}

const char *cfloor_cache_error(cfloor_cache *self) { return self->error; }

/// The service principal of the ticket with this number.
static krb5_error_code name_of(cfloor_cache *self, unsigned number, krb5_principal *name) {
    char host[64];
    snprintf(host, sizeof host, "host%06u.example.test", number);
    const krb5_data *realm = &self->client->realm;
    return krb5_build_principal(self->context, name, realm->length, realm->data, "HTTP", host, (char *)NULL);
}

static int store(cfloor_cache *self, unsigned number) {
    krb5_error_code code = name_of(self, number, &self->filler.server);
    if (!code) code = krb5_cc_store_cred(self->context, self->cache, &self->filler);
    krb5_free_principal(self->context, self->filler.server);
    self->filler.server = NULL;
    return cfloor_cache_check(self, "krb5_cc_store_cred", code);
}

int cfloor_cache_fill(cfloor_cache *self, unsigned tickets, double seconds) {
    double end = cfloor_now() + seconds * 1e6;
    unsigned stored = 0;
    int ok = cfloor_cache_check(self, "krb5_cc_initialize", krb5_cc_initialize(self->context, self->cache, self->client));
    self->fillers = 0;
    if (ok && tickets > 1) {
        ok = cfloor_cache_check(self, "krb5_cc_store_cred", krb5_cc_store_cred(self->context, self->cache, &self->granting));
        stored++;
    }
    for (; ok && stored + 1 < tickets && cfloor_now() < end; stored++) ok = store(self, self->fillers++);
    if (ok && stored + 1 == tickets) {
        ok = cfloor_cache_check(self, "krb5_cc_store_cred", krb5_cc_store_cred(self->context, self->cache, &self->service));
        stored++;
    }
    return ok ? (int)stored : -1;
}

double cfloor_cache_store(cfloor_cache *self, unsigned count) {
    double start = cfloor_now();
    for (unsigned i = 0; i < count; i++)
        if (!store(self, self->fillers++)) return -1;
    return (cfloor_now() - start) / count;
}

double cfloor_cache_replace(cfloor_cache *self, unsigned count) {
    unsigned fillers = self->fillers ? self->fillers : (self->fillers = 1);
    // The ticket is newer: not every cache replaces a ticket by an older one.
    self->filler.times.authtime++;
    self->filler.times.endtime++;
    double start = cfloor_now();
    for (unsigned i = 0; i < count; i++)
        if (!store(self, self->next++ * 7919 % fillers)) return -1;
    return (cfloor_now() - start) / count;
}

static int retrieve(cfloor_cache *self, unsigned number, krb5_timestamp now) {
    krb5_creds wanted = {.client = self->client, .times = {.endtime = now}}, found;
    krb5_flags flags = KRB5_TC_MATCH_TIMES | KRB5_TC_MATCH_AUTHDATA | KRB5_TC_SUPPORTED_KTYPES;
    krb5_error_code code = 0;
    if (self->fillers) code = name_of(self, number, &wanted.server);
    else wanted.server = self->service.server;
    if (!code) code = krb5_cc_retrieve_cred(self->context, self->cache, flags, &wanted, &found);
    if (!code) krb5_free_cred_contents(self->context, &found);
    if (self->fillers) krb5_free_principal(self->context, wanted.server);
    return cfloor_cache_check(self, "krb5_cc_retrieve_cred", code);
}

double cfloor_cache_retrieve(cfloor_cache *self, unsigned count) {
    krb5_timestamp now = (krb5_timestamp)time(NULL);
    double start = cfloor_now();
    for (unsigned i = 0; i < count; i++)
        if (!retrieve(self, self->fillers ? self->next++ * 7919 % self->fillers : 0, now)) return -1;
    return (cfloor_now() - start) / count;
}

void cfloor_cache_close(cfloor_cache *self) {
    OM_uint32 minor;
    if (self->held) gss_release_cred(&minor, &self->held);
    if (self->target) gss_release_name(&minor, &self->target);
    free(self->filler.ticket.data);
    if (self->context) {
        krb5_free_cred_contents(self->context, &self->service);
        krb5_free_cred_contents(self->context, &self->granting);
        krb5_free_principal(self->context, self->client);
        if (self->cache) krb5_cc_close(self->context, self->cache);
        krb5_free_context(self->context);
    }
    free(self->name);
    free(self);
}
