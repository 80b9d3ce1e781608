#ifndef CFLOOR_CACHE_H
#define CFLOOR_CACHE_H

#include "cfloor_caches.h"
#include "internal.h"

struct cfloor_cache {
    krb5_context context;
    krb5_ccache cache;
    char *name;
    krb5_principal client;
    /// The real tickets.
    krb5_creds service, granting;
    /// The credential that is stored under many names; it is the real one except for its ticket.
    krb5_creds filler;
    /// The number of names, and the next one.
    unsigned fillers, next;
    gss_cred_id_t held;
    gss_name_t target;
    char error[256];
};

int cfloor_cache_check(cfloor_cache *self, const char *call, krb5_error_code code);

#endif
