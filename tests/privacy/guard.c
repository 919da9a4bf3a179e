/* Loaded into a process before everything else: writes down, in the file that IR_GUARD_LOG names, every host that is
 * looked up, every address that is spoken to, and every path that is made or opened for writing. Networks are refused,
 * so that a program that breaks the promise does not reach anybody while it is found out. Native libraries are seen
 * too, which an audit hook of Python does not do.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* ---- what is written down: one line an event, in one write, by system calls that are not themselves watched ---- */

static void note(const char *kind, const char *what) {
    const char *log = getenv("IR_GUARD_LOG");
    if (!log) return;
    char line[8192];
    int size = snprintf(line, sizeof line, "%s\t%s\n", kind, what ? what : "?");
    if (size >= (int)sizeof line) size = sizeof line - 1;
    int kept = errno;
    int file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file >= 0) {
        syscall(SYS_write, file, line, size);
        syscall(SYS_close, file);
    }
    errno = kept;
}

static void note_path(const char *kind, int folder, const char *path) {
    char base[4096] = "", whole[8192];
    if (!path) return;
    if (path[0] == '/') {
        note(kind, path);
        return;
    }
    int kept = errno;
    if (folder == AT_FDCWD) {
        if (!getcwd(base, sizeof base)) base[0] = 0;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t size = readlink(link, base, sizeof base - 1);
        base[size > 0 ? size : 0] = 0;
    }
    errno = kept;
    snprintf(whole, sizeof whole, "%s/%s", base, path);
    note(kind, whole);
}

/* ---- networks ---- */

/* Servers that a user asks for talk to themselves; with IR_GUARD_LOOPBACK in the environment they may. */
static int is_home(const char *host) {
    if (!getenv("IR_GUARD_LOOPBACK")) return 0;
    return !strcmp(host, "localhost") || !strncmp(host, "127.", 4) || !strcmp(host, "::1") ||
           !strncmp(host, "::ffff:127.", 11);
}

static int is_network(const struct sockaddr *address) {
    char text[INET6_ADDRSTRLEN + 16] = "", host[INET6_ADDRSTRLEN] = "";
    if (!address) return 0;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(text, sizeof text, "%s:%d", host, ntohs(in->sin_port));
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)address;
        inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof host);
        snprintf(text, sizeof text, "%s:%d", host, ntohs(in->sin6_port));
    } else {
        return 0;
    }
    if (is_home(host)) return 0;
    note("connect", text);
    return 1;
}

static int refused(void) {
    errno = ENETUNREACH;
    return -1;
}

int connect(int fd, const struct sockaddr *address, socklen_t size) {
    return is_network(address) ? refused() : REAL(connect)(fd, address, size);
}

ssize_t sendto(int fd, const void *data, size_t length, int flags, const struct sockaddr *address, socklen_t size) {
    return is_network(address) ? refused() : REAL(sendto)(fd, data, length, flags, address, size);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    return message && is_network(message->msg_name) ? refused() : REAL(sendmsg)(fd, message, flags);
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    if (!host || is_home(host)) return REAL(getaddrinfo)(host, service, hints, found);
    note("lookup", host);
    return EAI_AGAIN;
}

struct hostent *gethostbyname(const char *host) {
    note("lookup", host);
    h_errno = TRY_AGAIN;
    return NULL;
}

struct hostent *gethostbyname2(const char *host, int family) {
    (void)family;
    return gethostbyname(host);
}

int gethostbyname_r(const char *host, struct hostent *made, char *memory, size_t size, struct hostent **found,
                    int *why) {
    (void)made, (void)memory, (void)size;
    note("lookup", host);
    *found = NULL;
    *why = TRY_AGAIN;
    return EAGAIN;
}

int gethostbyname2_r(const char *host, int family, struct hostent *made, char *memory, size_t size,
                     struct hostent **found, int *why) {
    (void)family;
    return gethostbyname_r(host, made, memory, size, found, why);
}

/* ---- files: opened for writing, or made ---- */

static int writes(int flags) {
    return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
}

static mode_t mode_of(int flags, va_list more) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

#define OPENS(name)                                         \
    int name(const char *path, int flags, ...) {            \
        va_list more;                                       \
        va_start(more, flags);                              \
        mode_t mode = mode_of(flags, more);                 \
        va_end(more);                                       \
        if (writes(flags)) note_path("write", AT_FDCWD, path); \
        return REAL(name)(path, flags, mode);               \
    }
#define OPENS_AT(name)                                      \
    int name(int folder, const char *path, int flags, ...) { \
        va_list more;                                       \
        va_start(more, flags);                              \
        mode_t mode = mode_of(flags, more);                 \
        va_end(more);                                       \
        if (writes(flags)) note_path("write", folder, path); \
        return REAL(name)(folder, path, flags, mode);       \
    }
#define FOPENS(name)                                        \
    FILE *name(const char *path, const char *mode) {        \
        if (strpbrk(mode, "wa+")) note_path("write", AT_FDCWD, path); \
        return REAL(name)(path, mode);                      \
    }

OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)
FOPENS(fopen)
FOPENS(fopen64)

int creat(const char *path, mode_t mode) {
    note_path("write", AT_FDCWD, path);
    return REAL(creat)(path, mode);
}

int mkdir(const char *path, mode_t mode) {
    int done = REAL(mkdir)(path, mode);
    if (!done) note_path("write", AT_FDCWD, path); /* asking for a folder that is there makes nothing */
    return done;
}

int mkdirat(int folder, const char *path, mode_t mode) {
    int done = REAL(mkdirat)(folder, path, mode);
    if (!done) note_path("write", folder, path);
    return done;
}

int rename(const char *from, const char *to) {
    note_path("write", AT_FDCWD, to);
    return REAL(rename)(from, to);
}

int renameat(int old, const char *from, int new, const char *to) {
    note_path("write", new, to);
    return REAL(renameat)(old, from, new, to);
}

int link(const char *from, const char *to) {
    note_path("write", AT_FDCWD, to);
    return REAL(link)(from, to);
}

int linkat(int old, const char *from, int new, const char *to, int flags) {
    note_path("write", new, to);
    return REAL(linkat)(old, from, new, to, flags);
}

int symlink(const char *from, const char *to) {
    note_path("write", AT_FDCWD, to);
    return REAL(symlink)(from, to);
}

int symlinkat(const char *from, int folder, const char *to) {
    note_path("write", folder, to);
    return REAL(symlinkat)(from, folder, to);
}

int mkstemp(char *path) {
    note_path("write", AT_FDCWD, path);
    return REAL(mkstemp)(path);
}

int mkstemp64(char *path) {
    note_path("write", AT_FDCWD, path);
    return REAL(mkstemp64)(path);
}

char *mkdtemp(char *path) {
    note_path("write", AT_FDCWD, path);
    return REAL(mkdtemp)(path);
}
