"""Slack, as far as a chat needs it: the Web API, and the websocket of Socket Mode."""
