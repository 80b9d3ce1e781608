// The parts of krb5 and GSSAPI that Swift cannot import: function-like macros, casts, and globals that are mutable in C.
#ifndef CKERBEROS_SHIM_H
#define CKERBEROS_SHIM_H

#ifdef __linux__
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <krb5/krb5.h>
#include <profile.h>
#include <netinet/in.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>
#undef p_type  // link.h has a field of this name
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

// The mechanisms (RFC 4178 section 3, RFC 4121 section 4), in static storage.
static inline gss_OID ckerberos_mech_spnego(void) {
    static gss_OID_desc oid = {6, (void *)"\x2b\x06\x01\x05\x05\x02"};
    return &oid;
}

static inline gss_OID ckerberos_mech_krb5(void) {
    static gss_OID_desc oid = {9, (void *)"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"};
    return &oid;
}

/* The credential option that suppresses the confidentiality and integrity flags. */
static inline gss_OID ckerberos_cred_no_ci_flags(void) { return (gss_OID)GSS_KRB5_CRED_NO_CI_FLAGS_X; }

static inline gss_OID ckerberos_nt_krb5_principal(void) {
    static gss_OID_desc oid = {10, (void *)"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01"};
    return &oid;
}

// libkrb5 exports these functions, but no installed header declares them. The first marks a context's clock offset as invalid without
// changing the number, so that the next cache's offset is adopted; the second sets the offset and marks it as valid.
krb5_error_code krb5_use_natural_time(krb5_context context);
krb5_error_code krb5_set_time_offsets(krb5_context context, krb5_timestamp seconds, krb5_int32 microseconds);

static inline OM_uint32 ckerberos_gss_routine_error(OM_uint32 major) { return GSS_ROUTINE_ERROR(major); }
static inline int ckerberos_gss_is_error(OM_uint32 major) { return GSS_ERROR(major) != 0; }

static const OM_uint32 ckerberos_s_continue_needed = GSS_S_CONTINUE_NEEDED;
static const OM_uint32 ckerberos_s_bad_bindings = GSS_S_BAD_BINDINGS;
static const OM_uint32 ckerberos_s_no_cred = GSS_S_NO_CRED;
static const OM_uint32 ckerberos_s_credentials_expired = GSS_S_CREDENTIALS_EXPIRED;
static const OM_uint32 ckerberos_s_defective_token = GSS_S_DEFECTIVE_TOKEN;
static const OM_uint32 ckerberos_s_bad_mech = GSS_S_BAD_MECH;
static const OM_uint32 ckerberos_s_bad_sig = GSS_S_BAD_SIG;
static const OM_uint32 ckerberos_s_failure = GSS_S_FAILURE;

// "Token header is malformed or corrupt", from libgssapi's own table, whose header is not installed.
static const krb5_error_code ckerberos_g_bad_tok_header = -2045022964;

// Waits for a read lock of the open file description, not of the process. glibc hides the name from strict C.
#ifdef __linux__
static const int ckerberos_wait_for_lock = 38; /* F_OFD_SETLKW */
#else
static const int ckerberos_wait_for_lock = F_SETLKW;
#endif

// The value of a variable that names a file to write; NULL in a program that has more rights than its caller. This is secure_getenv(3), which
// glibc hides from strict C.
static inline const char *ckerberos_secure_variable(const char *name) {
#ifdef __linux__
    return getauxval(AT_SECURE) ? NULL : getenv(name);
#else
    return issetugid() ? NULL : getenv(name);
#endif
}

// Prevents core dumps and memory access by the user's other processes (PR_SET_DUMPABLE). Swift cannot call variadic functions.
static inline int ckerberos_forbid_dumps(void) {
#ifdef __linux__
    return prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L);
#else
    return 0;
#endif
}

// Returns freed memory to the system (malloc_trim(3)). Swift's Glibc module does not include malloc.h.
static inline void ckerberos_give_back_freed(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

// Drops the program's code from memory; code that runs later is read again. The code is never written, so every page is in the file. The
// kernel provides its address (getauxval(3)).
static inline void ckerberos_forget_code(void) {
#ifdef __GLIBC__
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t count = getauxval(AT_PHNUM);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (size_t self = 0; parts && self < count; self++) {
        if (parts[self].p_type != PT_PHDR) continue;
        uintptr_t base = (uintptr_t)parts - parts[self].p_vaddr;
        for (size_t index = 0; index < count; index++) {
            const ElfW(Phdr) *part = &parts[index];
            if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || (part->p_flags & PF_W)) continue;
            uintptr_t start = (base + part->p_vaddr + page - 1) & ~(page - 1);
            uintptr_t end = (base + part->p_vaddr + part->p_memsz) & ~(page - 1);
            if (start < end) madvise((void *)start, end - start, MADV_DONTNEED);
        }
    }
#endif
}

