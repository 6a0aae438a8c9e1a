"""What is learned of the training split before training: vocabularies, means and deviations."""
