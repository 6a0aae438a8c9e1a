"""The flags of `kerasline serve`: what each does, and why some of TF Serving's are refused."""

# Fields of ServerConfig, in the order of the help.
HELP = {
    "port": "Port of gRPC; 0 picks a free one.",
    "rest_api_port": "Port of REST and of the page at /; 0 picks a free one.",
    "host": "Address to listen on; 0.0.0.0 for every network.",
    "model_name": "Name of the model; not with --model_config_file.",
    "model_base_path": "Folder that holds the numbered version folders.",
    "model_config_file": "Text proto of ModelServerConfig: several models, policies, labels.",
    "model_config_file_poll_wait_seconds": "Read the model config file again so often; 0: never.",
    "file_system_poll_wait_seconds": "Look for new versions so often; 0: only at the start.",
    "enable_batching": "Join requests into batches; by default only for Kerasline's own models.",
    "batching_parameters_file": "Text proto of BatchingParameters; with --enable_batching.",
    "monitoring_config_file": "Text proto of MonitoringConfig: turns on the Prometheus page.",
    "ssl_config_file": "Text proto of SSLConfig: TLS for gRPC.",
    "rest_api_timeout_in_ms": "How long a REST request may take.",
    "rest_api_enable_cors_support": "Let pages of other sites call REST.",
    "allow_version_labels_for_unavailable_models": "Accept new labels for versions not loaded yet.",
    "enable_grpc_healthcheck_service": "Also answer grpc.health.v1.",
    "enable_serialization_as_tensor_content": "Answer with raw tensor_content over gRPC.",
    "enable_model_warmup": "Replay a model's warm-up records when it is loaded.",
    "num_load_threads": "Versions that are loaded at the same time.",
    "grpc_channel_arguments": "Passed to gRPC: key=value,key=value.",
    "tensorflow_session_parallelism": "Threads of a model; 0: chosen by its warm-up.",
    "tensorflow_intra_op_parallelism": "Threads within one operation, in place of the former.",
    "tensorflow_inter_op_parallelism": "Threads for operations beside each other, likewise.",
    "engine": "How graphs are run: auto, session (fast) or signature (public API only).",
    "check_tf1_shapes": "Check shapes for TF1 graphs too, whose declarations are often too narrow.",
    "grpc_frontend": "grpcio (complete) or http2 (several times as fast).",
    "rest_api_max_body_bytes": "Largest REST request, as sent and once inflated.",
    "drain_seconds": "How long requests may take to finish after SIGTERM.",
}

_ONE_LOOP = "one event loop serves all requests; there is no thread pool to size"
_SESSION = "TensorFlow's own defaults are used; set its environment variables instead"
_NO_TFLITE = "only SavedModels are served"
_RETRIES = "a version that failed is tried again when its files change"

# TF Serving's flags that are refused -> the reason.
UNSUPPORTED = {
    "rest_api_num_threads": _ONE_LOOP,
    "grpc_max_threads": _ONE_LOOP,
    "grpc_socket_path": "it listens on TCP only",
    "tensorflow_session_config_file": _SESSION,
    "platform_config_file": _SESSION,
    "per_process_gpu_memory_fraction": _SESSION,
    "mixed_precision": _SESSION,
    "xla_cpu_compilation_enabled": _SESSION,
    "xla_gpu_compilation_enabled": _SESSION,
    "thread_pool_factory_config_file": _SESSION,
    "use_tflite_model": _NO_TFLITE,
    "prefer_tflite_model": _NO_TFLITE,
    "num_tflite_pools": _NO_TFLITE,
    "num_tflite_interpreters_per_pool": _NO_TFLITE,
    "use_alts_credentials": "TLS is turned on with --ssl_config_file, and there is no other",
    "enable_per_model_batching_parameters": "--batching_parameters_file holds for all models",
    "enforce_session_run_timeout": "a request ends at its deadline; a running graph is not cut off",
    "version": "`kerasline --version` tells it",
    "saved_model_tags": "the graph tagged `serve` is served",
    "max_num_load_retries": _RETRIES,
    "load_retry_interval_micros": _RETRIES,
    "num_unload_threads": "each version is unloaded on a thread of its own",
    "num_request_iterations_for_warmup": "each warm-up record is replayed once",
    "flush_filesystem_caches": "the operating system is left to manage its caches",
    "enable_profiler": "profile the process from outside, such as with py-spy",
    "enable_signature_method_name_check": "method names are always checked",
    "remove_unused_fields_from_bundle_metagraph": "the graph is kept as it is, for metadata",
    "skip_initialize_tpu": "it runs on what TensorFlow finds",
    "enable_per_model_metrics": "every metric carries its model's name",
}
