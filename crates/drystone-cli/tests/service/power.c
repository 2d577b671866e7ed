// Library for LD_PRELOAD that records in the file POWER_LOG, in order, the operations of a process on the files below
// POWER_ROOT, and the heads of the HTTP responses that it sends. A lock serializes the recorded calls.
//
// The file POWER_RULE, if it exists, contains a word and a part of a path: `fail log-` makes syncs of such files fail without
// effect, `kill log-` ends the process where it would sync one.
//
// A note is: kind (1 byte), fd, result, length of path, length of second path, length of data (each i32), offset (u64),
// path, second path, data. Kinds: P process start, O open (offset 1: created or found, 2: truncated), W write, T truncate,
// R rename, U unlink, D rmdir, M mkdir, F fsync, S fdatasync, A response.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_FD 4096

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static char *paths[MAX_FD];
static int notes = -1;
static char root[4096];
static size_t root_length;

static void put(const void *bytes, size_t length) {
    const char *at = bytes;
    while (length > 0) {
        long wrote = syscall(SYS_write, notes, at, length);
        if (wrote <= 0) abort();
        at += wrote;
        length -= (size_t)wrote;
    }
}

static void note(char kind, int fd, int result, const char *path, const char *second, uint64_t offset, const void *data,
                 size_t length) {
    if (notes < 0) return;
    int32_t numbers[5] = {fd, result, path ? (int32_t)strlen(path) : 0, second ? (int32_t)strlen(second) : 0,
                          (int32_t)length};
    size_t total = 1 + sizeof numbers + sizeof offset + (size_t)numbers[2] + (size_t)numbers[3] + length;
    char *all = malloc(total), *at = all;
    if (!all) abort();
    *at++ = kind;
    at = (char *)memcpy(at, numbers, sizeof numbers) + sizeof numbers;
    at = (char *)memcpy(at, &offset, sizeof offset) + sizeof offset;
    if (path) at = (char *)memcpy(at, path, (size_t)numbers[2]) + numbers[2];
    if (second) at = (char *)memcpy(at, second, (size_t)numbers[3]) + numbers[3];
    if (length) memcpy(at, data, length);
    put(all, total);
    free(all);
}

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("POWER_LOG"), *folder = getenv("POWER_ROOT");
    if (!file || !folder) return;
    snprintf(root, sizeof root, "%s/", folder);
    root_length = strlen(root);
    notes = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    note('P', 0, 0, NULL, NULL, 0, NULL, 0);
}

// Marks of running worlds are written in place and never synced: any content of theirs on the disk is acceptable.
static int is_mark(const char *path) {
    const char *name = strrchr(path, '/');
    return name && strcmp(name, "/running") == 0;
}

static int is_ours(const char *path) {
    return notes >= 0 && path && strncmp(path, root, root_length) == 0 && !is_mark(path);
}

static const char *below(const char *path) {
    return path + root_length;
}

static char *path_of(int fd) {
    return fd >= 0 && fd < MAX_FD ? paths[fd] : NULL;
}

static void remember(int fd, const char *path) {
    if (fd < 0 || fd >= MAX_FD) return;
    free(paths[fd]);
    paths[fd] = path ? strdup(path) : NULL;
}

// Returns the path of a name in an open folder; malloced.
static char *joined(int folder, const char *name) {
    if (!name) return NULL;
    if (name[0] == '/' || folder == AT_FDCWD) return strdup(name);
    const char *above = path_of(folder);
    if (!above) return NULL;
    char *whole = NULL;
    if (asprintf(&whole, "%s/%s", above, name) < 0) return NULL;
    return whole;
}

static int opened(int folder, const char *name, int flags, mode_t mode) {
    pthread_mutex_lock(&order);
    int fd = (int)syscall(SYS_openat, folder, name, flags, mode);
    int error = errno;
    char *path = joined(folder, name);
    if (fd >= 0 && is_ours(path)) {
        remember(fd, path);
        note('O', fd, 0, below(path), NULL, flags & O_TRUNC ? 2 : 1, NULL, 0);
    }
    free(path);
    pthread_mutex_unlock(&order);
    errno = error;
    return fd;
}

#define MODE(last) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, last); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags) return opened(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags) return opened(folder, path, flags, mode); }

