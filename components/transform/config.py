"""Which inputs need something of the training split before training."""

# The tables of `[data]` whose recipes have the node `transform`.
FITTED_INPUTS = ("text", "table")
