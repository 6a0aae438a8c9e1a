"""Recordings: their decoding, which training, evaluation and serving share, and their signatures.

Legend: B batch, N samples.
"""

import tensorflow as tf

from serving.export import entries


def decode_recordings(encoded_B: tf.Tensor, *, sample_rate_hz: int, num_samples: int) -> tf.Tensor:
    """Decodes WAV files to samples.

    Several channels become their mean. What is longer is cut off at the end, what is shorter is
    followed by silence.

    Args:
        encoded_B: String tensor of whole WAV files of 16-bit PCM, shape (B,); B may be 0.
        sample_rate_hz: The rate that each file must have, > 0.
        num_samples: Length of the result, > 0.

    Returns:
        float32 tensor of shape (B, num_samples), values in [-1, 1].

    Raises:
        ValueError: If a size is not positive.
        tf.errors.InvalidArgumentError: When run, if an element is no such file, or has another
            rate.
    """
    if sample_rate_hz <= 0 or num_samples <= 0:
        raise ValueError(
            "The rate and the length must be positive. "
            f"Received: sample_rate_hz={sample_rate_hz}, num_samples={num_samples}."
        )

    def decode(encoded: tf.Tensor) -> tf.Tensor:
        samples_NC, rate_hz = tf.audio.decode_wav(encoded)
        message = f"A recording must have {sample_rate_hz} samples per second. Received (Hz):"
        check = tf.debugging.Assert(rate_hz == sample_rate_hz, [message, rate_hz])
        with tf.control_dependencies([check]):
            samples_N = tf.reduce_mean(samples_NC, axis=-1)[:num_samples]
        padded_N = tf.pad(samples_N, [[0, num_samples - tf.shape(samples_N)[0]]])
        return tf.ensure_shape(padded_N, (num_samples,))

    spec = tf.TensorSpec((num_samples,), tf.float32)
    return tf.map_fn(decode, encoded_B, fn_output_signature=spec, parallel_iterations=16)


def served_recordings(*, sample_rate_hz: int, num_samples: int) -> entries.ServedInput:
    """Serves recordings in three ways.

    - `serving_default`: `audio`, samples float32 (B, N) in [-1, 1];
    - `serve_bytes`: `audio_bytes`, string (B,), whole WAV files of 16-bit PCM;
    - `serve_examples`: `examples`, string (B,), serialized tf.Examples with a bytes feature
      `audio`.

    Args:
        sample_rate_hz: Rate of the recordings.
        num_samples: Their length.
    """
    return entries.served_files(
        tensor=tf.TensorSpec((None, num_samples), tf.float32, name="audio"),
        decode=lambda encoded_B: decode_recordings(
            encoded_B, sample_rate_hz=sample_rate_hz, num_samples=num_samples
        ),
        facts={"sample_rate_hz": sample_rate_hz, "num_samples": num_samples},
        example_help="whose bytes feature 'audio' is a WAV file",
    )
