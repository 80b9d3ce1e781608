#include "cfloor.h"
#include "internal.h"

#include <gssapi/gssapi_ext.h>
#include <stdlib.h>

/// One exchange: the client's context between its two legs, and the current token.
struct exchange {
    gss_ctx_id_t context;
    gss_buffer_desc token;
};

/// The service's keys, without a replay cache because its fsync would dominate the measurement.
static int open_acceptor(const char *keytab, gss_cred_id_t *credential) {
    OM_uint32 minor;
    gss_key_value_element_desc elements[] = {{"keytab", keytab}, {"rcache", "none:"}};
    gss_key_value_set_desc store = {2, elements};
    gss_OID_set_desc want = {1, &cfloor_spnego}, inside = {1, &cfloor_krb5};
    OM_uint32 major =
        gss_acquire_cred_from(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, &want, GSS_C_ACCEPT, &store, credential, NULL, NULL);
    return !GSS_ERROR(major) && !GSS_ERROR(gss_set_neg_mechs(&minor, *credential, &inside));
}

/// The server's check; the server's token replaces the client's.
static int accept_token(struct exchange *exchange, gss_cred_id_t credential) {
    OM_uint32 minor, ignored;
    gss_ctx_id_t context = GSS_C_NO_CONTEXT;
    gss_name_t client = GSS_C_NO_NAME;
    gss_buffer_desc answer = GSS_C_EMPTY_BUFFER, name = GSS_C_EMPTY_BUFFER;
    OM_uint32 major = gss_accept_sec_context(&minor, &context, credential, &exchange->token, GSS_C_NO_CHANNEL_BINDINGS, &client, NULL, &answer,
                                             NULL, NULL, NULL);
    int ok = major == GSS_S_COMPLETE && gss_display_name(&minor, client, &name, NULL) == GSS_S_COMPLETE && answer.length > 0;
    gss_release_buffer(&ignored, &name);
    gss_release_name(&ignored, &client);
    gss_release_buffer(&ignored, &exchange->token);
    gss_delete_sec_context(&ignored, &context, GSS_C_NO_BUFFER);
    exchange->token = answer;
    return ok;
}

/// The client's check of the server's token.
static int verify_answer(cfloor *self, struct exchange *exchange) {
    OM_uint32 minor, granted;
    gss_buffer_desc output = GSS_C_EMPTY_BUFFER;
    OM_uint32 major = gss_init_sec_context(&minor, self->credential, &exchange->context, self->target, &cfloor_spnego,
                                           GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG, 0, GSS_C_NO_CHANNEL_BINDINGS, &exchange->token, NULL,
                                           &output, &granted, NULL);
    gss_release_buffer(&minor, &output);
    return major == GSS_S_COMPLETE;
}

/// Runs each of the three steps for all exchanges in turn.
static int run(cfloor *self, const char *keytab, struct exchange *exchanges, unsigned count, cfloor_times *times) {
    OM_uint32 minor;
    gss_cred_id_t credential = GSS_C_NO_CREDENTIAL;
    int ok = open_acceptor(keytab, &credential);
    double start = cfloor_processor_time();
    for (unsigned i = 0; ok && i < count; i++)
        ok = !GSS_ERROR(cfloor_first_leg(self, &exchanges[i].context, &exchanges[i].token));
    times->token = (cfloor_processor_time() - start) / count;
    start = cfloor_processor_time();
    for (unsigned i = 0; ok && i < count; i++) ok = accept_token(&exchanges[i], credential);
    times->accept = (cfloor_processor_time() - start) / count;
    start = cfloor_processor_time();
    for (unsigned i = 0; ok && i < count; i++) ok = verify_answer(self, &exchanges[i]);
    times->verify = (cfloor_processor_time() - start) / count;
    start = cfloor_processor_time();
    for (unsigned i = 0; ok && i < count; i++) {
        gss_release_cred(&minor, &credential);
        ok = open_acceptor(keytab, &credential);
    }
    times->acquire = (cfloor_processor_time() - start) / count;
    gss_release_cred(&minor, &credential);
    return ok;
}

int cfloor_exchanges(cfloor *self, const char *keytab, unsigned count, cfloor_times *times) {
    OM_uint32 minor;
    struct exchange *exchanges = calloc(count, sizeof *exchanges);
    int ok = exchanges != NULL && run(self, keytab, exchanges, count, times);
    for (unsigned i = 0; exchanges != NULL && i < count; i++) {
        gss_release_buffer(&minor, &exchanges[i].token);
        gss_delete_sec_context(&minor, &exchanges[i].context, GSS_C_NO_BUFFER);
    }
    free(exchanges);
    return ok;
}
