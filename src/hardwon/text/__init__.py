"""Reading words: failures, entities, sentences, shell lines, terms and tokens. Pure functions."""
