// What Swift cannot see of krb5 and GSSAPI by itself: function-like macros, casts, and globals that are mutable in C's eyes.
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
#undef p_type  // also a field of what link.h declares
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

// The mechanisms (RFC 4178 section 3, RFC 4121 section 4). Their storage lives as long as the process.
static inline gss_OID ckerberos_mech_spnego(void) {
    static gss_OID_desc oid = {6, (void *)"\x2b\x06\x01\x05\x05\x02"};
    return &oid;
}

static inline gss_OID ckerberos_mech_krb5(void) {
    static gss_OID_desc oid = {9, (void *)"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"};
    return &oid;
}

static inline gss_OID ckerberos_nt_krb5_principal(void) {
    static gss_OID_desc oid = {10, (void *)"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01"};
    return &oid;
}

// Exported by libkrb5 and in no installed header. The first marks a context's clock offset as not valid, so that the next cache's own is
// taken, and leaves the number; the second sets the number and marks it as valid.
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

// "Token header is malformed or corrupt", from libgssapi's own table, whose header is not installed.
static const krb5_error_code ckerberos_g_bad_tok_header = -2045022964;

// A read lock of the open file, not of the process, waited for; glibc hides the name from strict C.
#ifdef __linux__
static const int ckerberos_wait_for_lock = 38; /* F_OFD_SETLKW */
#else
static const int ckerberos_wait_for_lock = F_SETLKW;
#endif

// Neither a core dump nor another process of the user sees this one's memory (PR_SET_DUMPABLE); Swift does not see variadic functions.
static inline int ckerberos_forbid_dumps(void) {
#ifdef __linux__
    return prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L);
#else
    return 0;
#endif
}

// Freed memory goes back to the system (malloc_trim(3)); Swift's module of glibc has not got malloc.h.
static inline void ckerberos_give_back_freed(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

// The program's code is no longer resident, but for what is run from now on. It is never written, so that every page is found in the file
// again; the kernel tells where it is (getauxval(3)).
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

// A descriptor for another process (pidfd_open(2)), which glibc 2.31 does not know yet.
static inline int ckerberos_open_process(int process) {
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, (long)process, 0L);
#else
    return -1;
#endif
}

// The user's keyring in the kernel (user-keyring(7)), for which the C library has no functions. -1 with errno, as system calls have it.
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
// All rights for who possesses it and for the user; none for anybody else.
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

// Asks DNS for records of a type with a resolver of its own, each server once and for so many seconds (res_nquery(3), which is a macro).
// The answer's length, which may be more than fits; -1 when DNS says that there are none, -2 when it does not say.
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
