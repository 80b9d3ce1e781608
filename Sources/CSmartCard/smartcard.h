/* The types of those functions of PC/SC lite's libpcsclite that the target SmartCardReaders loads at run time. The names are prefixed, so
   that the library's own headers, which the build does not need, can be included in addition to this one. */
#ifndef SMARTCARD_CALLS_H
#define SMARTCARD_CALLS_H

/* SCARD_READERSTATE: what is known of a reader, and what its state is. */
typedef struct smartcard_reader {
    const char *name;
    void *data;
    unsigned long known;
    unsigned long state;
    unsigned long answer_length;
    unsigned char answer[33];
} smartcard_reader;

typedef long (*smartcard_establish_context)(unsigned long, const void *, const void *, long *);
typedef long (*smartcard_release_context)(long);
typedef long (*smartcard_list_readers)(long, const char *, char *, unsigned long *);
typedef long (*smartcard_get_status_change)(long, unsigned long, smartcard_reader *, unsigned long);
typedef long (*smartcard_cancel)(long);
typedef const char *(*smartcard_stringify_error)(long);

#endif
