"""`run_bash`: a command inside bubblewrap, where there is nothing to steal and nothing to reach."""