// Opens a descriptor for another process (pidfd_open(2)), which glibc 2.31 does not provide.
static inline int ckerberos_open_process(int process) {
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, (long)process, 0L);
#else
    return -1;
#endif
}

// Access to the user keyring in the kernel (user-keyring(7)), for which the C library has no functions. Return -1 and set errno on error.
#ifdef __linux__
static const int ckerberos_thread_keyring = -1; /* KEY_SPEC_THREAD_KEYRING */
static const int ckerberos_user_keyring = -4;   /* KEY_SPEC_USER_KEYRING */

static inline long ckerberos_add_key(const char *description, const void *content, size_t count, int keyring) {
    return syscall(SYS_add_key, "user", description, content, count, (long)keyring);
}
static inline long ckerberos_find_key(const char *description) {
    return syscall(SYS_keyctl, 10L /* KEYCTL_SEARCH */, (long)ckerberos_user_keyring, "user", description, 0L);
}
static inline long ckerberos_read_key(long key, void *content, size_t size) {
    return syscall(SYS_keyctl, 11L /* KEYCTL_READ */, key, content, size, 0L);
}
// Grants all rights to the possessor and to the user, and none to others.
static inline long ckerberos_close_key(long key) { return syscall(SYS_keyctl, 5L /* KEYCTL_SETPERM */, key, 0x3f3f0000L, 0L, 0L); }
static inline long ckerberos_link_key(long key, int keyring) { return syscall(SYS_keyctl, 8L /* KEYCTL_LINK */, key, (long)keyring, 0L, 0L); }
static inline long ckerberos_unlink_key(long key, int keyring) {
    return syscall(SYS_keyctl, 9L /* KEYCTL_UNLINK */, key, (long)keyring, 0L, 0L);
}
static inline long ckerberos_revoke_key(long key) { return syscall(SYS_keyctl, 3L /* KEYCTL_REVOKE */, key, 0L, 0L, 0L); }
#else
static const int ckerberos_thread_keyring = -1, ckerberos_user_keyring = -4;
static inline long ckerberos_no_keyring(void) { errno = ENOSYS; return -1; }
static inline long ckerberos_add_key(const char *a, const void *b, size_t c, int d) { return ckerberos_no_keyring(); }
static inline long ckerberos_find_key(const char *a) { return ckerberos_no_keyring(); }
static inline long ckerberos_read_key(long a, void *b, size_t c) { return ckerberos_no_keyring(); }
static inline long ckerberos_close_key(long a) { return ckerberos_no_keyring(); }
static inline long ckerberos_link_key(long a, int b) { return ckerberos_no_keyring(); }
static inline long ckerberos_unlink_key(long a, int b) { return ckerberos_no_keyring(); }
static inline long ckerberos_revoke_key(long a) { return ckerberos_no_keyring(); }
#endif

// Queries DNS with its own resolver state, each server once and for the given number of seconds (res_nquery(3), which is a macro).
// Returns the answer's length, which may exceed the buffer; -1 if DNS has no such records, -2 if no server answers.
static inline int ckerberos_query_dns(const char *name, int type, int seconds, unsigned char *answer, int size) {
    struct __res_state state;
    memset(&state, 0, sizeof state);
    if (res_ninit(&state) != 0) return -2;
    state.retrans = seconds;
    state.retry = 1;
    int length = res_nquery(&state, name, ns_c_in, type, answer, size);
    int reason = state.res_h_errno;
    res_nclose(&state);
    if (length >= 0) return length;
    return reason == TRY_AGAIN || reason == NETDB_INTERNAL ? -2 : -1;
}

static inline int ckerberos_oid_equal(gss_const_OID a, gss_const_OID b) {
    return a != GSS_C_NO_OID && b != GSS_C_NO_OID && a->length == b->length && memcmp(a->elements, b->elements, a->length) == 0;
}

#endif
