/* Fail, or kill the process, at a call of the C library: for a process that starts with this library in LD_PRELOAD.
 *
 * The environment variable POSEGEN_TEST_FAULT holds "MOMENT CALL COUNT ACTION PATTERN", separated by single spaces:
 *
 *   MOMENT   before or after the call. A call that fails after it has been made is seen to fail nevertheless.
 *   CALL     open (of a file or folder), write, fsync (also fdatasync), rename, unlink or request
 *   COUNT    the how manieth such call of this process, from 1; 0 for each of them
 *   ACTION   kill, the number of the error that the call fails with, or next: from then on, the rule of the next line applies
 *   PATTERN  an extended regular expression, found anywhere in what the call applies to: the path that was passed to open and
 *            unlink, the new path of rename, the present path of the file of write and fsync, and for request, which is one to
 *            an HTTP server without TLS, its method and target, such as "PUT /bucket/key". After a request is when its answer
 *            begins to arrive.
 *
 * The variable is read at each call, so that a process that was forked may set its own. Where it has changed, its first
 * line applies.
 * Without it, every call is passed on.
 *
 * The environment variable POSEGEN_TEST_POWER holds "COUNT JOURNAL DISK": what the process changes in the folder DISK is noted in
 * the folder JOURNAL, on the same file system, and the process is killed after its COUNT-th change, or not at all for 0. `power.py`
 * then drops what was not synced. A line of the journal is a letter and absolute paths, separated by tabs: c PATH was created, w
 * PATH was opened for writing or written, s PATH was synced, m and d PATH is a folder that was made or removed, r OLD NEW was
 * renamed, u PATH was removed. The last path of r and u is a second link to the file that NEW or PATH was before, if any.
 *
 * Another kind of fault is another ACTION in `fault`; another call is another wrapper.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define VARIABLE "POSEGEN_TEST_FAULT"
#define LONGEST 4096
#define MOST_FILES 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char variable[LONGEST]; /* the value that was read last */
static struct {
  char moment[16], call[16], action[16];
  int count, seen;
  const char *next; /* the next line of the variable */
  regex_t pattern;
} rule;
static char asked[MOST_FILES][256]; /* for each socket, the request whose answer has not begun to arrive */

/* Read a line into `rule`; abort where it is not valid, because a test without its fault shows nothing. */
static void parse(const char *line) {
  char text[LONGEST];
  int begin = 0;
  snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
  if (rule.next) regfree(&rule.pattern);
  rule.seen = 0;
  rule.next = line + strlen(text) + (line[strlen(text)] != 0);
  if (sscanf(text, "%15s %15s %d %15s %n", rule.moment, rule.call, &rule.count, rule.action, &begin) != 4 ||
      regcomp(&rule.pattern, text + begin, REG_EXTENDED | REG_NOSUB)) {
    fprintf(stderr, "%s: is not valid: %s\n", VARIABLE, text);
    abort();
  }
}