int close(int fd) {
    pthread_mutex_lock(&order);
    if (path_of(fd)) remember(fd, NULL);
    int result = (int)syscall(SYS_close, fd);
    int error = errno;
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

int closedir(DIR *folder) {
    static int (*real)(DIR *);
    pthread_mutex_lock(&order);
    if (!real) real = (int (*)(DIR *))dlsym(RTLD_NEXT, "closedir");
    if (path_of(dirfd(folder))) remember(dirfd(folder), NULL);
    int result = real(folder);
    int error = errno;
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

static void note_answer(const void *bytes, size_t length) {
    if (length >= 9 && memcmp(bytes, "HTTP/1.1 ", 9) == 0) {
        note('A', 0, 0, NULL, NULL, 0, bytes, length < 64 ? length : 64);
    }
}

ssize_t write(int fd, const void *bytes, size_t length) {
    if (notes < 0) return syscall(SYS_write, fd, bytes, length);
    pthread_mutex_lock(&order);
    const char *path = path_of(fd);
    off_t at = path ? (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR) : 0;
    if (!path) note_answer(bytes, length);
    ssize_t wrote = syscall(SYS_write, fd, bytes, length);
    int error = errno;
    if (path && wrote > 0) note('W', fd, (int)wrote, below(path), NULL, (uint64_t)at, bytes, (size_t)wrote);
    pthread_mutex_unlock(&order);
    errno = error;
    return wrote;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (notes < 0) return syscall(SYS_writev, fd, parts, count);
    pthread_mutex_lock(&order);
    if (path_of(fd)) abort();
    if (count > 0) note_answer(parts[0].iov_base, parts[0].iov_len);
    ssize_t wrote = syscall(SYS_writev, fd, parts, count);
    int error = errno;
    pthread_mutex_unlock(&order);
    errno = error;
    return wrote;
}

ssize_t sendto(int fd, const void *bytes, size_t length, int flags, const struct sockaddr *to, socklen_t size) {
    if (notes < 0) return syscall(SYS_sendto, fd, bytes, length, flags, to, size);
    pthread_mutex_lock(&order);
    note_answer(bytes, length);
    ssize_t sent = syscall(SYS_sendto, fd, bytes, length, flags, to, size);
    int error = errno;
    pthread_mutex_unlock(&order);
    errno = error;
    return sent;
}

ssize_t send(int fd, const void *bytes, size_t length, int flags) { return sendto(fd, bytes, length, flags, NULL, 0); }

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    if (notes < 0) return syscall(SYS_sendmsg, fd, message, flags);
    pthread_mutex_lock(&order);
    if (message->msg_iovlen > 0) note_answer(message->msg_iov[0].iov_base, message->msg_iov[0].iov_len);
    ssize_t sent = syscall(SYS_sendmsg, fd, message, flags);
    int error = errno;
    pthread_mutex_unlock(&order);
    errno = error;
    return sent;
}

static int cut(int fd, off_t length) {
    pthread_mutex_lock(&order);
    int result = (int)syscall(SYS_ftruncate, fd, length);
    int error = errno;
    if (result == 0 && path_of(fd)) note('T', fd, 0, below(path_of(fd)), NULL, (uint64_t)length, NULL, 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off_t length) { return cut(fd, length); }

// Not supported: the notes would be wrong.
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
    if (path_of(fd)) abort();
    return syscall(SYS_pwrite64, fd, bytes, length, at);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t at) { return pwrite(fd, bytes, length, at); }

int rename(const char *from, const char *to) {
    pthread_mutex_lock(&order);
    int result = (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
    int error = errno;
    if (result == 0 && is_ours(from)) {
        note('R', 0, 0, below(from), below(to), 0, NULL, 0);
        // Open descriptors get the new name.
        size_t length = strlen(from);
        for (int fd = 0; fd < MAX_FD; fd++) {
            if (paths[fd] && strncmp(paths[fd], from, length) == 0 && (paths[fd][length] == 0 || paths[fd][length] == '/')) {
                char *whole = NULL;
                if (asprintf(&whole, "%s%s", to, paths[fd] + length) < 0) abort();
                free(paths[fd]);
                paths[fd] = whole;
            }
        }
    }
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

static int removed(int folder, const char *name, int flags) {
    pthread_mutex_lock(&order);
    int result = (int)syscall(SYS_unlinkat, folder, name, flags);
    int error = errno;
    char *path = joined(folder, name);
    if (result == 0 && is_ours(path)) note(flags & AT_REMOVEDIR ? 'D' : 'U', 0, 0, below(path), NULL, 0, NULL, 0);
    free(path);
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

int unlinkat(int folder, const char *name, int flags) { return removed(folder, name, flags); }
int unlink(const char *path) { return removed(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return removed(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdir(const char *path, mode_t mode) {
    pthread_mutex_lock(&order);
    int result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    int error = errno;
    if (result == 0 && is_ours(path)) note('M', 0, 0, below(path), NULL, 0, NULL, 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

// Returns the first letter of POWER_RULE's word if the rule applies to a file, or 0.
static char rule(const char *path) {
    const char *file = getenv("POWER_RULE");
    if (!file) return 0;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return 0;
    char text[256] = {0};
    long length = syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    char *part = strchr(text, ' ');
    if (length <= 0 || !part) return 0;
    part[strcspn(part, "\n")] = 0;
    const char *name = strrchr(path, '/');
    return name && strstr(name, part + 1) ? text[0] : 0;
}

static int synced(char kind, int fd) {
    pthread_mutex_lock(&order);
    const char *path = path_of(fd);
    int result, error = 0;
    char what = path ? rule(path) : 0;
    if (what == 'k') {
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
        for (;;) sleep(1);
    }
    if (what == 'f') {
        result = -1;
        error = EIO;
    } else {
        // Only the call matters here, not the disk: no real power failure happens.
        result = 0;
    }
    if (path) note(kind, fd, result, below(path), NULL, 0, NULL, 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}

int fsync(int fd) { return synced('F', fd); }
int fdatasync(int fd) { return synced('S', fd); }
