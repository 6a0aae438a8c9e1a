"""The programs that the benchmarks run as whole processes."""
