"""Floor 2: agents, tools, evaluators and tracing behind the ports."""