/* Return the number of the error that a call fails with, 0 if it does not fail; or kill the process. */
static int fault(const char *moment, const char *call, const char *subject) {
  const char *value = getenv(VARIABLE);
  int error = 0;
  if (!value || !*value) return 0;
  pthread_mutex_lock(&lock);
  if (strcmp(value, variable)) {
    snprintf(variable, sizeof variable, "%s", value);
    parse(variable);
  }
  if (!strcmp(moment, rule.moment) && !strcmp(call, rule.call) && !regexec(&rule.pattern, subject, 0, NULL, 0) &&
      (++rule.seen == rule.count || !rule.count)) {
    if (!strcmp(rule.action, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(rule.action, "next")) parse(rule.next);
    else error = atoi(rule.action);
  }
  pthread_mutex_unlock(&lock);
  return error;
}

/* Return the path of an open file, or what the system calls it. */
static const char *path_of(int file, char *path) {
  char link[64];
  ssize_t length;
  *path = 0;
  if (!getenv(VARIABLE) && !getenv("POSEGEN_TEST_POWER")) return "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  length = readlink(link, path, LONGEST - 1);
  path[length < 0 ? 0 : length] = 0;
  return path;
}

/* Write the absolute form of a path, which is relative to an open folder, into `out`. */
static const char *absolute(int folder, const char *path, char *out) {
  char link[64], parent[LONGEST] = "";
  ssize_t length;
  if (*path == '/') { snprintf(out, LONGEST, "%s", path); return out; }
  snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
  length = readlink(link, parent, sizeof parent - 1);
  if (length > 0) parent[length] = 0;
  snprintf(out, LONGEST, "%.2000s/%.2000s", parent, path);
  return out;
}

static struct { int kill_at; char journal[1000], disk[1000]; } power;

/* Return whether changes of a path are noted. */
static int is_noted(const char *path) {
  const char *value = getenv("POSEGEN_TEST_POWER");
  if (!value || !*value) return 0;
  if (sscanf(value, "%d %999s %999s", &power.kill_at, power.journal, power.disk) != 3) abort();
  return !strncmp(path, power.disk, strlen(power.disk)) && (path[strlen(power.disk)] == '/' || !path[strlen(power.disk)]);
}

/* Append a change to the journal, and kill the process if it is to die after this one. */
static void note(char kind, const char *path, const char *other, const char *before) {
  static int changes;
  static __typeof__(&write) append;
  char name[LONGEST], line[3 * LONGEST];
  int file, kept = errno, number;
  if (!is_noted(path)) return;
  if (!append) append = (__typeof__(&write))dlsym(RTLD_NEXT, "write");
  static __typeof__(&open) reach;
  if (!reach) reach = (__typeof__(&open))dlsym(RTLD_NEXT, "open");
  snprintf(name, sizeof name, "%s/changes", power.journal);
  number = snprintf(line, sizeof line, "%c\t%s\t%s\t%s\n", kind, path, other, before);
  file = reach(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || append(file, line, number) != number) abort();
  close(file);
  if (__sync_add_and_fetch(&changes, 1) == power.kill_at) kill(getpid(), SIGKILL);
  errno = kept;
}

/* Keep a second link to a file that is about to disappear; return its path, empty if there is no such file. */
static const char *keep(const char *path, char *out) {
  static int number;
  *out = 0;
  if (is_noted(path)) {
    snprintf(out, LONGEST, "%s/%d-%d", power.journal, getpid(), __sync_add_and_fetch(&number, 1));
    if (link(path, out)) *out = 0;
  }
  return out;
}

/* Define `real` as the function of the C library. */
#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* Return `result`, the expression of the real call, between its two moments. */
#define CALL(call, subject, result)                                                              \
  do {                                                                                           \
    int error = fault("before", call, subject), kept;                                            \
    if (error) { errno = error; return -1; }                                                     \
    __typeof__(result) value = result;                                                           \
    kept = errno;                                                                                \
    error = fault("after", call, subject);                                                       \
    errno = error ? error : kept;                                                                \
    return error ? -1 : value;                                                                   \
  } while (0)

#define MODE(flags) ({ va_list rest; mode_t mode = 0;                                             \
  if ((flags) & (O_CREAT | O_TMPFILE)) { va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); } mode; })

/* Return the result of opening a file, and note that it was created or may be written. */
#define OPENED(folder, path, flags, result) ({                                                    \
  char full[LONGEST]; struct stat is;                                                            \
  int writes = ((flags) & O_ACCMODE) != O_RDONLY && is_noted(absolute(folder, path, full));      \
  int is_new = writes && fstatat(folder, path, &is, AT_SYMLINK_NOFOLLOW);                        \
  int found = result;                                                                            \
  if (found >= 0 && is_new) note('c', full, "", "");                                             \
  if (found >= 0 && writes) note('w', full, "", "");                                             \
  found; })

int open(const char *path, int flags, ...) {
  REAL(open); mode_t mode = MODE(flags); CALL("open", path, OPENED(AT_FDCWD, path, flags, real(path, flags, mode)));
}
int open64(const char *path, int flags, ...) {
  REAL(open64); mode_t mode = MODE(flags); CALL("open", path, OPENED(AT_FDCWD, path, flags, real(path, flags, mode)));
}
int openat(int folder, const char *path, int flags, ...) {
  REAL(openat); mode_t mode = MODE(flags); CALL("open", path, OPENED(folder, path, flags, real(folder, path, flags, mode)));
}
int openat64(int folder, const char *path, int flags, ...) {
  REAL(openat64); mode_t mode = MODE(flags); CALL("open", path, OPENED(folder, path, flags, real(folder, path, flags, mode)));
}

/* Return a result that is -1 for an error, and note what was done otherwise. */
#define DONE(result, ...) ({ __typeof__(result) done = result; if (done >= 0) note(__VA_ARGS__); done; })

