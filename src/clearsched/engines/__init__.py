"""Real engines that run under a policy: what they did is held against what the simulator said."""
