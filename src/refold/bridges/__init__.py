"""Where refold plugs in: message lists, frameworks, other processes."""