int fsync(int file) {
  REAL(fsync); char path[LONGEST]; CALL("fsync", path_of(file, path), DONE(real(file), 's', path, "", ""));
}
int fdatasync(int file) {
  REAL(fdatasync); char path[LONGEST]; CALL("fsync", path_of(file, path), DONE(real(file), 's', path, "", ""));
}
int renameat(int a, const char *from, int b, const char *to) {
  REAL(renameat); char old[LONGEST], new[LONGEST], before[LONGEST];
  absolute(a, from, old); absolute(b, to, new);
  CALL("rename", to, (keep(new, before), DONE(real(a, from, b, to), 'r', old, new, before)));
}
int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }
int unlinkat(int folder, const char *path, int flags) {
  REAL(unlinkat); char full[LONGEST], before[LONGEST];
  absolute(folder, path, full);
  CALL("unlink", path,
       (keep(full, before), DONE(real(folder, path, flags), flags & AT_REMOVEDIR ? 'd' : 'u', full, "", before)));
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int mkdirat(int folder, const char *path, mode_t mode) {
  REAL(mkdirat); char full[LONGEST];
  return DONE(real(folder, path, mode), 'm', absolute(folder, path, full), "", "");
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
int symlinkat(const char *target, int folder, const char *path) {
  REAL(symlinkat); char full[LONGEST];
  return DONE(real(target, folder, path), 'c', absolute(folder, path, full), "", "");
}
int symlink(const char *target, const char *path) { return symlinkat(target, AT_FDCWD, path); }

/* Return the error of a request, if what is sent begins with one, and keep it until its answer arrives. */
static int request(int socket, const void *sent, size_t length) {
  static const char *const methods[] = {"GET /", "HEAD /", "PUT /", "POST /", "DELETE /"};
  const char *end, *text = sent;
  size_t i, size;
  if (socket < 0 || socket >= MOST_FILES || !getenv(VARIABLE)) return 0;
  for (i = 0; i < sizeof methods / sizeof *methods; i++) {
    size = strlen(methods[i]);
    if (length <= size || memcmp(text, methods[i], size)) continue;
    end = memchr(text + size, ' ', length - size);
    size = end ? (size_t)(end - text) : length;
    snprintf(asked[socket], sizeof asked[socket], "%.*s", (int)size, text);
    return fault("before", "request", asked[socket]);
  }
  return 0;
}

/* Return the error of a request whose answer arrives. */
static int answer(int socket, ssize_t received) {
  char subject[sizeof *asked];
  if (received <= 0 || socket < 0 || socket >= MOST_FILES || !asked[socket][0]) return 0;
  strcpy(subject, asked[socket]);
  asked[socket][0] = 0;
  return fault("after", "request", subject);
}

#define SENT(error, result) do { int failed = error; if (failed) { errno = failed; return -1; } return result; } while (0)
#define RECEIVED(file, result)                                                                   \
  do {                                                                                           \
    ssize_t value = result;                                                                      \
    int kept = errno, error = answer(file, value);                                               \
    errno = error ? error : kept;                                                                \
    return error ? -1 : value;                                                                   \
  } while (0)

ssize_t write(int file, const void *data, size_t size) {
  REAL(write);
  char path[LONGEST];
  int error = request(file, data, size);
  if (error) { errno = error; return -1; }
  CALL("write", path_of(file, path), DONE(real(file, data, size), 'w', path, "", ""));
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  REAL(writev);
  char path[LONGEST];
  path_of(file, path);
  SENT(count ? request(file, parts->iov_base, parts->iov_len) : 0, DONE(real(file, parts, count), 'w', path, "", ""));
}
ssize_t send(int file, const void *data, size_t size, int flags) {
  REAL(send); SENT(request(file, data, size), real(file, data, size, flags));
}
ssize_t sendmsg(int file, const struct msghdr *message, int flags) {
  REAL(sendmsg);
  const struct iovec *part = message->msg_iov;
  SENT(message->msg_iovlen ? request(file, part->iov_base, part->iov_len) : 0, real(file, message, flags));
}
ssize_t read(int file, void *data, size_t size) { REAL(read); RECEIVED(file, real(file, data, size)); }
ssize_t recv(int file, void *data, size_t size, int flags) { REAL(recv); RECEIVED(file, real(file, data, size, flags)); }
ssize_t recvmsg(int file, struct msghdr *message, int flags) { REAL(recvmsg); RECEIVED(file, real(file, message, flags)); }
