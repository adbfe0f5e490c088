#pragma once
#include <microhttpd.h>

// MHD_start_daemon and MHD_get_daemon_info are variadic.
static inline struct MHD_Daemon *framemill_start_daemon(
    const struct sockaddr *address, unsigned connections, unsigned seconds, MHD_AccessHandlerCallback handler,
    void *context) {
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO;
    if (address->sa_family == AF_INET6) flags |= MHD_USE_IPv6;
    return MHD_start_daemon(
        flags, 0, NULL, NULL, handler, context, MHD_OPTION_SOCK_ADDR, address, MHD_OPTION_CONNECTION_LIMIT,
        connections, MHD_OPTION_CONNECTION_TIMEOUT, seconds, MHD_OPTION_END);
}
static inline int framemill_daemon_port(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}
// Newer versions have it under another name.
static inline struct MHD_Response *framemill_copied_response(const void *bytes, size_t count) {
    return MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}
