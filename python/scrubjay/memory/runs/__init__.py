"""Runs of agents: sessions that write traces, and replays that read them."""
