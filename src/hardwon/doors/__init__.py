"""The APIs of existing designs, thin: code written against them runs unchanged on one memory."""
