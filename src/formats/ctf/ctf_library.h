/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbabeltrace2, loaded when a trace is read and not with whatever reads other formats: it brings three
 * other libraries. `bt.graph_run()` is bt_graph_run(). Only this folder includes headers of that library.
 */
#ifndef SONDE_CTF_LIBRARY_H
#define SONDE_CTF_LIBRARY_H

#include <babeltrace2/babeltrace.h>
#include <sonde/status.h>

#define CTF_FUNCTION_LIST(X)                                                                       \
	X(clock_class_get_name)                                                                    \
	X(clock_class_origin_is_unix_epoch)                                                        \
	X(clock_snapshot_get_ns_from_origin)                                                       \
	X(component_filter_borrow_input_port_by_index_const)                                       \
	X(component_filter_borrow_output_port_by_index_const)                                      \
	X(component_sink_borrow_input_port_by_index_const)                                         \
	X(component_source_borrow_output_port_by_index_const)                                      \
	X(component_source_get_output_port_count)                                                  \
	X(current_thread_clear_error)                                                              \
	X(current_thread_take_error)                                                               \
	X(error_borrow_cause_by_index)                                                             \
	X(error_cause_get_message)                                                                 \
	X(error_get_cause_count)                                                                   \
	X(error_release)                                                                           \
	X(event_borrow_class_const)                                                                \
	X(event_borrow_common_context_field_const)                                                 \
	X(event_borrow_packet_const)                                                               \
	X(event_borrow_payload_field_const)                                                        \
	X(event_borrow_specific_context_field_const)                                               \
	X(event_borrow_stream_const)                                                               \
	X(event_class_borrow_payload_field_class_const)                                            \
	X(event_class_borrow_specific_context_field_class_const)                                   \
	X(event_class_borrow_stream_class_const)                                                   \
	X(event_class_get_name)                                                                    \
	X(field_array_borrow_element_field_by_index_const)                                         \
	X(field_array_get_length)                                                                  \
	X(field_bit_array_get_value_as_integer)                                                    \
	X(field_bool_get_value)                                                                    \
	X(field_borrow_class_const)                                                                \
	X(field_class_get_type)                                                                    \
	X(field_class_structure_borrow_member_by_index_const)                                      \
	X(field_class_structure_get_member_count)                                                  \
	X(field_class_structure_member_borrow_field_class_const)                                   \
	X(field_class_structure_member_get_name)                                                   \
	X(field_enumeration_signed_get_mapping_labels)                                             \
	X(field_enumeration_unsigned_get_mapping_labels)                                           \
	X(field_get_class_type)                                                                    \
	X(field_integer_signed_get_value)                                                          \
	X(field_integer_unsigned_get_value)                                                        \
	X(field_option_borrow_field_const)                                                         \
	X(field_real_double_precision_get_value)                                                   \
	X(field_real_single_precision_get_value)                                                   \
	X(field_string_get_value)                                                                  \
	X(field_structure_borrow_member_field_by_index_const)                                      \
	X(field_structure_borrow_member_field_by_name_const)                                       \
	X(field_variant_borrow_selected_option_field_const)                                        \
	X(graph_add_filter_component)                                                              \
	X(graph_add_simple_sink_component)                                                         \
	X(graph_add_source_component)                                                              \
	X(graph_connect_ports)                                                                     \
	X(graph_create)                                                                            \
	X(graph_put_ref)                                                                           \
	X(graph_run)                                                                               \
	X(message_discarded_events_get_count)                                                      \
	X(message_event_borrow_default_clock_snapshot_const)                                       \
	X(message_event_borrow_event_const)                                                        \
	X(message_event_borrow_stream_class_default_clock_class_const)                             \
	X(message_get_type)                                                                        \
	X(message_iterator_next)                                                                   \
	X(message_put_ref)                                                                         \
	X(message_stream_beginning_borrow_stream_const)                                            \
	X(packet_borrow_context_field_const)                                                       \
	X(plugin_borrow_filter_component_class_by_name_const)                                      \
	X(plugin_borrow_source_component_class_by_name_const)                                      \
	X(plugin_find)                                                                             \
	X(plugin_put_ref)                                                                          \
	X(stream_borrow_class_const)                                                               \
	X(stream_borrow_trace_const)                                                               \
	X(stream_class_borrow_default_clock_class_const)                                           \
	X(stream_class_borrow_event_class_by_index_const)                                          \
	X(stream_class_borrow_event_common_context_field_class_const)                              \
	X(stream_class_get_event_class_count)                                                      \
	X(stream_get_id)                                                                           \
	X(trace_borrow_environment_entry_by_index_const)                                           \
	X(trace_borrow_environment_entry_value_by_name_const)                                      \
	X(trace_get_environment_entry_count)                                                       \
	X(value_array_append_string_element)                                                       \
	X(value_get_type)                                                                          \
	X(value_integer_signed_get)                                                                \
	X(value_map_create)                                                                        \
	X(value_map_insert_empty_array_entry)                                                      \
	X(value_put_ref)                                                                           \
	X(value_string_get)

#define CTF_FUNCTION(name) __typeof__(bt_##name) *name;
struct ctf_library {
	CTF_FUNCTION_LIST(CTF_FUNCTION)
};
#undef CTF_FUNCTION

extern struct ctf_library bt;

/* Before any of the functions is called; again, it changes nothing. */
enum sonde_status ctf_library_load(struct sonde_error *err);

#endif
