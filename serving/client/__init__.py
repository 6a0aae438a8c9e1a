"""Clients for TF Serving's protocols that need grpcio, httpx, numpy and protobuf only."""
