/* The types of those functions of OpenLDAP's libldap and liblber that the target ActiveDirectory loads at run time. The names are prefixed,
   so that the library's own headers, which the build does not need, can be included in addition to this one. */
#ifndef OPENLDAP_CALLS_H
#define OPENLDAP_CALLS_H

#include <sys/time.h>

typedef struct openldap openldap;
typedef struct openldap_message openldap_message;
typedef struct openldap_element openldap_element;
typedef struct openldap_sockbuf openldap_sockbuf;

/* struct berval */
typedef struct openldap_value {
    unsigned long length;
    char *bytes;
} openldap_value;

struct openldap_layer;

/* Sockbuf_IO_Desc: a layer of a connection, with the next lower one. */
typedef struct openldap_layer_position {
    int level;
    openldap_sockbuf *sockbuf;
    struct openldap_layer *layer;
    void *owner;
    struct openldap_layer_position *next;
} openldap_layer_position;

/* Sockbuf_IO: the functions of a layer. */
typedef struct openldap_layer {
    int (*setup)(openldap_layer_position *, void *);
    int (*remove)(openldap_layer_position *);
    int (*control)(openldap_layer_position *, int, void *);
    long (*read)(openldap_layer_position *, void *, unsigned long);
    long (*write)(openldap_layer_position *, void *, unsigned long);
    int (*close)(openldap_layer_position *);
} openldap_layer;

typedef int (*openldap_init_fd)(int, int, const char *, openldap **);
typedef int (*openldap_set_option)(openldap *, int, const void *);
typedef int (*openldap_get_option)(openldap *, int, void *);
typedef int (*openldap_start_tls_s)(openldap *, void *, void *);
typedef int (*openldap_sasl_bind_s)(
    openldap *, const char *, const char *, const openldap_value *, void *, void *, openldap_value **);
typedef int (*openldap_search_ext)(
    openldap *, const char *, int, const char *, char **, int, void *, void *, struct timeval *, int, int *);
typedef int (*openldap_result)(openldap *, int, int, struct timeval *, openldap_message **);
typedef int (*openldap_parse_result)(openldap *, openldap_message *, int *, char **, char **, char ***, void *, int);
typedef openldap_message *(*openldap_entry)(openldap *, openldap_message *);
typedef char *(*openldap_get_dn)(openldap *, openldap_message *);
typedef char *(*openldap_first_attribute)(openldap *, openldap_message *, openldap_element **);
typedef char *(*openldap_next_attribute)(openldap *, openldap_message *, openldap_element *);
typedef openldap_value **(*openldap_get_values_len)(openldap *, openldap_message *, const char *);
typedef void (*openldap_value_free_len)(openldap_value **);
typedef int (*openldap_msgfree)(openldap_message *);
typedef void (*openldap_memfree)(void *);
typedef int (*openldap_unbind_ext_s)(openldap *, void *, void *);
typedef char *(*openldap_err2string)(int);
typedef void (*openldap_bvfree)(openldap_value *);
typedef void (*openldap_ber_free)(openldap_element *, int);
typedef int (*openldap_sockbuf_ctrl)(openldap_sockbuf *, int, void *);
typedef int (*openldap_sockbuf_add_io)(openldap_sockbuf *, openldap_layer *, int, void *);

#endif
