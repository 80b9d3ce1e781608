#include "cfloor.h"
#include "internal.h"

#include <dlfcn.h>
#include <string.h>

// libcurl is loaded on demand, and the few functions that are used are declared here, so that the benchmark builds without its headers.
// Numbers and signatures are part of libcurl's stable ABI.
enum { WRITEDATA = 10001, URL = 10002, USERPWD = 10005, WRITEFUNCTION = 20011, CAINFO = 10065, HTTPAUTH = 107, RESPONSE_CODE = 0x200002 };
static const long negotiate = 1L << 2;

struct library {
    void *(*init)(void);
    int (*setopt)(void *, int, ...);
    int (*perform)(void *);
    int (*getinfo)(void *, int, ...);
    void (*cleanup)(void *);
};

struct body {
    char text[256];
    size_t length;
};

static size_t append(const char *bytes, size_t size, size_t count, void *context) {
    struct body *body = context;
    size_t length = size * count, room = sizeof body->text - 1 - body->length;
    memcpy(body->text + body->length, bytes, length < room ? length : room);
    body->length += length < room ? length : room;
    return length;
}

static int load(struct library *library) {
    void *handle = dlopen("libcurl.so.4", RTLD_NOW);
    if (handle == NULL) return 0;
    *(void **)&library->init = dlsym(handle, "curl_easy_init");
    *(void **)&library->setopt = dlsym(handle, "curl_easy_setopt");
    *(void **)&library->perform = dlsym(handle, "curl_easy_perform");
    *(void **)&library->getinfo = dlsym(handle, "curl_easy_getinfo");
    *(void **)&library->cleanup = dlsym(handle, "curl_easy_cleanup");
    return library->init && library->setopt && library->perform && library->getinfo && library->cleanup;
}

static int request(const struct library *library, void *curl, struct body *body, const char *expected) {
    long status = 0;
    memset(body, 0, sizeof *body);
    return library->perform(curl) == 0 && library->getinfo(curl, RESPONSE_CODE, &status) == 0 && status == 200
           && strstr(body->text, expected) != NULL;
}

double cfloor_libcurl(const char *url, const char *certificate, int signs_in, const char *expected, unsigned count) {
    struct library library;
    struct body body;
    void *curl = load(&library) ? library.init() : NULL;
    if (curl == NULL) return -1;
    library.setopt(curl, URL, url);
    if (certificate != NULL) library.setopt(curl, CAINFO, certificate);
    if (signs_in) {
        library.setopt(curl, USERPWD, ":");
        library.setopt(curl, HTTPAUTH, negotiate);
    }
    library.setopt(curl, WRITEFUNCTION, append);
    library.setopt(curl, WRITEDATA, &body);
    int ok = request(&library, curl, &body, expected);
    double start = cfloor_now();
    for (unsigned i = 0; ok && i < count; i++) ok = request(&library, curl, &body, expected);
    double time = (cfloor_now() - start) / count;
    library.cleanup(curl);
    return ok ? time : -1;
}
