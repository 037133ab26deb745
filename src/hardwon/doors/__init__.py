"""Where the designs and adapters were until 0.11: these names lead to where they are now."""
