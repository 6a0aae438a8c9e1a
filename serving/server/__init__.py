"""A server that speaks TF Serving's REST and gRPC protocols on one machine."""
