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
    /// The one that is stored under many names; all but its ticket is the real one's.
    krb5_creds filler;
    /// How many names there are, and which comes next.
    unsigned fillers, next;
    gss_cred_id_t held;
    gss_name_t target;
    char error[256];
};

int cfloor_cache_check(cfloor_cache *self, const char *call, krb5_error_code code);

#endif
