"""The BTB tree: outcome-routed memory files, and the data sets made of them."""
