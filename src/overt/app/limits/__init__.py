"""What a session, a turn and an agent may spend: money, tokens and time, reserved before a request is sent."""
