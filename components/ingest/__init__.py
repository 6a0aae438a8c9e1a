"""Sources to Examples artifacts: TFRecord shards of tf.Examples, split by hash, group, time or as given."""
