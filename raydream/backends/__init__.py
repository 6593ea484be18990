"""Where the agents live. A backend opens a session; the driver asks the session for blocks of iterations."""
