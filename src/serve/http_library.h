/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmicrohttpd, loaded when a server starts and not with the command: it brings ten other libraries,
 * on which a short command would spend much of its time. Includes its header; behind it the names of its
 * functions are those that were loaded.
 */
#ifndef SONDE_SERVE_HTTP_LIBRARY_H
#define SONDE_SERVE_HTTP_LIBRARY_H

#include <microhttpd.h>

#include <sonde/status.h>

#define HTTP_FUNCTION_LIST(X)                                                                      \
	X(MHD_add_response_header)                                                                 \
	X(MHD_create_response_from_buffer)                                                         \
	X(MHD_destroy_response)                                                                    \
	X(MHD_get_connection_info)                                                                 \
	X(MHD_get_reason_phrase_for)                                                               \
	X(MHD_lookup_connection_value)                                                             \
	X(MHD_queue_response)                                                                      \
	X(MHD_quiesce_daemon)                                                                      \
	X(MHD_resume_connection)                                                                   \
	X(MHD_start_daemon)                                                                        \
	X(MHD_stop_daemon)                                                                         \
	X(MHD_suspend_connection)

#define HTTP_FUNCTION(name) __typeof__(name) *name;
struct http_library {
	HTTP_FUNCTION_LIST(HTTP_FUNCTION)
};
#undef HTTP_FUNCTION

extern struct http_library http_library;

/* Before any of the functions is called; again, it changes nothing. */
enum sonde_status http_library_load(struct sonde_error *err);

#define MHD_add_response_header http_library.MHD_add_response_header
#define MHD_create_response_from_buffer http_library.MHD_create_response_from_buffer
#define MHD_destroy_response http_library.MHD_destroy_response
#define MHD_get_connection_info http_library.MHD_get_connection_info
#define MHD_get_reason_phrase_for http_library.MHD_get_reason_phrase_for
#define MHD_lookup_connection_value http_library.MHD_lookup_connection_value
#define MHD_queue_response http_library.MHD_queue_response
#define MHD_quiesce_daemon http_library.MHD_quiesce_daemon
#define MHD_resume_connection http_library.MHD_resume_connection
#define MHD_start_daemon http_library.MHD_start_daemon
#define MHD_stop_daemon http_library.MHD_stop_daemon
#define MHD_suspend_connection http_library.MHD_suspend_connection

#endif
