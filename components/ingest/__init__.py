"""Sources to Examples artifacts: TFRecord shards of tf.Examples, split by hash or as given."""
